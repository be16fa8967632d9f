package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/avro/ocf"

	"spanbulk/scripts/internal/bench"
)

// exportOf makes a contender of an export with further flags, the later ones
// counting.
type exportOf func(name string, args ...string) *bench.Contender

// compareFormats measures the other formats against NDJSON, uncompressed.
func compareFormats(ctx context.Context, o options, export exportOf) error {
	ndjson, csv, avro := export("ndjson"), export("csv", "--format", "csv"), export("avro", "--format", "avro")
	var lines fingerprint
	if err := csv.Run(ctx, &lines); err != nil {
		return err
	}
	if lines.lines != o.rows+1 {
		return fmt.Errorf("csv has %d lines, want %d and a header", lines.lines, o.rows)
	}
	n, err := countAvro(ctx, avro)
	if err != nil {
		return err
	}
	if n != o.rows {
		return fmt.Errorf("avro has %d records, want %d", n, o.rows)
	}
	if err := bench.Measure(ctx, []*bench.Contender{ndjson, csv, avro}, o.rounds); err != nil {
		return err
	}
	bench.Report([]*bench.Contender{csv, avro}, o.rows)
	ratio := func(c *bench.Contender) float64 { return float64(c.Median()) / float64(ndjson.Median()) }
	fmt.Printf("ratio_csv=%.2f ratio_avro=%.2f (processor time per row, to NDJSON's)\n", ratio(csv), ratio(avro))
	return nil
}

// countAvro reads what the contender writes with the Avro library.
func countAvro(ctx context.Context, c *bench.Contender) (records int, err error) {
	in, out := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		err := c.Run(ctx, out)
		failed <- err
		out.CloseWithError(err)
	}()
	defer func() {
		in.Close()
		err = errors.Join(err, <-failed)
	}()
	r, err := ocf.NewReader(in)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		var record map[string]any
		if err := r.Decode(&record); err != nil {
			if errors.Is(err, io.EOF) {
				return records, nil
			}
			return records, err
		}
		records++
	}
}

// compareCompression measures how much sooner a compressed export is done when
// two partitions are read, and so compressed, at once. The server takes its
// share of the processors, so on a machine with two the ratio stays below 2.
func compareCompression(ctx context.Context, o options, export exportOf) error {
	for _, compression := range []string{"gzip", "zstd"} {
		one := export(compression+", parallelism 1", "--compression", compression, "--parallelism", "1")
		two := export(compression+", parallelism 2", "--compression", compression, "--parallelism", "2")
		if err := bench.Measure(ctx, []*bench.Contender{one, two}, o.rounds); err != nil {
			return err
		}
		alone, both := one.Shortest(), two.Shortest()
		fmt.Printf("%s: %.2f s at --parallelism 1, %.2f s at 2: scaling=%.2f\n", compression, alone.Seconds(), both.Seconds(), alone.Seconds()/both.Seconds())
	}
	return nil
}
