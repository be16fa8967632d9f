package cdc_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"spanbulk/internal/cdc"
)

// at is a time of the tests: seconds from the epoch.
func at(seconds int) cdc.Timestamp { return epoch.Add(time.Duration(seconds) * time.Second) }

func apply(t *testing.T, l *cdc.Ledger, token string, step cdc.Advance) {
	t.Helper()
	if err := l.Apply(token, step); err != nil {
		t.Fatal(err)
	}
}

// startAll starts whatever may be read and returns the tokens, in order.
func startAll(l *cdc.Ledger) string {
	var tokens []string
	for {
		p, ok := l.Next()
		if !ok {
			return strings.Join(tokens, " ")
		}
		tokens = append(tokens, p.Token)
	}
}

func wantStarted(t *testing.T, l *cdc.Ledger, want string) {
	t.Helper()
	if got := startAll(l); got != want {
		t.Fatalf("started %q, want %q", got, want)
	}
}

func wantMark(t *testing.T, l *cdc.Ledger, seconds int) {
	t.Helper()
	if got := l.Watermark(); got != at(seconds) {
		t.Fatalf("watermark %v, want %v", got, at(seconds))
	}
}

func child(token string, start int, parents ...string) cdc.Child {
	return cdc.Child{Token: token, Parents: parents, Start: at(start)}
}

// begun returns a ledger whose initial query has told of partitions a and b.
func begun(t *testing.T) *cdc.Ledger {
	t.Helper()
	l := cdc.NewLedger(at(0))
	wantStarted(t, l, "")
	apply(t, l, cdc.RootToken, cdc.Advance{Children: []cdc.Child{child("a", 0, cdc.RootToken), child("b", 0, cdc.RootToken)}})
	wantStarted(t, l, "")
	apply(t, l, cdc.RootToken, cdc.Advance{Outcome: cdc.Ended})
	wantStarted(t, l, "a b")
	return l
}

func TestLedgerMerge(t *testing.T) {
	l := begun(t)
	merged := child("m", 10, "a", "b")
	apply(t, l, "a", cdc.Advance{Position: at(10), Children: []cdc.Child{merged}})
	wantMark(t, l, 0) // b has brought nothing
	wantStarted(t, l, "")
	apply(t, l, "a", cdc.Advance{Outcome: cdc.Ended})
	wantStarted(t, l, "") // one parent is not enough
	apply(t, l, "b", cdc.Advance{Position: at(5)})
	wantMark(t, l, 5)
	apply(t, l, "b", cdc.Advance{Position: at(10), Children: []cdc.Child{merged}}) // told of twice, it is one
	wantMark(t, l, 10)                                                             // that of m, which has not begun
	wantStarted(t, l, "")                                                          // the child record is not the end
	apply(t, l, "b", cdc.Advance{Outcome: cdc.Ended})
	wantStarted(t, l, "m")
	if l.Discovered() != 3 {
		t.Errorf("%d partitions discovered, want 3", l.Discovered())
	}
	apply(t, l, "m", cdc.Advance{Position: at(11)})
	apply(t, l, "m", cdc.Advance{Position: at(12), Children: []cdc.Child{child("n", 12, "m")}, Outcome: cdc.Ended})
	var tokens []string
	for _, p := range l.Partitions() {
		tokens = append(tokens, p.Token)
	}
	if got := strings.Join(tokens, " "); got != "m n" { // m until n is past its end
		t.Errorf("the ledger still knows %q", got)
	}
}

// TestLedgerWaitsForUnknownParent has a child told of before one of its parents
// is, which a partition that is behind will tell of.
func TestLedgerWaitsForUnknownParent(t *testing.T) {
	l := begun(t)
	apply(t, l, "a", cdc.Advance{Position: at(20), Children: []cdc.Child{child("m", 20, "a", "c")}, Outcome: cdc.Ended})
	wantStarted(t, l, "")
	apply(t, l, "b", cdc.Advance{Position: at(10), Children: []cdc.Child{child("c", 10, "b")}, Outcome: cdc.Ended})
	wantStarted(t, l, "c")
	apply(t, l, "c", cdc.Advance{Position: at(20), Children: []cdc.Child{child("m", 20, "a", "c")}})
	wantStarted(t, l, "")
	apply(t, l, "c", cdc.Advance{Outcome: cdc.Ended})
	wantStarted(t, l, "m")
	if l.Stuck() || l.Done() {
		t.Error("the ledger is stuck or done")
	}
}

