// Package cdc reads a change stream: it finds its partitions, reads as many of
// them at once as it may, and hands every change on in order, over days, across
// broken connections and across runs.
//
// The calls follow each other so:
//
//	source, err := cdc.Open(ctx, conn, "OrderChanges", cdc.SourceOptions{})
//	tail, err := cdc.New(source, options)
//	err = tail.Run(ctx, output)
//
// What is inside, from the wire to the output:
//
//   - Source makes the calls. A partition's goroutine reads the messages of one
//     partition query after another, and its decoder finds the parts of a
//     record in the bytes as they came, in either dialect and either partition
//     mode.
//   - The filter and the encoder of that goroutine turn a record into lines of
//     output. A value is never interpreted where its text will do.
//   - One consumer takes what the partitions have ready, writes it, and only
//     then notes the progress in the Ledger, which says what may be read next.
//     A slow output therefore stops the queries, and a state file never claims
//     what the output does not hold.
//
// The order that is kept: the records of a partition come in commit order, and
// those of a partition come after all those of its parents; as a key is in one
// partition at a time, the changes of a key come in commit order. With
// Options.Order the whole output is in commit order.
//
// The package never prints, never writes to the database, and keeps no metadata
// table: what must outlive a run is in one state file.
package cdc
