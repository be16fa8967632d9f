#!/usr/bin/env bash
# The first five minutes with spanbulk: builds it, starts its embedded Spanner
# with a small shop's data, exports a table and shows what came out. Needs Go and
# nothing else; talks to 127.0.0.1 only.
set -euo pipefail
cd "$(dirname "$0")/.."

# What is set for other runs is not for this one.
unset "${!SPANBULK_@}"

work=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || step() { printf '\n%s\n' "$*"; }

step "Building spanbulk"
CGO_ENABLED=0 go build -o "$work/spanbulk" .
PATH="$work:$PATH"

step "Starting the embedded Spanner with testdata/demo"
database=projects/demo/instances/demo/databases/shop
mkfifo "$work/ready"
spanbulk emulator --listen 127.0.0.1:0 --database "$database" \
  --ddl testdata/demo/schema.sql --data testdata/demo >"$work/ready" &
server=$!
read -r ready <"$work/ready"
echo "$ready"
SPANNER_EMULATOR_HOST=$(grep -oE '127\.0\.0\.1:[0-9]+' <<<"$ready")
export SPANNER_EMULATOR_HOST

step "spanbulk export --database $database --table Orders --output $work/orders.ndjson"
spanbulk export --database "$database" --table Orders --output "$work/orders.ndjson"

step "The first lines of orders.ndjson"
head -n 3 "$work/orders.ndjson"

step "Rows on both sides"
# A note may hold a newline, so a record is a line that begins with a key.
loaded=$(grep -cE '^[0-9]+,[0-9a-f]{8}-' testdata/demo/Orders.csv)
exported=$(grep -c '' "$work/orders.ndjson")
echo "testdata/demo/Orders.csv: $loaded    orders.ndjson: $exported"
[ "$loaded" = "$exported" ]
