// Package store holds the embedded Spanner's data: an ordered multi-version
// store with secondary indexes, constraints and schema changes.
//
// Every table and index is a B-tree from order-preserving keys to chains of
// versions, newest first. A row is kept in wire form (value.Row), so that a
// read copies bytes. One transaction commits at a time: it writes its versions
// under the timestamp it will have, which no reader can ask for yet, and takes
// them back from a log if a check fails. Readers take a copy-on-write copy of
// the tree, which costs nothing, and then work without locks.
//
// The package knows no gRPC services, sessions or SQL; expressions in the
// schema are compiled by a relation.Compiler that it is given. Errors are gRPC
// statuses with Spanner's codes.
package store
