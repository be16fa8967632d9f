package pipe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"spanbulk/internal/pipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stuckWriter takes nothing until it is released, and then keeps what it got.
type stuckWriter struct {
	release chan struct{}
	mu      sync.Mutex
	got     bytes.Buffer
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	<-w.release
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got.Write(p)
}

func TestWriterWaitsUntilItIsToHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &stuckWriter{release: make(chan struct{})}
		w := pipe.NewWriter(stuck, time.Second)
		line := []byte("one")
		const writers = 5
		errs := make(chan error, writers)
		for range writers {
			go func() {
				_, err := w.Write(line)
				errs <- err
			}()
		}
		time.Sleep(time.Hour)
		if len(errs) > 0 {
			t.Fatal("a write ended that nothing took, without hurry")
		}
		w.Hurry()
		w.Hurry()
		start := time.Now()
		for range writers {
			if err := <-errs; !errors.Is(err, pipe.ErrGivenUp) {
				t.Errorf("a write that nothing took ends with %v", err)
			}
		}
		if _, err := w.Write(line); !errors.Is(err, pipe.ErrGivenUp) {
			t.Errorf("a write after one that was given up ends with %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("giving up takes %v, want 1s for all of them together", took)
		}
		copy(line, "two")
		close(stuck.release)
		synctest.Wait()
		if got := stuck.got.String(); got != "one" {
			t.Errorf("what was left behind wrote %q", got)
		}
	})
}

func TestWriterGoesOnAfterHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &stuckWriter{release: make(chan struct{})}
		w := pipe.NewWriter(stuck, time.Second)
		w.Hurry()
		time.AfterFunc(time.Second/2, func() { close(stuck.release) })
		for _, text := range []string{"a", "b", strings.Repeat("c", 1<<20)} {
			if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
				t.Fatalf("a write in time returns %d, %v", n, err)
			}
		}
		if want := "ab" + strings.Repeat("c", 1<<20); stuck.got.String() != want {
			t.Errorf("wrote %d bytes, want %d", stuck.got.Len(), len(want))
		}
	})
}

func TestReaderEndsWithItsContext(t *testing.T) {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	in := pipe.NewReader(ctx, r)
	go func() { _, _ = io.WriteString(w, "some") }()
	got := make([]byte, 3)
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "som" {
		t.Fatalf("read %q, %v", got, err)
	}
	ended := errors.New("ended")
	time.AfterFunc(10*time.Millisecond, func() { cancel(ended) })
	if all, err := io.ReadAll(in); string(all) != "e" || !errors.Is(err, ended) {
		t.Errorf("read %q, %v", all, err)
	}
	_ = w.Close() // lets the goroutine go
}

func TestReaderReadsAll(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 50_000)
	got, err := io.ReadAll(pipe.NewReader(t.Context(), bytes.NewReader(want)))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("read %d bytes of %d, %v", len(got), len(want), err)
	}
}
