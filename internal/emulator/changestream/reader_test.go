package changestream_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/changestream"
)

func one(partitions int) changestream.Options { return changestream.Options{Partitions: partitions} }

// A reader gives a commit at once and heartbeats when nothing comes.
func TestReaderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase(t, one(1), kvDDL, "CREATE CHANGE STREAM S FOR T")
		s := d.stream("S")
		begun := time.Now()
		r, err := s.Read(changestream.Query{Start: d.StrongTimestamp(), Token: s.Active()[0].Token, Heartbeat: 10 * time.Second}, changestream.Position{})
		if err != nil {
			t.Fatal(err)
		}
		wantBeat := func(after time.Duration) {
			t.Helper()
			m := next(t, r)
			if waited := time.Since(begun); m.kind != "heartbeat" || waited < after || waited > after+10*time.Millisecond || m.at.Before(begun.Add(after)) {
				t.Fatalf("%s at %v after %v, want a heartbeat after %v", m.kind, m.at, waited, after)
			}
		}
		wantBeat(10 * time.Second)
		wantBeat(20 * time.Second)
		go func() {
			time.Sleep(3 * time.Second)
			d.commit(d.put("T", 1, 2))
		}()
		if m := next(t, r); m.kind != "data" || time.Since(begun).Round(time.Millisecond) != 23*time.Second {
			t.Fatalf("%s after %v, want data after 23s", m.kind, time.Since(begun))
		}
		wantBeat(33 * time.Second)
	})
}

// A query that begins in the future waits for its start and gives nothing of
// before.
func TestReaderBeginsInTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase(t, one(1), kvDDL, "CREATE CHANGE STREAM S FOR T")
		s := d.stream("S")
		start := d.StrongTimestamp().Add(5 * time.Minute)
		r, err := s.Read(changestream.Query{Start: start, End: start.Add(time.Minute), Token: s.Active()[0].Token, Heartbeat: 5 * time.Minute}, changestream.Position{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(4 * time.Minute)
			d.commit(d.put("T", 1, 1))
			time.Sleep(90 * time.Second)
			d.commit(d.put("T", 2, 2))
		}()
		if m := next(t, r); m.kind != "data" || m.keys[0] != 2 {
			t.Fatalf("%+v, want the commit after the start", m)
		}
		if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Fatalf("error %v", err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("ended %v after the start, want 1m", d)
		}

		initial, err := s.Read(changestream.Query{Start: time.Now().Add(time.Minute), Heartbeat: time.Second}, changestream.Position{})
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		if m := next(t, initial); m.kind != "children" || time.Since(before) < time.Minute {
			t.Errorf("%s after %v", m.kind, time.Since(before))
		}
	})
}

func TestReaderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase(t, one(1), kvDDL, "CREATE CHANGE STREAM S FOR T")
		s := d.stream("S")
		open := func(ctx context.Context) error {
			r, err := s.Read(changestream.Query{Start: d.StrongTimestamp(), Token: s.Active()[0].Token, Heartbeat: time.Hour}, changestream.Position{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Next(ctx)
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := open(ctx); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("error %v at the deadline", err)
		}
		go func() {
			time.Sleep(time.Second)
			d.ddl("DROP CHANGE STREAM S")
		}()
		if err := open(t.Context()); status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "Change Stream not found: S") {
			t.Errorf("error %v after DROP CHANGE STREAM", err)
		}
	})
}

