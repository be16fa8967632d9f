#!/usr/bin/env bash
# Runs every check of the project: formatting, vet, staticcheck, tests under the
# race detector.
#
#   scripts/test.sh          the usual run, a few minutes
#   scripts/test.sh --long   with SPANBULK_TEST_ROUNDS=10: more rounds of the
#                            property and model tests, and the tests on real sizes;
#                            then scripts/test-node-client.sh
#
# SPANBULK_TEST_ROUNDS=N sets the rounds oneself; SPANBULK_TEST_SEED=S repeats a
# run that printed its seed. Further arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."

long=
if [ "${1:-}" = --long ]; then
  shift
  long=1
  export SPANBULK_TEST_ROUNDS=${SPANBULK_TEST_ROUNDS:-10}
fi

unformatted=$(gofmt -l $(git ls-files '*.go'))
if [ -n "$unformatted" ]; then
  echo "not formatted (run gofmt -w):" $unformatted >&2
  exit 1
fi
go vet ./...
go tool staticcheck ./...
go test -race -timeout 20m "$@" ./...
if [ -n "$long" ]; then
  scripts/test-node-client.sh
fi
