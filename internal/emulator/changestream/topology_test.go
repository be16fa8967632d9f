package changestream_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"spanbulk/internal/emulator/changestream"
	"spanbulk/internal/emulator/value"
	"spanbulk/internal/randtest"
)

const mutableDDL = "CREATE CHANGE STREAM S FOR T OPTIONS (partition_mode = 'MUTABLE_KEY_RANGE')"

func key(n int64) string { return string(value.AppendKeyValue(nil, value.Int64(n), value.KeyOrder{})) }

func tokensOf(list []changestream.Partition) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Token)
	}
	return out
}

func TestMutableSplitMoveMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase(t, one(1), kvDDL, mutableDDL)
		s := d.stream("S")
		start := d.StrongTimestamp()
		first := s.Active()[0].Token
		read := func(token string, from time.Time) []*message {
			t.Helper()
			time.Sleep(time.Millisecond)
			var out []*message
			for _, r := range query(t, s, changestream.Query{Start: from, End: d.StrongTimestamp(), Token: token, Heartbeat: time.Second}) {
				out = append(out, decode(t, r.Row))
			}
			return out
		}
		kinds := func(list []*message) []string {
			var out []string
			for _, m := range list {
				out = append(out, m.kind)
			}
			return out
		}
		want := func(list []*message, kinds_ ...string) {
			t.Helper()
			if got := kinds(list); !slices.Equal(got, kinds_) {
				t.Fatalf("records %v, want %v", got, kinds_)
			}
		}

		initial := query(t, s, changestream.Query{Start: start, Heartbeat: time.Second})
		if m := decode(t, initial[0].Row); len(initial) != 1 || m.kind != "start" || !slices.Equal(m.tokens, []string{first}) || !m.at.Equal(start) {
			t.Fatalf("initial query %+v", m)
		}

		d.commit(d.put("T", 1, 1), d.put("T", 9, 9))
		made, err := s.SplitAt(first, d.table("T"), key(5))
		if err != nil {
			t.Fatal(err)
		}
		second := made[0].Token
		d.commit(d.put("T", 1, 2), d.put("T", 9, 10))
		list := read(first, start)
		want(list, "data", "start", "event", "data")
		if list[1].tokens[0] != second || list[2].out[0] != second || list[2].tokens[0] != first || list[1].sequence >= list[2].sequence || list[3].keys[0] != 1 {
			t.Fatalf("split %+v %+v", list[1], list[2])
		}
		list = read(second, made[0].Start)
		want(list, "event", "data")
		if list[0].in[0] != first || list[1].keys[0] != 9 {
			t.Fatalf("records of the new partition %+v %+v", list[0], list[1])
		}

		// The upper half of the first one's keys moves to the second.
		if made, err := s.Move(first); err != nil || len(made) != 0 {
			t.Fatalf("%v %v", made, err)
		}
		at := d.commit(d.put("T", 1, 3), d.put("T", 4, 4))
		list = read(second, at)
		want(list, "data")
		if list[0].keys[0] != 4 && len(list[0].keys) != 2 {
			t.Errorf("keys %v after the move", list[0].keys)
		}

		if made, err := s.Merge(first, second); err != nil || len(made) != 0 {
			t.Fatalf("%v %v", made, err)
		}
		list = read(second, at)
		want(list, "data", "event", "end")
		if list[1].out[0] != first || list[2].tokens[0] != second {
			t.Errorf("merge %+v %+v", list[1], list[2])
		}
		at = d.commit(d.put("T", 9, 11))
		want(read(first, at), "data")

		// Moved without a neighbour, a partition goes on in a new one.
		made, err = s.Move(first)
		if err != nil || len(made) != 1 {
			t.Fatalf("%v %v", made, err)
		}
		list = read(first, at)
		want(list, "data", "start", "event", "end")
		if list[1].tokens[0] != made[0].Token {
			t.Errorf("move %+v", list[1])
		}
	})
}