func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase(t, one(1), kvDDL, "CREATE CHANGE STREAM S FOR T OPTIONS (retention_period = '24h')")
		s := d.stream("S")
		token := s.Active()[0].Token
		first := d.commit(d.put("T", 1, 1))
		read := func(start time.Time) (int, error) {
			r, err := s.Read(changestream.Query{Start: start, End: d.StrongTimestamp(), Token: token, Heartbeat: time.Second}, changestream.Position{})
			if err != nil {
				return 0, err
			}
			n := 0
			for {
				batch, err := r.Next(t.Context())
				if err != nil {
					return n, nil
				}
				n += len(batch)
			}
		}
		time.Sleep(23 * time.Hour)
		second := d.commit(d.put("T", 2, 2))
		if n, err := read(first); n != 2 || err != nil {
			t.Errorf("%d records, error %v within the retention", n, err)
		}
		time.Sleep(2 * time.Hour)
		if _, err := read(first); status.Code(err) != codes.OutOfRange || !strings.Contains(err.Error(), "too far in the past") {
			t.Errorf("error %v after the retention", err)
		}
		if n, err := read(second); n != 1 || err != nil {
			t.Errorf("%d records, error %v for what is retained", n, err)
		}
		d.ddl("ALTER CHANGE STREAM S SET OPTIONS (retention_period = '7d')")
		time.Sleep(26 * time.Hour)
		if n, err := read(second); n != 1 || err != nil {
			t.Errorf("%d records, error %v with a longer retention", n, err)
		}
	})
}

// TestForgottenPartitions wants partitions that ended before the retention to be
// forgotten, and queries of them refused, those under way too.
func TestForgottenPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase(t, one(1), kvDDL, "CREATE CHANGE STREAM S FOR T OPTIONS (retention_period = '24h')")
		s := d.stream("S")
		q := changestream.Query{Start: d.commit(d.put("T", 1, 1)), Token: s.Active()[0].Token, Heartbeat: time.Second}
		open := func(q changestream.Query, at changestream.Position) *changestream.Reader {
			r, err := s.Read(q, at)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		slow := open(q, changestream.Position{})
		first, err := open(q, changestream.Position{}).Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		initial := changestream.Query{Start: q.Start, Heartbeat: time.Second}
		told, err := open(initial, changestream.Position{}).Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if _, err := s.Move(s.Active()[0].Token); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(25 * time.Hour)
		made, err := s.Move(s.Active()[0].Token)
		if err != nil || len(made) != 1 || made[0].Token != s.Active()[0].Token {
			t.Fatalf("the move made %v, error %v", made, err)
		}
		if n := len(s.Partitions()); n != 2 {
			t.Errorf("%d partitions are known, want the one that ended just now and the one that is active", n)
		}
		resumed := func(q changestream.Query, at changestream.Position) error {
			_, err := s.Read(q, at)
			return err
		}
		_, slowErr := slow.Next(t.Context())
		for name, err := range map[string]error{
			"query": resumed(q, changestream.Position{}), "resumed query": resumed(q, first[0].Position),
			"resumed initial query": resumed(initial, told[0].Position), "slow query": slowErr,
		} {
			if status.Code(err) != codes.OutOfRange || !strings.Contains(err.Error(), "too far in the past") {
				t.Errorf("%s: error %v", name, err)
			}
		}
	})
}

func TestPositionRoundTrip(t *testing.T) {
	d := newDatabase(t, one(1), kvDDL, "CREATE CHANGE STREAM S FOR T")
	s := d.stream("S")
	start := d.StrongTimestamp()
	const n = 1000
	for i := range int64(n) {
		d.commit(d.put("T", i, i))
	}
	q := changestream.Query{Start: start, End: d.StrongTimestamp(), Token: s.Active()[0].Token, Heartbeat: time.Second}
	all := query(t, s, q)
	if len(all) != n {
		t.Fatalf("%d records", len(all))
	}
	for _, i := range []int{0, 1, 255, 256, 511, 512, n - 1} {
		pos, ok := changestream.DecodePosition(all[i].Position.Encode(nil))
		if !ok || pos != all[i].Position {
			t.Fatalf("position %+v, was %+v", pos, all[i].Position)
		}
		r, err := s.Read(q, pos)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := r.Next(t.Context())
		if i == n-1 {
			if !errors.Is(err, io.EOF) {
				t.Errorf("%d records, error %v after the last", len(batch), err)
			}
			continue
		}
		if err != nil || decode(t, batch[0].Row).keys[0] != int64(i+1) {
			t.Errorf("resumed after %d: error %v", i, err)
		}
	}
	for _, b := range [][]byte{nil, make([]byte, 16), append([]byte{9}, make([]byte, 16)...)} {
		if _, ok := changestream.DecodePosition(b); ok {
			t.Errorf("%v taken for a position", b)
		}
	}
}
