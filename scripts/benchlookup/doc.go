// Command benchlookup measures a lookup join: records a second and processor
// time per record, of spanbulk and of a loop that makes one point read after
// another through the official Go client. It is run by scripts/bench-lookup.sh.
//
// Both ask the same embedded Spanner, in a process of its own, whose processor
// time is in neither figure; its speed is in both clocks. The client's loop runs
// on a sample of the records, since on all of them it would take minutes, and
// what it writes is compared with what spanbulk writes.
package main
