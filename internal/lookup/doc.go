// Package lookup joins records with the rows that their keys name: the engine
// of `spanbulk lookup`.
//
// Records come in Blocks, which KeyReaders make of an input's chunks in several
// goroutines: the text of each record as it is, and its key in Spanner's form.
// Run gathers them into batches. A batch asks for each of its keys once, in one
// single-use read and so at one timestamp; several batches are on their way at
// once. A row is found again by the bytes of its key. Records and rows meet in a
// format.Encoder made by format.Extend, and go out in the order they came in,
// or as they are done.
//
// What is in flight is bounded: batches by a window, rows by batches of fewer
// keys where rows are large, records by the blocks they lie in. A slow output or
// a slow Spanner therefore slows the input.
//
// The package opens no inputs and no outputs, knows no flags, and never writes
// to Spanner.
package lookup
