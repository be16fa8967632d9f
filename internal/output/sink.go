package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"spanbulk/internal/pipe"
)

// sink takes the chunks of one partition, or of all partitions of a table that
// share a file. It may be used by many goroutines.
type sink interface {
	write(b []byte, rows int) error
	finish() error
}

var errFinished = errors.New("chunk for an output that is finished")

// fileSink writes one file after another, the next when the maximum size is
// reached.
type fileSink struct {
	set   *Set
	table *Table
	place fields // of the next file

	mu       sync.Mutex
	current  *file // nil before the first chunk
	finished bool
}

func (k *fileSink) write(b []byte, rows int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished {
		return errFinished
	}
	if k.isFull(len(b)) {
		if err := k.current.finish(); err != nil {
			return err
		}
		k.current = nil
	}
	if err := k.open(); err != nil {
		return err
	}
	return k.current.write(b, rows)
}

// isFull reports whether n more bytes would pass the maximum size. A file takes
// at least one chunk, whatever its size.
func (k *fileSink) isFull(n int) bool {
	limit := k.set.options.MaxFileSize
	return limit > 0 && k.current != nil && k.current.rows > 0 && k.current.bytes+int64(n) > limit
}

func (k *fileSink) open() error {
	if k.current != nil {
		return nil
	}
	f, err := k.set.create(k.place, k.table)
	if err != nil {
		return err
	}
	k.place.roll++
	k.current = f
	return f.write(k.table.Header, 0)
}

func (k *fileSink) finish() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished {
		return nil
	}
	k.finished = true
	if k.current == nil {
		return nil
	}
	return k.current.finish()
}

// streamSink writes to standard output, a pipe or a device.
type streamSink struct {
	w      io.Writer
	closer io.Closer // nil for standard output, which is not ours to close
	name   string
	header []byte // nil once written

	mu          sync.Mutex
	rows, bytes int64
	finished    bool
}

func (o Options) openStream(ctx context.Context) (*streamSink, error) {
	k := &streamSink{w: o.Stdout, name: "standard output", header: o.Tables[0].Header}
	if o.isStdout() {
		return k, nil
	}
	f, err := pipe.OpenWriter(ctx, o.Path)
	if err != nil {
		return nil, failure("open", o.Path, err)
	}
	k.w, k.closer, k.name = f, f, o.Path
	return k, nil
}

func (k *streamSink) write(b []byte, rows int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished {
		return errFinished
	}
	if err := k.writeHeader(); err != nil {
		return err
	}
	if err := k.put(b); err != nil {
		return err
	}
	k.rows += int64(rows)
	return nil
}

func (k *streamSink) writeHeader() error {
	header := k.header
	k.header = nil
	return k.put(header)
}

func (k *streamSink) put(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := k.w.Write(b)
	k.bytes += int64(n)
	if isClosedPipe(err) {
		return fmt.Errorf("write %s: %w: %w", k.name, ErrReaderGone, err)
	}
	if err != nil {
		return failure("write", k.name, err)
	}
	return nil
}

func (k *streamSink) finish() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished {
		return nil
	}
	k.finished = true
	err := k.writeHeader()
	if cerr := k.close(); err == nil {
		err = cerr
	}
	return err
}

// abort closes what was opened, without a header that is still to come.
func (k *streamSink) abort() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished {
		return nil
	}
	k.finished = true
	return k.close()
}

func (k *streamSink) close() error {
	if k.closer == nil {
		return nil
	}
	if err := k.closer.Close(); err != nil {
		return failure("close", k.name, err)
	}
	return nil
}
