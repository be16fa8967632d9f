#!/usr/bin/env bash
# Runs a program over the official Node.js client, scripts/node-client, against
# spanbulk emulator. It installs the client from the npm registry into a
# directory of its own and removes it afterwards; where Node.js is missing it
# says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in node npm; do
  if ! command -v "$tool" >/dev/null; then
    echo "SKIP test-node-client: $tool is not installed"
    exit 0
  fi
done

work=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

go build -o "$work/spanbulk" .
cp scripts/node-client/package.json scripts/node-client/client.js "$work"
(cd "$work" && npm install --no-package-lock --no-fund --no-audit --ignore-scripts --silent)

mkfifo "$work/ready"
"$work/spanbulk" emulator --listen 127.0.0.1:0 --database projects/p/instances/i/databases/db >"$work/ready" &
server=$!
read -r line <"$work/ready"
endpoint=${line#ready: Spanner emulator at }
# The client looks for a metadata server unless told not to.
METADATA_SERVER_DETECTION=none SPANNER_EMULATOR_HOST=${endpoint%% *} timeout 120 node "$work/client.js"
echo "ok test-node-client"
