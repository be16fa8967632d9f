// Package sql evaluates queries for the embedded Spanner, in GoogleSQL and in
// the PostgreSQL dialect.
//
// Prepare parses a statement with memefish, or with package postgres into the
// same syntax tree, and analyses it against the schema
// of a relation.Snapshot: names become cells, every expression gets a type,
// parameters without a type get one from their place, and the columns of the
// result are known before a row is read. A Query is then run, as often as
// wanted, by pulling rows from the snapshot. Rows stay in wire form: a scan
// notes where the cells that the query names stand, a cell is decoded when an
// expression first asks for its value, and one that is merely selected is
// copied as it is.
//
// How it is cut: parse.go, scope.go and select.go are the analysis of a query;
// from_*.go produce rows, keyrange.go narrows scans by predicates on key
// columns, aggregate*.go and order.go work on rows; expr_*.go are the kinds of
// expression, func_*.go the functions by what they work on, pg*.go what
// PostgreSQL means otherwise: its order of NULL and NaN, its conversions, its
// numeric and its functions. CompileExpr serves
// the store with the expressions of DDL.
//
// The package never writes data, never looks behind the Snapshot, and answers
// UNIMPLEMENTED, naming the construct, for what it does not evaluate: DML, set
// operations, window functions, graph and pipe queries.
package sql
