package emulator_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

// receiver is a client's side of a streamed result: it merges chunks and, as
// resuming needs it, forgets what came after the last token.
type receiver struct {
	t       testing.TB
	width   int
	values  []*structpb.Value
	pending bool // the last value is a chunk
	// covered is how many values the newest token covers.
	covered int
	token   []byte
	last    bool
}

func (r *receiver) add(m *spannerpb.PartialResultSet, first bool) {
	r.t.Helper()
	if (m.GetMetadata() != nil) != first {
		r.t.Fatalf("metadata %v on a message that is first: %v", m.GetMetadata(), first)
	}
	if first {
		r.width = len(m.GetMetadata().GetRowType().GetFields())
	}
	values := m.GetValues()
	if r.pending {
		if len(values) == 0 {
			r.t.Fatal("no value follows a chunk")
		}
		end := len(r.values) - 1
		r.values[end] = mergeChunks(r.values[end], values[0])
		values = values[1:]
	}
	r.values = append(r.values, values...)
	r.pending = m.GetChunkedValue()
	if token := m.GetResumeToken(); len(token) > 0 {
		if r.pending || len(r.values)%r.width != 0 || m.GetLast() || string(token) == string(r.token) {
			r.t.Fatalf("token on a message that does not end a row, or is last, or has the token before")
		}
		r.token, r.covered = token, len(r.values)
	}
	r.last = m.GetLast()
}

// rewind forgets what a resumed stream sends again.
func (r *receiver) rewind() {
	r.values, r.pending = r.values[:r.covered], false
}

func mergeChunks(a, b *structpb.Value) *structpb.Value {
	if _, ok := a.GetKind().(*structpb.Value_StringValue); ok {
		return structpb.NewStringValue(a.GetStringValue() + b.GetStringValue())
	}
	left, right := a.GetListValue().GetValues(), b.GetListValue().GetValues()
	if len(left) > 0 && len(right) > 0 {
		last, first := left[len(left)-1], right[0]
		_, lastText := last.GetKind().(*structpb.Value_StringValue)
		_, firstText := first.GetKind().(*structpb.Value_StringValue)
		if lastText && firstText {
			left, right = append(left[:len(left)-1:len(left)-1], mergeChunks(last, first)), right[1:]
		}
	}
	return structpb.NewListValue(&structpb.ListValue{Values: append(left[:len(left):len(left)], right...)})
}

// receive runs a stream to its end or first error.
func receive(r *receiver, recv func() (*spannerpb.PartialResultSet, error)) error {
	for n := 0; ; n++ {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			if n == 0 || r.pending || len(r.values)%max(r.width, 1) != 0 {
				r.t.Fatalf("stream ended after %d messages within a row", n)
			}
			return nil
		}
		if err != nil {
			return err
		}
		r.add(m, n == 0)
	}
}

func (f *fixture) read(t testing.TB, r *receiver, req *spannerpb.ReadRequest) error {
	t.Helper()
	req.Session, req.ResumeToken = f.session, r.token
	stream, err := f.api().StreamingRead(t.Context(), req)
	if err != nil {
		return err
	}
	return receive(r, stream.Recv)
}

func (f *fixture) query(t testing.TB, r *receiver, req *spannerpb.ExecuteSqlRequest) error {
	t.Helper()
	req.Session, req.ResumeToken = f.session, r.token
	stream, err := f.api().ExecuteStreamingSql(t.Context(), req)
	if err != nil {
		return err
	}
	return receive(r, stream.Recv)
}

const chunkDDL = `CREATE TABLE Chunks (K INT64 NOT NULL, S STRING(MAX), A ARRAY<STRING(MAX)>, B BOOL, N ARRAY<INT64>) PRIMARY KEY (K)`

var chunkColumns = []string{"K", "S", "A", "B", "N"}

