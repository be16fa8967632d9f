#!/usr/bin/env bash
# Measures what `spanbulk import` costs in processor time per record, against a
# loop over the official Go client with encoding/json, in one run. Arguments go
# to the comparison (see scripts/benchimport): -rows N, -rounds N, ...
# With -rows 0 -pipe-mib 2048 it only imports that much from a pipe and checks
# that the memory stays under 200 MiB.
# The last line is: ratio_client=0.xx ratio_csv=0.xx ratio_key_order=0.xx rss_mib=nnn
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/spanbulk" .
go build -o "$bin/benchimport" ./scripts/benchimport
"$bin/benchimport" compare -spanbulk "$bin/spanbulk" "$@"
