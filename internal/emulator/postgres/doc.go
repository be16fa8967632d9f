// Package postgres reads the PostgreSQL dialect of Spanner for the embedded
// server: DDL statements and queries.
//
// Parse gives the statement as a syntax tree of GoogleSQL, that of memefish,
// which catalog and sql work on in either dialect. Names come out folded as
// PostgreSQL folds them, positions are those of the PostgreSQL text, and what
// GoogleSQL spells another way is respelled: $1 is the parameter p1, x::text a
// CAST, = ANY(a) an IN UNNEST(a). Functions that mean something else in
// PostgreSQL are named PG.f. What GoogleSQL's tree has no room for stands
// beside it in the Statement.
//
// There is a parser of its own because none fits: those that bind PostgreSQL's
// code need cgo or WebAssembly in what is to be one static binary,
// CockroachDB's brings that database along, and none knows INTERLEAVE IN
// PARENT, CHANGE STREAM, TTL or /*@ hints */.
//
// The package knows no schema and evaluates nothing. Errors are gRPC statuses:
// INVALID_ARGUMENT for what PostgreSQL would refuse, FAILED_PRECONDITION for
// DDL and UNIMPLEMENTED for queries that Spanner takes not, and UNIMPLEMENTED
// for what only this package does not read; the message tells.
package postgres
