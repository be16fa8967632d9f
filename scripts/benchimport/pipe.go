package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"spanbulk/scripts/internal/bench"
)

// maxPipeRSS is the memory that an import may take, however long its input is.
const maxPipeRSS = 200 << 20

// pipe imports so many bytes of records from a pipe and tells the most memory
// that the process took.
func pipe(ctx context.Context, spanbulk, endpoint string, size int64) error {
	if size <= 0 {
		return nil
	}
	c := exec.CommandContext(ctx, spanbulk, "import", "--emulator-endpoint", endpoint, "--database", database,
		"--table", bench.Table, "--quiet", "--format", "ndjson")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	records, writeErr := writeRecords(in, size)
	if err := c.Wait(); err != nil {
		return fmt.Errorf("import from a pipe: %w", err)
	}
	if writeErr != nil {
		return writeErr
	}
	rss := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	fmt.Printf("pipe_mib=%d records=%d pipe_rss_mib=%d\n", size>>20, records, rss>>20)
	if rss > maxPipeRSS {
		return fmt.Errorf("an import from a pipe took %d MiB of memory, more than %d", rss>>20, maxPipeRSS>>20)
	}
	return nil
}

// writeRecords writes at least size bytes of records, each with a key of its own,
// and closes w.
func writeRecords(w io.WriteCloser, size int64) (records int64, err error) {
	const some = 5000
	columns, r := bench.Columns(), rand.New(rand.NewPCG(1, 2))
	key := columns[0].Name
	bodies := make([][]byte, some)
	for i := range bodies {
		fields := record(columns, bench.Row(r, i))
		delete(fields, key)
		if bodies[i], err = json.Marshal(fields); err != nil {
			return 0, err
		}
	}
	var buffer bytes.Buffer
	for written := int64(0); written < size; {
		buffer.Reset()
		for range some {
			buffer.WriteString(`{"` + key + `":` + strconv.FormatInt(records, 10) + ",")
			buffer.Write(bodies[records%some][1:])
			buffer.WriteByte('\n')
			records++
		}
		n, err := w.Write(buffer.Bytes())
		if err != nil {
			return records, err
		}
		written += int64(n)
	}
	return records, w.Close()
}
