// Package catalog holds the embedded Spanner's schemas: what DDL declares,
// how DDL changes it, and how GetDatabaseDdl prints it, in either dialect.
//
// A Schema is immutable. Applying a statement gives a new Schema that shares
// what did not change, so a read at an old timestamp keeps the schema of its
// time. Expressions (defaults, generated columns, checks, index predicates)
// are kept parsed; evaluating them, and everything about data, is left to the
// packages above.
package catalog
