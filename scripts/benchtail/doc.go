// Command benchtail measures what following a change stream costs the following
// process, in processor time per data change record: `spanbulk tail` against the
// public tool spanner-change-streams-tail in its JSON form. It is run by
// scripts/bench-tail.sh.
//
// The server is a process of its own and sends messages that are encoded
// already, so that its cost is in none of the figures. Its partitions have the
// same records; to a reader they differ, as a record is told by its partition.
package main