func chunkFixture(t testing.TB, rows int) (*fixture, []*structpb.Value) {
	f := start(t, emulator.Options{}, chunkDDL)
	text := structpb.NewStringValue
	list := func(v ...*structpb.Value) *structpb.Value {
		return structpb.NewListValue(&structpb.ListValue{Values: v})
	}
	write := &spannerpb.Mutation_Write{Table: "Chunks", Columns: chunkColumns}
	var want []*structpb.Value
	for i := range rows {
		row := []*structpb.Value{text(fmt.Sprint(i)), text(strings.Repeat("aé日😀", i%7)), list(text("x"), text(""), structpb.NewNullValue(), text("yz"), text("日")), structpb.NewBoolValue(true), list(text("1"), text("22"))}
		if i%5 == 4 {
			row[1], row[2], row[4] = structpb.NewNullValue(), list(), structpb.NewNullValue()
		}
		write.Values = append(write.Values, &structpb.ListValue{Values: row})
		want = append(want, row...)
	}
	f.commit(t, &spannerpb.Mutation{Operation: &spannerpb.Mutation_Insert{Insert: write}})
	return f, want
}

func (f *fixture) commit(t testing.TB, ms ...*spannerpb.Mutation) {
	t.Helper()
	if _, err := f.tryCommit(t, ms...); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) tryCommit(t testing.TB, ms ...*spannerpb.Mutation) (*spannerpb.CommitResponse, error) {
	t.Helper()
	return f.api().Commit(t.Context(), &spannerpb.CommitRequest{
		Session:           f.session,
		ReturnCommitStats: true,
		Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
			Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}}}},
		Mutations: ms,
	})
}

func allChunks() *spannerpb.ReadRequest {
	return &spannerpb.ReadRequest{Table: "Chunks", Columns: chunkColumns, KeySet: &spannerpb.KeySet{All: true}}
}

func sameValues(t testing.TB, got, want []*structpb.Value) {
	t.Helper()
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Fatalf("values (-want +got)\n%s", d)
	}
}

// Every split size gives back the same values.
func TestChunks(t *testing.T) {
	f, want := chunkFixture(t, 20)
	for _, size := range []int{1, 2, 3, 4, 5, 7, 8, 11, 13, 17, 24, 40, 60} {
		f.srv.SetMessages(emulator.Messages{MaxBytes: size})
		r := &receiver{t: t}
		if err := f.read(t, r, allChunks()); err != nil {
			t.Fatal(err)
		}
		sameValues(t, r.values, want)
		if !r.last {
			t.Fatal("the last message is not marked")
		}
		r = &receiver{t: t}
		if err := f.query(t, r, &spannerpb.ExecuteSqlRequest{Sql: "SELECT * FROM Chunks"}); err != nil {
			t.Fatal(err)
		}
		sameValues(t, r.values, want)
	}
}

// A stream broken after every n-th message, with tokens as the options say,
// gives every row once, even though rows are written in between.
func TestResume(t *testing.T) {
	for name, m := range map[string]emulator.Messages{
		"row by row":     {MaxRows: 1},
		"chunked":        {MaxBytes: 7},
		"rare tokens":    {MaxRows: 2, TokenEvery: 3},
		"chunks of rows": {MaxRows: 3, MaxBytes: 40},
	} {
		t.Run(name, func(t *testing.T) {
			f, want := chunkFixture(t, 12)
			f.srv.SetMessages(m)
			for _, cut := range []int{1, 2, 3, 7} {
				for kind, run := range map[string]func(r *receiver) error{
					"StreamingRead": func(r *receiver) error { return f.read(t, r, allChunks()) },
					"ExecuteStreamingSql": func(r *receiver) error {
						return f.query(t, r, &spannerpb.ExecuteSqlRequest{Sql: "SELECT * FROM Chunks"})
					},
				} {
					// Streams that make progress are cut after the same number of
					// messages, others later and later.
					extra := 0
					f.srv.Faults().SetFunc(func(method string, _ int) *emulator.Fault {
						if method != kind {
							return nil
						}
						return &emulator.Fault{Code: codes.Unavailable, AfterMessages: cut + extra}
					})
					r := &receiver{t: t}
					for attempt := 0; ; attempt++ {
						covered := r.covered
						err := run(r)
						if err == nil {
							break
						}
						if status.Code(err) != codes.Unavailable || attempt > 1000 {
							t.Fatalf("cut after %d, attempt %d: %v", cut, attempt, err)
						}
						r.rewind()
						if r.covered == covered {
							extra++
						}
						if r.token != nil {
							// Without a token the read begins anew, and would see it.
							f.commit(t, insertLater(attempt))
						}
					}
					f.srv.Faults().Clear()
					sameValues(t, r.values, want)
					f.commit(t, deleteFrom(1000))
				}
			}
		})
	}
}

