package output

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// Set is everything one export writes. Its methods may be called from many
// goroutines, but Commit and Abort only when no Writer is in use any more. One
// of these two must be called.
type Set struct {
	options Options
	layout  layout
	stream  *streamSink            // nil unless the layout is a stream
	shared  map[string]sink        // by table, where its partitions share a file
	old     map[string]bool        // files of an earlier export, still to be replaced
	modes   map[string]fs.FileMode // their permissions
	token   uint32                 // in the names of this set's hidden files

	mu        sync.Mutex
	err       error // the first one: after it nothing is committed
	files     []*file
	paths     map[string]bool // of files
	madeDirs  []string        // outermost first
	locks     []*os.File      // that keep others out, until the set has ended
	held      map[string]bool // directories with a hidden file that is locked
	manifests []string        // that Commit has written
	ended     bool            // by Commit or Abort
}

// Partition returns where the chunks of a table's partition go. The table is
// one of Options.Tables; every partition is asked for once.
func (s *Set) Partition(table string, partition int) (*Writer, error) {
	i := slices.IndexFunc(s.options.Tables, func(t Table) bool { return t.Name == table })
	if i < 0 {
		return nil, fmt.Errorf("output for table %s, which is not exported", table)
	}
	switch {
	case s.stream != nil:
		return &Writer{set: s, sink: s.stream}, nil
	case s.shared[table] != nil:
		return &Writer{set: s, sink: s.shared[table]}, nil
	}
	place := fields{table: table, partition: partition, shard: s.options.Shard}
	return &Writer{set: s, sink: &fileSink{set: s, table: &s.options.Tables[i], place: place}, own: true}, nil
}

func (s *Set) fail(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return err
}

// Files describes the files written so far, after Commit all of them, sorted by
// path. A stream is one file without a checksum.
func (s *Set) Files() []File {
	if s.stream != nil {
		s.stream.mu.Lock()
		defer s.stream.mu.Unlock()
		return []File{{Name: s.stream.name, Rows: s.stream.rows, Bytes: s.stream.bytes}}
	}
	var all []File
	for _, f := range s.files {
		all = append(all, f.describe())
	}
	return all
}
