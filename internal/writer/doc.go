// Package writer writes records in bulk: one mutation per record, batches of
// mutations in several calls at once, and an outcome for every record.
//
// The calls follow each other so:
//
//	orders, err := writer.NewTable(catalogTable, nil) // once for each table
//	w, err := writer.New(conn, options)
//	err = w.Run(ctx, chunks)                          // until chunks is closed
//
// What comes in are Chunks, the records of one stretch of one input:
//
//	c := w.NewChunk(source, done)
//	c.Add(&writer.Record{...}) // for each record, in the order of the input
//	c.Skip()                   // for a record that is to be passed over
//	chunks <- c
//
// Add encodes the mutation at once, so decoders of many goroutines share that
// work, each with a Chunk of its own; the chunks are sent to Run in the order of
// the input. Run owns a chunk from then on. Values are copied by Add, the raw
// bytes of a record are kept by reference until done is called. Run takes no
// chunk while Options.HoldBytes of records are undecided, so a slow database
// slows the input.
//
// # What is sent
//
// Each record becomes one mutation: with BatchWrite in a group of its own, so
// that it is applied or refused by itself; with Commit, many in one transaction.
// Batches keep three limits at once (cells, mutations, bytes), the bytes being
// those of the request to the last one. A record above a limit goes alone.
//
// # Outcomes
//
// Spanner answers for every group. ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED and
// RESOURCE_EXHAUSTED leave it undecided: it is sent again after a pause, as are
// the groups a broken or short stream did not answer for, and nothing else is.
// ALREADY_EXISTS and INVALID_ARGUMENT refuse the record: it goes to the Refuser.
// FAILED_PRECONDITION and OUT_OF_RANGE do so if Options say so. All else ends
// the run. Progress counts so that always
//
//	records in = applied + refused + skipped + undecided
//
// BatchWrite and single-use commits have no protection against replays: a group
// whose answer was lost may be applied twice. That is harmless for all
// operations but insert, where the second time is refused with ALREADY_EXISTS;
// Refusal.UnknownOutcome marks those. It is not quite harmless either where an
// attempt was given up for BatchWriteTimeout and the server applies it after all
// when a later mutation of the row has long been applied; servers stop work on
// calls that were broken off, so that takes bad luck and a short timeout.
//
// # Order
//
// Spanner applies groups in no order. With PreserveKeyOrder (the default), two
// mutations of one row are never undecided at the same time: the second is held
// back until the first is decided, while records of other keys overtake it. A
// row interleaved in another waits for mutations of its ancestors, and they for
// it, where NewTable was told of the parent. A delete of a key range waits for
// everything before it in its hierarchy of tables, and everything after waits
// for it.
//
// Keys are compared in their wire form. It must be the canonical one that
// Spanner returns (see the value encodings of the format package); the forms
// that Spanner takes besides it are brought to it, as far as key columns can
// have them: signs and leading zeros of INT64, exponents and trailing zeros of
// NUMERIC, -0 and the spellings of NaN, short dates, zeros at the end of a
// TIMESTAMP, BASE64 without padding, letter case of UUID. Two records whose keys
// Spanner makes up (identity columns, GENERATE_UUID, the commit timestamp) have
// different ones.
//
// The package never decodes input, opens no file and never logs; how a value
// must look for its column is the decoders' business and Spanner's.
package writer
