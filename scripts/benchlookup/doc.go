// Command benchlookup measures a lookup join: records a second and processor
// time per record, of spanbulk and of a loop that makes one point read after
// another through the official Go client. It is run by scripts/bench-lookup.sh.
//
// All ask the same embedded Spanner for the same keys of the same table. It is a
// process of its own, whose processor time is in no figure; its speed is in all
// clocks. That of a contender is the user and system time of its whole process,
// the start included, per record. The client's loop runs on the first so many of
// the records, since on all of them it would take minutes, and what it writes is
// compared with what spanbulk writes.
//
// Most of a point read is the call, and a batch is one call for all its keys. A
// third contender therefore makes the same batches through the client, one after
// another: what is between it and spanbulk is not due to batches. The last line
// compares spanbulk with the point reads.
package main
