// Package transform runs a jq program on every record of a stream, for --jq.
//
// Records are JSON, one object a line; the program sees them as such and may
// make none, one or several records of each. Numbers keep their digits: an
// INT64 above 2^53 and a NUMERIC of 38 digits come out as they went in unless
// the program computes with them.
//
// The package reads and writes no files, and its errors never hold a value of a
// record.
package transform
