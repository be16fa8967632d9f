// Package schema knows what a database's INFORMATION_SCHEMA says: tables with
// their columns, keys, indexes and parents, all at one timestamp, and the rules
// of the two dialects for names and types.
//
// Open reads the names of all tables; Catalog.Table reads one table whole when
// it is asked for, so that a database with thousands of tables costs a command
// no more than the tables it works on. The package runs queries through a
// Querier and never touches the rows of a user's table.
package schema
