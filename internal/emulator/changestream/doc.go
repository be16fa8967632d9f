// Package changestream keeps the change streams of one database of the
// embedded Spanner: the records of what commits changed, and the partitions
// that the records are read by.
//
// A Log is told by the store, within each commit, what the commit did to rows
// (Record), and within each schema change which streams there are
// (SetSchema). For every stream that watches one of the rows it makes data
// change records, spells them as the stream's read function returns them, and
// appends them to the partition that owns the row's key. A record is spelled
// once and read by copying.
//
// A partition owns a range of keys for a span of time. It remembers start, end,
// parents and children for good; only its records go after the retention
// period. Split, Merge and Move on a Stream change the partitions at a
// timestamp of their own at which nothing commits.
//
// A Reader is one query: it waits for commits, without polling, gives
// heartbeats while nothing comes, and ends with the partition or at the end
// the query asked for.
//
// The package knows no SQL and no gRPC services: arguments come checked for
// their types, records leave as value.Row. Errors are gRPC statuses with
// Spanner's codes. Everything in it is safe for concurrent use.
package changestream
