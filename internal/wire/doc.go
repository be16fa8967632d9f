// Package wire holds Spanner's values and streaming messages as the bytes they
// have on the wire, so that rows in bulk never become Go objects on their way
// from Spanner to a file or back.
//
// It has three layers, each usable without the next:
//
//   - Value and List read one google.protobuf.Value in place; the Append
//     functions write one.
//   - Assembler turns a sequence of PartialResultSet messages into rows: it
//     joins rows that straddle messages and merges chunked values.
//   - Stream runs one StreamingRead or ExecuteStreamingSql call to its end
//     across broken connections: it knows resume tokens, which rows may be
//     handed on and which must be held back, and which errors are worth a retry.
//
// The package never interprets a value by its Spanner type (formats do that),
// never plans what to read, and never logs.
package wire
