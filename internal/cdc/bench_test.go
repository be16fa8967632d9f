package cdc_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"spanbulk/internal/cdc"
	"spanbulk/internal/wire"
)

// prepared is a stream of one partition that brings the same messages again and
// again, already encoded.
type prepared struct {
	*world
	messages [][]byte
	records  int // of a message
	left     int // messages to bring
}

func (p *prepared) Query(ctx context.Context, q cdc.Query) (wire.Receiver, error) {
	if q.Token == cdc.RootToken {
		return p.world.Query(ctx, q)
	}
	return p, nil
}

func (p *prepared) RecvMsg(m any) error {
	if p.left == 0 {
		return io.EOF
	}
	p.left--
	return m.(*wire.Message).ParseMessage(p.messages[p.left%len(p.messages)])
}

type nowhere struct{}

func (nowhere) Begin([]byte) error              { return nil }
func (nowhere) Write([]byte, int) error         { return nil }
func (nowhere) Flush() (json.RawMessage, error) { return nil, nil }

func benchmarkTail(b *testing.B, f form, perMessage int, opt cdc.Options) {
	w := newWorld(rand.New(rand.NewPCG(1, 2)), f, 0)
	token := w.order[0].token
	w.order = w.order[:1]
	var records []*record
	value := 42
	for i := range perMessage {
		records = append(records, &record{at: epoch, change: &change{
			at: epoch, transaction: "6329047911", sequence: "00000001", partition: token, table: "Orders",
			key: i, modType: "UPDATE", value: &value, old: &value, records: 1, partitions: 1,
		}})
	}
	p := &prepared{world: w, messages: f.messages(records, perMessage), records: perMessage, left: b.N/perMessage + 1}
	opt.Start, opt.End = cdc.At(epoch.Time()), w.now.Time()
	opt.Progress = new(cdc.Progress)
	tail := newTail(b, p, opt)
	b.ReportAllocs()
	b.ResetTimer()
	begun := time.Now()
	if err := tail.Run(b.Context(), nowhere{}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(begun).Nanoseconds())/float64(opt.Progress.Records.Load()), "ns/record")
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
