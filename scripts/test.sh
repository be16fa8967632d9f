#!/usr/bin/env bash
# Runs every check of the project: formatting, vet, staticcheck, tests under the
# race detector.
#
#   scripts/test.sh          the usual run, a few minutes
#   scripts/test.sh --long   with SPANBULK_TEST_ROUNDS=10: more rounds of the
#                            property and model tests, and the tests on real sizes;
#                            then scripts/test-node-client.sh
#
#   scripts/test.sh --live   the tests of the commands and their engines on the
#                            emulator at SPANNER_EMULATOR_HOST, else on the service,
#                            in the instance of SPANBULK_TEST_DATABASE: each test
#                            makes a database and drops it. What needs the embedded
#                            server is skipped, and -v says why.
#
# SPANBULK_TEST_ROUNDS=N sets the rounds oneself; SPANBULK_TEST_SEED=S repeats a
# run that printed its seed. Further arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --live ]; then
  shift
  if [ -z "${SPANNER_EMULATOR_HOST:-}${SPANBULK_TEST_DATABASE:-}" ]; then
    echo "--live: set SPANNER_EMULATOR_HOST, or SPANBULK_TEST_DATABASE to projects/P/instances/I/databases/D" >&2
    exit 2
  fi
  export SPANBULK_TEST_LIVE=1
  exec go test -p 1 -timeout 60m "$@" ./cmd ./internal/{database,schema,reader,writer,cdc,lookup}
fi

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
# vet has run, and a program under the race detector need not sleep a second before
# it ends for the races of goroutines that are still at work: there are none.
GORACE="atexit_sleep_ms=0 ${GORACE:-}" go test -race -vet=off -timeout 20m "$@" ./...
if [ -n "$long" ]; then
  scripts/test-node-client.sh
fi