func TestChangesThatAreRefused(t *testing.T) {
	d := newDatabase(t, one(3), kvDDL, "CREATE CHANGE STREAM S FOR T")
	s := d.stream("S")
	active := tokensOf(s.Active())
	if _, err := s.Split("nope"); err == nil {
		t.Error("split of an unknown partition")
	}
	if _, err := s.Merge(active[0], active[2]); err == nil {
		t.Error("merge of partitions that are no neighbours")
	}
	if _, err := s.Merge(active[0]); err == nil {
		t.Error("merge of one partition")
	}
	if _, err := s.Merge(active[0], active[0]); err == nil {
		t.Error("merge of a partition with itself")
	}
	if _, err := s.SplitAt(active[0], d.table("T"), key(1<<62)); err == nil {
		t.Error("split at a key of another partition")
	}
	if got := tokensOf(s.Active()); !slices.Equal(got, active) {
		t.Error("a change that failed changed the partitions")
	}
	if _, err := s.Split(active[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Split(active[0]); err == nil {
		t.Error("split of a partition that has ended")
	}
}

// However partitions change, a reader that follows them gets every change once,
// in order for each key. In both modes, with bounded windows and without.
func TestFollowingPartitions(t *testing.T) {
	seed := randtest.Seed(t)
	for round := range randtest.Rounds(6) {
		for _, ddl := range []string{"CREATE CHANGE STREAM S FOR T", mutableDDL} {
			rng := rand.New(rand.NewPCG(seed, uint64(round)))
			synctest.Test(t, func(t *testing.T) { followPartitions(t, rng, ddl) })
			if t.Failed() {
				t.Fatalf("round %d, %s", round, ddl)
			}
		}
	}
}

func followPartitions(t *testing.T, rng *rand.Rand, ddl string) {
	d := newDatabase(t, one(1+rng.IntN(3)), kvDDL, ddl)
	s := d.stream("S")
	start := d.StrongTimestamp()
	want := make(map[int64][]int64)
	for n := range int64(300) {
		time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
		if rng.IntN(8) == 0 {
			_ = s.Shuffle(rng) // a range of one key cannot be split
			continue
		}
		var mods []changestream.Mod
		for range 1 + rng.IntN(3) {
			k := rng.Int64N(40) - 20
			if slices.ContainsFunc(mods, func(m changestream.Mod) bool { return m.Key == key(k) }) {
				continue
			}
			mods = append(mods, d.put("T", k, n))
			want[k] = append(want[k], n)
		}
		d.commit(mods...)
	}
	end := d.StrongTimestamp()
	time.Sleep(time.Millisecond)

	f := follower{t: t, s: s, end: end, got: make(map[int64][]version), done: make(map[string]bool)}
	for _, r := range query(t, s, changestream.Query{Start: start, Heartbeat: time.Second}) {
		m := decode(t, r.Row)
		for _, token := range m.tokens {
			f.open(token, m.at, nil)
		}
	}
	f.run()
	got := make(map[int64][]int64)
	for k, list := range f.got {
		if !slices.IsSortedFunc(list, func(a, b version) int { return a.at.Compare(b.at) }) {
			t.Errorf("key %d out of order: %v", k, list)
		}
		for _, v := range list {
			got[k] = append(got[k], v.v)
		}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if len(f.waiting) > 0 {
		t.Errorf("%d partitions wait for parents that never finish", len(f.waiting))
	}
}

type version struct {
	at time.Time
	v  int64
}

// follower reads partitions one after the other as a client does: a child when
// all its parents are finished.
type follower struct {
	t       *testing.T
	s       *changestream.Stream
	end     time.Time
	waiting []work
	seen    []string
	done    map[string]bool
	got     map[int64][]version
}

type work struct {
	token   string
	start   time.Time
	parents []string
}

func (f *follower) open(token string, start time.Time, parents []string) {
	if !slices.Contains(f.seen, token) {
		f.seen = append(f.seen, token)
		f.waiting = append(f.waiting, work{token, start, parents})
	}
}

func (f *follower) run() {
	for {
		i := slices.IndexFunc(f.waiting, func(w work) bool {
			return !slices.ContainsFunc(w.parents, func(p string) bool { return !f.done[p] })
		})
		if i < 0 {
			break
		}
		w := f.waiting[i]
		f.waiting = slices.Delete(f.waiting, i, i+1)
		f.read(w)
	}
	for k := range f.got {
		// With MUTABLE_KEY_RANGE partitions live on beside each other; order over
		// them is by time.
		slices.SortStableFunc(f.got[k], func(a, b version) int { return a.at.Compare(b.at) })
	}
}

func (f *follower) read(w work) {
	for _, r := range query(f.t, f.s, changestream.Query{Start: w.start, End: f.end, Token: w.token, Heartbeat: time.Second}) {
		m := decode(f.t, r.Row)
		switch m.kind {
		case "data":
			for i, k := range m.keys {
				f.got[k] = append(f.got[k], version{m.at, m.values[i]})
			}
		case "children":
			for i, token := range m.tokens {
				f.open(token, m.at, m.parents[i])
			}
		case "start":
			for _, token := range m.tokens {
				f.open(token, m.at, nil)
			}
		}
	}
	f.done[w.token] = true
}