func TestLedgerMoves(t *testing.T) {
	l := begun(t)
	// b took keys over from a at 10, and a is behind.
	apply(t, l, "b", cdc.Advance{Position: at(10), Boundary: []cdc.Identity{{Sequence: "1"}}, Outcome: cdc.Parked,
		Awaits: []cdc.Await{{Token: "a", Until: at(10)}}})
	wantStarted(t, l, "")
	apply(t, l, "a", cdc.Advance{Position: at(10)})
	wantStarted(t, l, "") // there may be more of that time
	apply(t, l, "a", cdc.Advance{Position: at(10), MovedOut: []string{"b"}})
	p, ok := l.Next()
	if !ok || p.Token != "b" || p.Position != at(10) || len(p.Boundary) != 1 {
		t.Fatalf("started %+v, %v", p, ok)
	}
	// Now a from b, and b has passed that time.
	apply(t, l, "b", cdc.Advance{Position: at(30)})
	apply(t, l, "a", cdc.Advance{Position: at(20), Outcome: cdc.Parked, Awaits: []cdc.Await{{Token: "b", Until: at(20)}}})
	wantStarted(t, l, "a")
	// Each from the other, at one time.
	apply(t, l, "a", cdc.Advance{Position: at(40), Outcome: cdc.Parked, Awaits: []cdc.Await{{Token: "b", Until: at(40)}}})
	wantStarted(t, l, "")
	apply(t, l, "b", cdc.Advance{Position: at(40), Outcome: cdc.Parked, Awaits: []cdc.Await{{Token: "a", Until: at(40)}}})
	wantStarted(t, l, "a b")
	// From one that nobody has told of: when nobody is behind any more.
	apply(t, l, "a", cdc.Advance{Position: at(50), Outcome: cdc.Parked, Awaits: []cdc.Await{{Token: "x", Until: at(50)}}})
	wantStarted(t, l, "")
	apply(t, l, "b", cdc.Advance{Position: at(50)})
	wantStarted(t, l, "a")
}

func TestLedgerEndPosition(t *testing.T) {
	l := begun(t)
	apply(t, l, "a", cdc.Advance{Position: at(10), Outcome: cdc.AtEnd})
	if l.Done() {
		t.Fatal("done with b unread")
	}
	apply(t, l, "b", cdc.Advance{Position: at(10), Outcome: cdc.AtEnd})
	if !l.Done() || l.Running() != 0 || l.Queued() != 0 {
		t.Fatal("not done")
	}
	wantMark(t, l, 10)
	again, err := cdc.RestoreLedger(l.Partitions())
	if err != nil {
		t.Fatal(err)
	}
	wantStarted(t, again, "a b") // another run may go on
}

func TestLedgerRestore(t *testing.T) {
	l := begun(t)
	apply(t, l, "a", cdc.Advance{Position: at(10), Children: []cdc.Child{child("c", 10, "a"), child("d", 10, "a", "b")}, Outcome: cdc.Ended})
	wantStarted(t, l, "c")
	apply(t, l, "c", cdc.Advance{Position: at(30)})
	apply(t, l, "b", cdc.Advance{Position: at(4)})
	apply(t, l, "b", cdc.Advance{Position: at(5), Boundary: []cdc.Identity{{Transaction: "t", Sequence: "s"}}})
	again, err := cdc.RestoreLedger(l.Partitions())
	if err != nil {
		t.Fatal(err)
	}
	wantMark(t, again, 5)
	p, _ := again.Next()
	if p.Token != "b" || p.Position != at(5) || !slices.Equal(p.Boundary, []cdc.Identity{{Transaction: "t", Sequence: "s"}}) {
		t.Fatalf("the one that is behind is not first: %+v", p)
	}
	wantStarted(t, again, "c") // its parent a is known no more, or finished
	apply(t, again, "b", cdc.Advance{Position: at(10), Outcome: cdc.Ended})
	wantStarted(t, again, "d")
}

func TestLedgerRefuses(t *testing.T) {
	l := begun(t)
	for name, bad := range map[string]error{
		"progress of an unknown partition": l.Apply("x", cdc.Advance{}),
		"a step back": func() error {
			apply(t, l, "a", cdc.Advance{Position: at(9)})
			return l.Apply("a", cdc.Advance{Position: at(8)})
		}(),
		"a child without token":     l.Apply("a", cdc.Advance{Children: []cdc.Child{child("", 20, "a")}}),
		"a child before its parent": l.Apply("a", cdc.Advance{Children: []cdc.Child{{Token: "k", Start: at(0) - 1}}}),
	} {
		if bad == nil {
			t.Errorf("%s was taken", name)
		}
	}
	p := cdc.Partition{Token: "a", Start: at(1), Position: at(1)}
	back, finished, none := p, p, p
	back.Position = at(0)
	finished.State = cdc.Finished
	none.Position = 0
	for name, partitions := range map[string][]cdc.Partition{
		"nothing": nil, "twice": {p, p}, "position before start": {back}, "no position": {none}, "all finished": {finished},
	} {
		if _, err := cdc.RestoreLedger(partitions); err == nil {
			t.Errorf("%s was restored", name)
		}
	}
}

func TestLedgerStuck(t *testing.T) {
	l := begun(t)
	apply(t, l, "a", cdc.Advance{Position: at(10), Children: []cdc.Child{child("c", 10, "a", "ghost")}, Outcome: cdc.Ended})
	if l.Stuck() {
		t.Error("stuck while b may tell of the parent")
	}
	apply(t, l, "b", cdc.Advance{Position: at(20), Outcome: cdc.AtEnd})
	if !l.Stuck() {
		t.Error("not stuck")
	}
}
