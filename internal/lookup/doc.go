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
// What is in flight is bounded by a budget of batches and of bytes. Where rows are
// large, batches have fewer keys and fewer are under way; one whose rows turn out
// far too large is given up and read in parts, each at its own timestamp, when it
// is its turn to be written. A slow output or a slow Spanner therefore slows the
// input.
//
// The package opens no inputs and no outputs, knows no flags, and never writes
// to Spanner.
package lookup
