// Package fault is the one error type of spanbulk: a status code, what was
// being done, to what, why it failed, and what the user can do next.
//
// Engines make a fault where they know those things; everything between passes
// it on with %w; cmd alone turns it into text and an exit code. Error never
// holds a value of a record: text of Spanner's that can hold one is kept apart
// and only Text(true) shows it.
//
// The package is a leaf: it logs nothing, prints nothing and imports no other
// package of spanbulk.
package fault