// insertLater writes a row behind all others.
func insertLater(n int) *spannerpb.Mutation {
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_InsertOrUpdate{InsertOrUpdate: &spannerpb.Mutation_Write{
		Table: "Chunks", Columns: []string{"K"}, Values: []*structpb.ListValue{{Values: []*structpb.Value{structpb.NewStringValue(fmt.Sprint(1000 + n))}}}}}}
}

func deleteFrom(k int) *spannerpb.Mutation {
	bound := func(s ...*structpb.Value) *structpb.ListValue { return &structpb.ListValue{Values: s} }
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Delete_{Delete: &spannerpb.Mutation_Delete{Table: "Chunks", KeySet: &spannerpb.KeySet{
		Ranges: []*spannerpb.KeyRange{{
			StartKeyType: &spannerpb.KeyRange_StartClosed{StartClosed: bound(structpb.NewStringValue(fmt.Sprint(k)))},
			EndKeyType:   &spannerpb.KeyRange_EndClosed{EndClosed: bound()},
		}}}}}}
}

func TestMessageOptions(t *testing.T) {
	f, _ := chunkFixture(t, 10)
	count := func(m emulator.Messages) (messages, tokens int, last bool) {
		f.srv.SetMessages(m)
		req := allChunks()
		req.Session = f.session
		stream, err := f.api().StreamingRead(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return messages, tokens, last
			}
			if err != nil {
				t.Fatal(err)
			}
			messages++
			if len(m.GetResumeToken()) > 0 {
				tokens++
			}
			last = m.GetLast()
		}
	}
	for _, c := range []struct {
		m                emulator.Messages
		messages, tokens int
		last             bool
	}{
		{emulator.Messages{}, 1, 0, true},
		{emulator.Messages{MaxRows: 1}, 10, 9, true},
		{emulator.Messages{MaxRows: 1, TokenEvery: 4}, 10, 2, true},
		{emulator.Messages{MaxRows: 1, Tokens: emulator.NoTokens, NoLast: true}, 10, 0, false},
	} {
		if messages, tokens, last := count(c.m); messages != c.messages || tokens != c.tokens || last != c.last {
			t.Errorf("%+v: %d messages, %d tokens, last %v", c.m, messages, tokens, last)
		}
	}
}

func TestFaults(t *testing.T) {
	f, want := chunkFixture(t, 3)
	f.srv.Faults().Set(emulator.Rule{Method: "StreamingRead", From: 2, Every: 3, Fault: emulator.Fault{Code: codes.Unavailable, Message: "planned"}})
	var got []codes.Code
	for range 6 {
		got = append(got, status.Code(f.read(t, &receiver{t: t}, allChunks())))
	}
	wantCodes := []codes.Code{codes.OK, codes.Unavailable, codes.OK, codes.OK, codes.Unavailable, codes.OK}
	if d := cmp.Diff(wantCodes, got); d != "" {
		t.Errorf("codes (-want +got)\n%s", d)
	}
	f.srv.Faults().Set(emulator.Rule{Method: "Commit", Fault: emulator.Fault{Code: codes.Unavailable, AfterWork: true}})
	if _, err := f.tryCommit(t, deleteFrom(0)); status.Code(err) != codes.Unavailable {
		t.Errorf("lost answer: %v", err)
	}
	r := &receiver{t: t}
	if err := f.read(t, r, allChunks()); err != nil || len(r.values) != 0 {
		t.Errorf("%d of %d values left after a commit whose answer was lost, error %v", len(r.values), len(want), err)
	}
	if n := f.srv.Faults().Calls("Commit"); n != 1 {
		t.Errorf("%d calls of Commit", n)
	}
}

func TestResumeTokenOfAnotherRequest(t *testing.T) {
	f, _ := chunkFixture(t, 3)
	f.srv.SetMessages(emulator.Messages{MaxRows: 1})
	r := &receiver{t: t}
	if err := f.read(t, r, allChunks()); err != nil {
		t.Fatal(err)
	}
	other := allChunks()
	other.Columns = []string{"K"}
	if err := f.read(t, r, other); status.Code(err) != codes.InvalidArgument {
		t.Errorf("error %v", err)
	}
}
