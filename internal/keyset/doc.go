// Package keyset reads keys and ranges of keys as people write them, JSON
// arrays of key parts, into the key sets of Spanner's reads, typed by the
// columns of the key.
//
// A part may be spelled as a record's field may: format's decoders read both.
// The values of query parameters are read the same way, and conditions in SQL
// that say no more than a key set can say are turned into one.
//
// It is strict where a slip would read other rows than were meant: a part of
// the wrong type, too many parts, ends in the wrong order. It knows nothing of
// tables; the caller says what the columns of the key space are.
package keyset
