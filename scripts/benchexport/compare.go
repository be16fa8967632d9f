package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"

	"spanbulk/scripts/internal/bench"
)

// fingerprint is a hash of lines that does not depend on their order.
type fingerprint struct {
	sum   uint64
	lines int
	rest  []byte
}

func (f *fingerprint) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			f.rest = append(f.rest, p...)
			return n, nil
		}
		h := fnv.New64a()
		h.Write(f.rest)
		h.Write(p[:i])
		f.sum += h.Sum64()
		f.lines++
		f.rest, p = f.rest[:0], p[i+1:]
	}
}

// compare runs the contenders in turn, rounds times, after one run each whose
// output is checked: the first two write the same lines, all as many.
func compare(ctx context.Context, contenders []*bench.Contender, rows, rounds int) error {
	var prints []fingerprint
	for _, c := range contenders {
		var f fingerprint
		if err := c.Run(ctx, &f); err != nil {
			return err
		}
		if f.lines != rows {
			return fmt.Errorf("%s wrote %d lines, want %d", c.Name, f.lines, rows)
		}
		prints = append(prints, f)
	}
	if prints[0].sum != prints[1].sum {
		return fmt.Errorf("%s and %s wrote different lines", contenders[0].Name, contenders[1].Name)
	}
	return bench.Measure(ctx, contenders, rounds)
}
