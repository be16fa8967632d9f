// Package output puts finished chunks where the user wants them: standard
// output, one file, a directory, or files named by a template.
//
// Many goroutines hand over chunks at once. A chunk is taken whole and in one
// piece, and WriteChunk returns only when its bytes have been taken, so the
// caller may use the buffer again at once.
//
// A file has its final name only when the whole export is whole: bytes go to a
// hidden file in the same directory, which is synced and closed when its last
// chunk is in and renamed by Commit. Abort, and every error, leaves nothing
// behind; what a killed process left is removed by the next output in that
// directory. A directory gets a manifest.json, written last: a directory with a
// manifest holds a complete export. One of Avro tables also gets the manifests of
// Google's own export, spanner-export.json and one for each table, just before,
// and of named schemas the files from which Google's import makes them.
// Only one export at a time writes to it.
//
// The package knows nothing of formats, and never looks into a chunk.
package output
