// Package input reads what an import is made of: standard input, files, globs,
// and directories that an export has written, spanbulk's own (manifest.json) or
// Google's (spanner-export.json), with their checksums verified.
//
// Find tells which files there are, of which tables, before any is opened. Read
// then reads them one after another: one goroutine decompresses and cuts at the
// borders of records, several decode, and the chunks come out in the order of
// the input, no matter which was done first. Every buffer is bounded, so a slow
// consumer slows the reading.
//
// The package knows nothing of columns: the caller decodes. It writes nothing
// and never talks to Spanner.
package input
