#!/usr/bin/env bash
# Keeps a copy of a table in another database, by the pair
#
#   spanbulk tail --changelog-mode upsert | spanbulk import --changelog
#
#   scripts/copy-table.sh SOURCE TARGET STREAM TABLE DIRECTORY [UNTIL]
#
#   SOURCE TARGET  projects/P/instances/I/databases/D; both have TABLE, which in
#                  TARGET is empty at first
#   STREAM         a change stream of SOURCE that watches TABLE and captures NEW_ROW
#                  or NEW_ROW_AND_OLD_VALUES
#   DIRECTORY      keeps how far the copy is: the same command goes on there
#   UNTIL          an RFC 3339 time to end at; without it, Ctrl-C ends it
#
# A pipe does not tell tail what import has applied. The state of a round counts
# therefore only when both programs have done theirs; otherwise the round is made
# again from where it began, whichever of them ended, and how. Rows that come
# twice do no harm: they are upserts, and those of a key come in commit order.
# ROUND is the time of a round, 10s by default.
set -euo pipefail
if [ $# -lt 5 ] || [ $# -gt 6 ]; then
  sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
fi
source=$1 target=$2 stream=$3 table=$4 dir=$5 until=${6:-}
mkdir -p "$dir"

# Of two at once, one would write old rows over the other's new ones. The pair of a
# script that was killed holds the lock until it ends, too.
exec 9>"$dir/lock"
if command -v flock >/dev/null; then flock 9; fi

# The changes are taken from a time before the rows are, so none is between them.
if [ ! -e "$dir/state" ]; then
  spanbulk tail "$stream" -d "$source" --quiet --for 1ms --state "$dir/first" --changelog-mode upsert --table "$table"
  mv "$dir/first" "$dir/state"
fi
if [ ! -e "$dir/loaded" ]; then
  spanbulk export -d "$source" --table "$table" | spanbulk import -d "$target" --table "$table" --format ndjson
  touch "$dir/loaded"
fi

round() {
  cp "$dir/state" "$dir/next" || return
  spanbulk tail "$stream" -d "$source" --quiet --state "$dir/next" --changelog-mode upsert --table "$table" "$@" |
    spanbulk import -d "$target" --quiet --table "$table" --format ndjson --changelog || return
  mv "$dir/next" "$dir/state"
}

limit=(--for "${ROUND:-10s}")
[ -z "$until" ] || limit=(--end-position "$until")
while :; do
  if round "${limit[@]}"; then
    [ -z "$until" ] || exit 0
  else
    code=$?
    case $code in
      2 | 129 | 130 | 143) exit $code ;; # wrong usage, or told to stop
    esac
    echo "copy-table: the round failed, making it again" >&2
    sleep "${RETRY:-1}"
  fi
done
