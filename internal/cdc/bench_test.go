package cdc_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"spanbulk/internal/cdc"
	"spanbulk/internal/wire"
)

// prepared is a stream of one partition whose messages are encoded already.
type prepared struct {
	*world
	messages [][]byte
}

func (p *prepared) Query(ctx context.Context, q cdc.Query) (wire.Receiver, error) {
	if q.Token == cdc.RootToken {
		return p.world.Query(ctx, q)
	}
	return &preparedStream{p.messages}, nil
}

type preparedStream struct{ messages [][]byte }

func (s *preparedStream) RecvMsg(m any) error {
	if len(s.messages) == 0 {
		return io.EOF
	}
	next := s.messages[0]
	s.messages = s.messages[1:]
	return m.(*wire.Message).ParseMessage(next)
}

type nowhere struct{}

func (nowhere) Begin([]byte) error              { return nil }
func (nowhere) Write([]byte, int) error         { return nil }
func (nowhere) Flush() (json.RawMessage, error) { return nil, nil }

// benchmarkTail reads 100,000 records of transactions of one record each.
func benchmarkTail(b *testing.B, f form, perMessage int, opt cdc.Options) {
	const count = 100_000
	w := newWorld(rand.New(rand.NewPCG(1, 2)), f, 0)
	w.order = w.order[:1]
	records := make([]*record, count)
	value := 42
	for i := range records {
		at := epoch.Add(time.Duration(i) * time.Microsecond)
		records[i] = &record{at: at, change: &change{
			at: at, transaction: strconv.Itoa(6329047911 + i), sequence: "00000001", partition: w.order[0].token, table: "Orders",
			key: i, modType: "UPDATE", value: &value, old: &value, records: 1, partitions: 1, last: true,
		}}
	}
	p := &prepared{world: w, messages: f.messages(records, perMessage)}
	opt.Start, opt.End = cdc.At(epoch.Time()), w.now.Time()
	b.ReportAllocs()
	for b.Loop() {
		opt.Progress = new(cdc.Progress)
		if err := newTail(b, p, opt).Run(b.Context(), nowhere{}); err != nil {
			b.Fatal(err)
		}
		if n := opt.Progress.RecordsWritten.Load(); n != count {
			b.Fatalf("%d records written", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/record")
}

func BenchmarkRecords(b *testing.B) {
	for _, f := range []form{googleSQL, postgreSQL, mutable} {
		b.Run(f.String(), func(b *testing.B) { benchmarkTail(b, f, 50, cdc.Options{}) })
	}
	b.Run("OneAMessage", func(b *testing.B) { benchmarkTail(b, googleSQL, 1, cdc.Options{}) })
}

func BenchmarkRows(b *testing.B) {
	benchmarkTail(b, googleSQL, 50, cdc.Options{Mode: cdc.Full})
}

func BenchmarkFiltered(b *testing.B) {
	benchmarkTail(b, googleSQL, 50, cdc.Options{Filters: cdc.Filters{ColumnExclude: []string{`.*\.Note`}}})
}
