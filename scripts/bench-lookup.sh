#!/usr/bin/env bash
# Measures `spanbulk lookup` against one point read after another through the
# official Go client, in one run. Arguments go to the comparison (see
# scripts/benchlookup): -rows N, -records N, -sample N, -rounds N, ...
# The last line is: speedup=nn ratio_cpu=0.xx rss_mib=nnn
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/spanbulk" .
go build -o "$bin/benchlookup" ./scripts/benchlookup
"$bin/benchlookup" compare -spanbulk "$bin/spanbulk" "$@"
