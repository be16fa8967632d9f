package cdc_test

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spanbulk/internal/cdc"
	"spanbulk/internal/format"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"), goleak.Cleanup(func(code int) {
		if dir, err := programDirectory(); err == nil {
			os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

// collector is an Output that keeps what it takes in memory.
type collector struct {
	mu      sync.Mutex
	text    []byte
	records int
	// fail, if set, may refuse a chunk.
	fail func(chunk []byte) error
}

func (c *collector) Begin(header []byte) error { return c.Write(header, 0) }

func (c *collector) Write(chunk []byte, records int) error {
	if c.fail != nil {
		if err := c.fail(chunk); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, chunk...)
	c.records += records
	return nil
}

func (c *collector) Flush() (json.RawMessage, error) { return nil, nil }

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}

// lines are the whole lines taken so far.
func (c *collector) lines() []string { return splitLines(c.String()) }

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// quick makes retries cost no time.
func quick() cdc.Backoff { return cdc.Backoff{Initial: time.Nanosecond, Max: time.Nanosecond} }

func newTail(t testing.TB, source cdc.Source, opt cdc.Options) *cdc.Tail {
	t.Helper()
	if opt.Retry == (cdc.Backoff{}) {
		opt.Retry = quick()
	}
	tail, err := cdc.New(source, opt)
	if err != nil {
		t.Fatal(err)
	}
	return tail
}

// runTail runs a tail to its end and returns the lines it wrote.
func runTail(t testing.TB, source cdc.Source, opt cdc.Options) []string {
	t.Helper()
	out := &collector{}
	if err := newTail(t, source, opt).Run(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	return out.lines()
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func formatValues(int64 string) format.ValueOptions { return format.ValueOptions{Int64: int64} }
