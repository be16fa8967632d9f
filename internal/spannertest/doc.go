// Package spannertest gives each test a Spanner database of its own.
//
// Usually that is in an embedded server inside the test's process. Under
// `scripts/test.sh --live` (SPANBULK_TEST_LIVE=1) it is a new database on a server
// that runs elsewhere, dropped when the test ends:
//
//   - an emulator at SPANNER_EMULATOR_HOST, in an instance that is made if it is
//     missing;
//   - or, where that is not set, the service, in the instance of the database that
//     SPANBULK_TEST_DATABASE names, with Application Default Credentials. That
//     database itself is not touched.
//
// What only the embedded server can do (faults, sizes of messages, partitions that
// split on demand) a test asks for through Embedded, which skips it by name where
// the server is another.
//
// It is imported by tests only.
package spannertest
