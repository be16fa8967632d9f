#!/usr/bin/env bash
# Measures `spanbulk lookup` against one point read after another through the
# official Go client, and against the same batches through that client, in one
# run: records a second, and processor time (user and system, of the process
# that looks up) per record. The last line is about the point reads: speedup in
# records a second, ratio_cpu of the processor times. Arguments go to the comparison (see
# scripts/benchlookup): -rows N, -records N, -sample N, -rounds N, ...
# The last line is: speedup=nn ratio_cpu=0.xx rss_mib=nnn
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/spanbulk" .
go build -o "$bin/benchlookup" ./scripts/benchlookup
"$bin/benchlookup" compare -spanbulk "$bin/spanbulk" "$@"
