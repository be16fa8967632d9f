// Package emulator is an in-memory Spanner that speaks gRPC: what `spanbulk
// emulator` runs, and what the project's own tests run against.
//
// The package holds the services (Spanner, DatabaseAdmin, InstanceAdmin,
// Operations) and the registry of instances, databases, sessions and
// transactions. Below it, store keeps the data, catalog the schemas, value
// the types, postgres the parser of the PostgreSQL dialect, changestream the records and partitions of change streams,
// infoschema the INFORMATION_SCHEMA views and sql the query engine.
// Where the service and Google's emulator differ it does as the service does.
// What it does not serve answers UNIMPLEMENTED and names itself.
//
// It imports none of the project's client side, so that the two can disagree.
package emulator
