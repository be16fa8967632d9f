package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

// onePartition keeps a stream's records together, so that the records of a
// transaction are counted in one place.
var onePartition = emulator.Options{ChangeStreams: emulator.ChangeStreams{Partitions: 1}}

// tail is a query of a change stream under way.
type tail struct {
	t      testing.TB
	stream interface {
		Recv() (*spannerpb.PartialResultSet, error)
	}
	cancel  context.CancelFunc
	pending []*structpb.Value
	tokens  [][]byte
	err     error
}

// readSQL is the call of a read function with literals; an empty end or token is
// NULL.
func readSQL(stream string, start, end time.Time, token string, heartbeat int) string {
	lit := func(t time.Time) string {
		if t.IsZero() {
			return "NULL"
		}
		return "'" + t.UTC().Format(time.RFC3339Nano) + "'"
	}
	tok := "NULL"
	if token != "" {
		tok = "'" + token + "'"
	}
	return fmt.Sprintf("SELECT ChangeRecord FROM READ_%s(%s, %s, %s, %d)", stream, lit(start), lit(end), tok, heartbeat)
}

func (f *fixture) tail(t testing.TB, sql string) *tail {
	t.Helper()
	return f.tailRequest(t, &spannerpb.ExecuteSqlRequest{Sql: sql})
}

func (f *fixture) tailRequest(t testing.TB, req *spannerpb.ExecuteSqlRequest) *tail {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	req.Session = f.session
	stream, err := f.api().ExecuteStreamingSql(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return &tail{t: t, stream: stream, cancel: cancel}
}

// next is the next change record; nil at the end, whose error is tail.err.
func (q *tail) next() *changeRecord {
	q.t.Helper()
	for len(q.pending) == 0 {
		msg, err := q.stream.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				q.err = err
			}
			return nil
		}
		if msg.GetChunkedValue() {
			q.t.Fatal("a change record was chunked")
		}
		q.pending = msg.GetValues()
		if len(msg.GetResumeToken()) > 0 {
			q.tokens = append(q.tokens, msg.GetResumeToken())
		}
	}
	v := q.pending[0]
	q.pending = q.pending[1:]
	return decodeChange(q.t, v)
}

// rest reads on to the end.
func (q *tail) rest() []*changeRecord {
	q.t.Helper()
	var out []*changeRecord
	for r := q.next(); r != nil; r = q.next() {
		out = append(out, r)
	}
	return out
}

// changeRecord is a row of a read function, by names.
type changeRecord struct {
	data      *dataRecord
	heartbeat string
	children  *childRecord
}

type dataRecord struct {
	commit, sequence, txn string
	last                  bool
	table                 string
	columns               []string // name type key ordinal
	mods                  []string // keys new old
	modType, capture      string
	records, partitions   string
	tag                   string
	system                bool
}

type childRecord struct {
	start, sequence string
	children        []childToken
}

type childToken struct {
	token   string
	parents []string
}

func elements(v *structpb.Value) []*structpb.Value { return v.GetListValue().GetValues() }

func decodeChange(t testing.TB, v *structpb.Value) *changeRecord {
	t.Helper()
	records := elements(v)
	if len(records) != 1 || len(elements(records[0])) != 3 {
		t.Fatalf("change record %s", protojson.Format(v))
	}
	out := &changeRecord{}
	n := 0
	for kind, list := range elements(records[0]) {
		for _, e := range elements(list) {
			n++
			switch kind {
			case 0:
				out.data = decodeData(elements(e))
			case 1:
				out.heartbeat = elements(e)[0].GetStringValue()
			case 2:
				out.children = decodeChildren(elements(e))
			}
		}
	}
	if n != 1 {
		t.Fatalf("%d elements in %s", n, protojson.Format(v))
	}
	return out
}

