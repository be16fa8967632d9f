package emulator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/store"
	"spanbulk/internal/emulator/tablefile"
)

// Loaded is what Load wrote into one table.
type Loaded struct {
	Table string
	Rows  int64
}

// Load fills tables of a database from files, through the same commits that
// clients make: parents before children, referenced tables before those that
// refer to them. A directory that export completed is read as its manifest
// says. In any other a table T is read from dir/T.csv, dir/T.ndjson,
// dir/T-*.avro and the like, and from every such file in dir/T/, compressed
// (.gz, .zst) or not. Rows that were committed before an error stay.
func Load(ctx context.Context, srv *Server, database, dir string) ([]Loaded, error) {
	db, err := srv.findDatabase(database)
	if err != nil {
		return nil, err
	}
	schema := db.store.Schema()
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("load %s: it is not a directory", dir)
	}
	files, err := tableFiles(schema, dir)
	if err != nil {
		return nil, err
	}
	var out []Loaded
	for _, t := range schema.DependencyOrder() {
		for _, file := range files[t] {
			n, err := loadFile(ctx, db, t, file.path)
			if err == nil && file.rows >= 0 && n != file.rows {
				err = fmt.Errorf("it has %d rows, and the manifest says %d", n, file.rows)
			}
			if _, ok := errors.AsType[*CommitError](err); ok {
				return out, err // it names the file
			}
			if err != nil {
				return out, fmt.Errorf("load %s: %w", file.path, err)
			}
			out = append(out, Loaded{Table: t.Name, Rows: n})
		}
	}
	return out, nil
}

// PassedOver are the files under a directory that Load does not read: those of
// no known format, or, in a directory with a manifest, that it does not list.
// Hidden files are not mentioned.
func PassedOver(dir string) ([]string, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		_, _, _, known := tablefile.FormatOf(path)
		if m != nil {
			known = m.mentions(dir, path)
		}
		if !known {
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// tableFile is a file with rows of a table.
type tableFile struct {
	path string
	rows int64 // -1 if not known
}

// tableFiles finds the data files under dir and the tables they belong to.
func tableFiles(schema *catalog.Schema, dir string) (map[*catalog.Table][]tableFile, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return m.files(schema, dir)
	}
	files := make(map[*catalog.Table][]tableFile)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		_, _, stem, ok := tablefile.FormatOf(path)
		if !ok {
			return nil
		}
		t := tableFor(schema, stem)
		if t == nil && filepath.Dir(path) != filepath.Clean(dir) {
			t = tableFor(schema, filepath.Base(filepath.Dir(path)))
		}
		if t == nil {
			return fmt.Errorf("load %s: the database has no table %s", path, stem)
		}
		files[t] = append(files[t], tableFile{path, -1})
		return nil
	})
	return files, err
}

// tableFor finds the table that a file name without extension stands for: T,
// or T followed by - and anything.
func tableFor(schema *catalog.Schema, stem string) *catalog.Table {
	for name := stem; name != ""; {
		if t, ok := schema.Table(name); ok {
			return t
		}
		i := strings.LastIndexByte(name, '-')
		name = name[:max(i, 0)]
	}
	return nil
}

// CommitError is a commit of rows from a file that the database refused.
type CommitError struct {
	File        string
	First, Last int64 // the records of the commit, the file's first being 1
	Err         error // with the service's status, which may quote keys and values
}

func (e *CommitError) Error() string {
	return fmt.Sprintf("load %s: %s: %v", e.File, e.Range(), e.Err)
}

// Range names the records without their values.
func (e *CommitError) Range() string {
	if e.First == e.Last {
		return fmt.Sprintf("record %d", e.First)
	}
	return fmt.Sprintf("records %d to %d", e.First, e.Last)
}

func (e *CommitError) Unwrap() error { return e.Err }

// loaders is how many commits of a file run at once: the store takes one at a
// time, but prepares the next ones meanwhile.
const loaders = 2

func loadFile(ctx context.Context, db *database, t *catalog.Table, path string) (int64, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		// Opening a pipe that nobody writes to would wait for ever.
		return 0, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	format, compression, _, ok := tablefile.FormatOf(path)
	if !ok {
		return 0, errors.New("it is none of .csv, .ndjson, .jsonl, .avro")
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(loaders)
	b := newLoadBatch(t)
	rows := int64(0)
	flush := func() {
		first, last := b.rows-int64(b.inBatch)+1, b.rows
		mutations := b.take()
		g.Go(func() error {
			_, err := db.store.Commit(mutations, nil)
			if err != nil {
				return &CommitError{File: path, First: first, Last: last, Err: err}
			}
			return ctx.Err()
		})
	}
	for r, err := range tablefile.Records(f, format, compression, t) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			// A failed commit is the cause, if there is one.
			if failure := g.Wait(); failure != nil {
				return rows, failure
			}
			return rows, err
		}
		if b.add(r); b.full() {
			flush()
		}
		rows++
	}
	flush()
	return rows, g.Wait()
}

// loadBatch collects records into encoded insert mutations, one for each run
// of records with the same columns.
type loadBatch struct {
	limit   int
	inBatch int
	rows    int64
	columns []*catalog.Column
	table   *catalog.Table
	write   []byte
	// size is how large the last mutation became.
	size int
	done []store.Mutation
}

// Limits of one commit of Load: well below Spanner's 80,000 mutations.
const (
	loadMutations = 40_000
	loadBytes     = 2 << 20
)

func newLoadBatch(t *catalog.Table) *loadBatch {
	return &loadBatch{table: t, limit: max(loadMutations/(len(t.Columns)+len(t.Indexes)+1), 1)}
}

// Fields of google.spanner.v1.Mutation and its Write.
const (
	mutationInsert = 1
	writeTable     = 1
	writeColumns   = 2
	writeValues    = 3
)

func (b *loadBatch) add(r tablefile.Record) {
	if b.write == nil || !slices.Equal(b.columns, r.Columns) {
		b.close()
		b.columns = r.Columns
		b.write = make([]byte, 0, b.size+b.size/8)
		b.write = protowire.AppendTag(b.write, writeTable, protowire.BytesType)
		b.write = protowire.AppendString(b.write, b.table.Name)
		for _, c := range r.Columns {
			b.write = protowire.AppendTag(b.write, writeColumns, protowire.BytesType)
			b.write = protowire.AppendString(b.write, c.Name)
		}
	}
	b.write = protowire.AppendTag(b.write, writeValues, protowire.BytesType)
	b.write = protowire.AppendBytes(b.write, r.Values)
	b.inBatch++
	b.rows++
}

func (b *loadBatch) full() bool { return b.inBatch >= b.limit || len(b.write) >= loadBytes }

// close ends the mutation under way.
func (b *loadBatch) close() {
	if b.write == nil {
		return
	}
	m := protowire.AppendTag(make([]byte, 0, len(b.write)+8), mutationInsert, protowire.BytesType)
	b.done = append(b.done, protowire.AppendBytes(m, b.write))
	b.size, b.write = len(b.write), nil
}

func (b *loadBatch) take() []store.Mutation {
	b.close()
	out := b.done
	b.done, b.inBatch = nil, 0
	return out
}
