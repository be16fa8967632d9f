// Package reader reads tables and queries in bulk: one snapshot of the
// database, split by Spanner into partitions, many of them read at once.
//
// The calls follow each other so:
//
//	r, err := reader.New(conn, options)
//	snapshot, err := r.Begin(ctx, bound)           // the transaction and its read timestamp
//	// the schema is looked up at snapshot.ReadTimestamp; Sources are made from it
//	read, err := r.Partition(ctx, snapshot, source) // once for each table or query
//	plan := &reader.Plan{Snapshot: snapshot, Reads: []reader.Read{read}}
//	err = r.Run(ctx, plan, output)
//
// A Plan is plain data: it can be written to a file, and another process or
// machine can run it, or a part of it, as long as the snapshot lives.
//
// The reader never interprets a value and never opens a file: it passes the
// rows of each partition, in wire form, through an Encoder of the output's
// Format, and hands finished chunks of bytes to the output. It does not know
// the schema, and keeps to the exact names in a Source.
package reader
