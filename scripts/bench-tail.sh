#!/usr/bin/env bash
# Measures what `spanbulk tail` costs in processor time per data change record,
# against the public tool spanner-change-streams-tail in its JSON form, in one
# run. `go install` builds the tool into a directory that is removed again.
# Arguments go to the comparison (see scripts/benchtail): -rows N, -rounds N,
# -per-message N, ... The tool needs some two minutes for a round.
# The last line is: ratio_peer=0.xx rss_mib=nnn
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/spanbulk" .
go build -o "$bin/benchtail" ./scripts/benchtail
GOBIN=$bin go install github.com/cloudspannerecosystem/spanner-change-streams-tail@v0.4.2
"$bin/benchtail" compare -spanbulk "$bin/spanbulk" -peer "$bin/spanner-change-streams-tail" "$@"
