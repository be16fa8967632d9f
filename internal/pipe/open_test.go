//go:build unix

package pipe_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"spanbulk/internal/pipe"
)

func TestOpenNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	ended := errors.New("ended")
	for name, flag := range map[string]int{"reader": os.O_RDONLY, "writer": os.O_WRONLY} {
		t.Run(name+" alone", func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Millisecond, func() { cancel(ended) })
			if _, err := pipe.Open(ctx, path, flag, 0); !errors.Is(err, ended) {
				t.Errorf("Open ends with %v", err)
			}
			if _, err := pipe.Open(ctx, path, flag, 0); !errors.Is(err, ended) {
				t.Errorf("with a context that has ended, Open ends with %v", err)
			}
		})
	}
	t.Run("writer to a reader, after the end", func(t *testing.T) {
		r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ended)
		w, err := pipe.OpenWriter(ctx, path)
		if err != nil {
			t.Fatalf("a pipe that is read is not opened: %v", err)
		}
		if _, err := io.WriteString(w, "summary"); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(r); string(got) != "summary" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
	})
	t.Run("both", func(t *testing.T) {
		go func() {
			w, err := pipe.Open(t.Context(), path, os.O_WRONLY, 0)
			if err == nil {
				_, err = w.WriteString("through")
				err = errors.Join(err, w.Close())
			}
			if err != nil {
				t.Error(err)
			}
		}()
		r, err := pipe.Open(t.Context(), path, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got, err := io.ReadAll(r); string(got) != "through" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
	})
	if _, err := pipe.Open(t.Context(), path+"-none", os.O_RDONLY, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a path that leads nowhere: %v", err)
	}
}
