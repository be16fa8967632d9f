// Command benchexport measures what an export costs the exporting process, in
// processor time per row: spanbulk against two loops over the official Go
// client, and its other formats and compressions against NDJSON. It is run by
// scripts/bench-export.sh.
//
// A server in a process of its own replays messages that were encoded before
// the clock started, so the server's cost is in none of the figures, and all
// readers run against the same server in turn, several times, so that their
// ratios hold on a machine whose speed drifts.
package main
