#!/usr/bin/env bash
# Measures what `spanbulk export` costs in processor time per row, against two
# loops over the official Go client, what CSV and Avro cost against NDJSON, and
# how compressed exports scale, in one run. Arguments go to the comparison (see
# scripts/benchexport): -rows N, -rounds N, -parallelism N, ...
# The last line is: ratio_client=0.xx ratio_generic=0.xx rss_mib=nnn
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/spanbulk" .
go build -o "$bin/benchexport" ./scripts/benchexport
"$bin/benchexport" compare -spanbulk "$bin/spanbulk" "$@"
