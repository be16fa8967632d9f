package input

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
)

// Verify holds the checksums of files against those of their manifests, workers
// files at once, so that a damaged one is known of before anything is done with
// any. Read does not do it again. What can be read only once, a pipe, is left to
// Read, which finds out at the end.
func Verify(ctx context.Context, files []*File, workers int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(workers, 1))
	for _, f := range files {
		if f.checksum == nil || f.Size < 0 {
			continue
		}
		g.Go(func() error { return f.verify(ctx) })
	}
	return g.Wait()
}

func (f *File) verify(ctx context.Context) error {
	file, err := os.Open(f.Path)
	if err != nil {
		return openFault(f.Path, err)
	}
	defer file.Close()
	hash := f.checksum.hash()
	if _, err := io.CopyBuffer(hash, &interruptible{ctx, file}, make([]byte, 1<<20)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return openFault(f.Path, err)
	}
	if err := f.compare(hash.Sum(nil)); err != nil {
		return err
	}
	f.checksum = nil
	return nil
}

func (f *File) compare(sum []byte) error {
	if bytes.Equal(sum, f.checksum.sum) {
		return nil
	}
	return fault.New(codes.DataLoss, "read", f.Name(),
		fmt.Sprintf("the file's %s is not the one in the manifest: it was changed or damaged", f.checksum.algorithm))
}

// interruptible ends with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