func decodeData(f []*structpb.Value) *dataRecord {
	d := &dataRecord{
		commit: f[0].GetStringValue(), sequence: f[1].GetStringValue(), txn: f[2].GetStringValue(), last: f[3].GetBoolValue(),
		table: f[4].GetStringValue(), modType: f[7].GetStringValue(), capture: f[8].GetStringValue(),
		records: f[9].GetStringValue(), partitions: f[10].GetStringValue(), tag: f[11].GetStringValue(), system: f[12].GetBoolValue(),
	}
	for _, c := range elements(f[5]) {
		e := elements(c)
		d.columns = append(d.columns, fmt.Sprintf("%s %s %v %s", e[0].GetStringValue(), e[1].GetStringValue(), e[2].GetBoolValue(), e[3].GetStringValue()))
	}
	for _, m := range elements(f[6]) {
		e := elements(m)
		d.mods = append(d.mods, e[0].GetStringValue()+" "+e[1].GetStringValue()+" "+e[2].GetStringValue())
	}
	return d
}

func decodeChildren(f []*structpb.Value) *childRecord {
	c := &childRecord{start: f[0].GetStringValue(), sequence: f[1].GetStringValue()}
	for _, e := range elements(f[2]) {
		child := childToken{token: elements(e)[0].GetStringValue(), parents: []string{}}
		for _, p := range elements(elements(e)[1]) {
			child.parents = append(child.parents, p.GetStringValue())
		}
		c.children = append(c.children, child)
	}
	return c
}

// names are the columns' names.
func (d *dataRecord) names() string {
	var out []string
	for _, c := range d.columns {
		name, _, _ := strings.Cut(c, " ")
		out = append(out, name)
	}
	return strings.Join(out, ",")
}

// now is a timestamp that every later commit is after.
func (f *fixture) now(t testing.TB) time.Time {
	t.Helper()
	_, at := f.commitTime(t)
	return at
}

// commitTime commits and gives the timestamp.
func (f *fixture) commitTime(t testing.TB, ms ...*spannerpb.Mutation) (*spannerpb.CommitResponse, time.Time) {
	t.Helper()
	resp, err := f.tryCommit(t, ms...)
	if err != nil {
		t.Fatal(err)
	}
	return resp, resp.GetCommitTimestamp().AsTime()
}

// tokens are the active partitions at a time, by an initial query.
func (f *fixture) tokens(t testing.TB, stream string, at time.Time) []string {
	t.Helper()
	q := f.tail(t, readSQL(stream, at, time.Time{}, "", 1000))
	var out []string
	for _, r := range q.rest() {
		for _, c := range r.children.children {
			out = append(out, c.token)
		}
	}
	if q.err != nil {
		t.Fatal(q.err)
	}
	return out
}

// changes are the data change records of a stream from one time to another,
// over all partitions, in order of transaction and sequence.
func (f *fixture) changes(t testing.TB, stream string, from, to time.Time) []*dataRecord {
	t.Helper()
	var out []*dataRecord
	seen := make(map[string]bool)
	type work struct {
		token string
		start time.Time
	}
	var queue []work
	for _, token := range f.tokens(t, stream, from) {
		queue = append(queue, work{token, from})
	}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		if seen[w.token] || w.start.After(to) {
			continue
		}
		seen[w.token] = true
		q := f.tail(t, readSQL(stream, w.start, to, w.token, 1000))
		for _, r := range q.rest() {
			switch {
			case r.data != nil:
				out = append(out, r.data)
			case r.children != nil:
				start, err := time.Parse(time.RFC3339Nano, r.children.start)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range r.children.children {
					queue = append(queue, work{c.token, start})
				}
			}
		}
		if q.err != nil {
			t.Fatal(q.err)
		}
	}
	slices.SortFunc(out, func(a, b *dataRecord) int { return strings.Compare(sortKey(a), sortKey(b)) })
	return out
}

func sortKey(d *dataRecord) string {
	at, _ := time.Parse(time.RFC3339Nano, d.commit)
	return at.Format("2006-01-02T15:04:05.000000") + d.txn + d.sequence
}

// committed are the records of one commit.
func (f *fixture) committed(t testing.TB, stream string, ms ...*spannerpb.Mutation) []*dataRecord {
	t.Helper()
	_, at := f.commitTime(t, ms...)
	return f.changes(t, stream, at, at)
}
