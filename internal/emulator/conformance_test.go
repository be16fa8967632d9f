package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

// Schemas that the lines of the conformance list share.
var (
	schemaU  = []string{`CREATE TABLE Users (ID INT64 NOT NULL, Name STRING(MAX), Age INT64) PRIMARY KEY (ID)`}
	schemaUN = []string{`CREATE TABLE Users (ID INT64, Name STRING(MAX), Age INT64) PRIMARY KEY (ID)`}
	schemaIX = append(append([]string(nil), schemaU...),
		`CREATE INDEX UsersByName ON Users(Name)`,
		`CREATE INDEX UsersByNameDescending ON Users(Name DESC)`,
		`CREATE NULL_FILTERED INDEX UsersByNameNullFiltered ON Users(Name, Age)`,
		`CREATE UNIQUE INDEX UsersByNameAgeUnique ON Users(Name, Age)`,
		`CREATE UNIQUE NULL_FILTERED INDEX UsersByNameUniqueFiltered ON Users(Name)`)
	schemaIL = []string{
		`CREATE TABLE Users (UserId INT64 NOT NULL, Name STRING(MAX)) PRIMARY KEY (UserId)`,
		`CREATE TABLE Threads (UserId INT64 NOT NULL, ThreadId INT64 NOT NULL, Starred BOOL) PRIMARY KEY (UserId, ThreadId), INTERLEAVE IN PARENT Users ON DELETE CASCADE`,
		`CREATE TABLE Messages (UserId INT64 NOT NULL, ThreadId INT64 NOT NULL, MessageId INT64 NOT NULL, Subject STRING(MAX)) PRIMARY KEY (UserId, ThreadId, MessageId), INTERLEAVE IN PARENT Threads ON DELETE CASCADE`,
		`CREATE TABLE Snoozes (UserId INT64 NOT NULL, ThreadId INT64 NOT NULL, SnoozeId INT64 NOT NULL) PRIMARY KEY (UserId, ThreadId, SnoozeId), INTERLEAVE IN PARENT Threads ON DELETE NO ACTION`,
	}
	schemaFK = []string{
		`CREATE TABLE T (A INT64 NOT NULL, B INT64) PRIMARY KEY (A)`,
		`CREATE TABLE U (X INT64 NOT NULL, Y INT64, Z INT64, CONSTRAINT fk FOREIGN KEY (Y, Z) REFERENCES T (A, B)) PRIMARY KEY (X)`,
	}
	schemaCascade = []string{
		`CREATE TABLE R (A INT64 NOT NULL, V INT64) PRIMARY KEY (A)`,
		`CREATE TABLE C (X INT64 NOT NULL, A INT64, CONSTRAINT fkc FOREIGN KEY (A) REFERENCES R (A) ON DELETE CASCADE) PRIMARY KEY (X)`,
	}
)

// val is the google.protobuf.Value of a test's literal: ints travel as text.
func val(x any) *structpb.Value {
	switch x := x.(type) {
	case nil:
		return structpb.NewNullValue()
	case *structpb.Value:
		return x
	case int:
		return structpb.NewStringValue(fmt.Sprint(x))
	case bool:
		return structpb.NewBoolValue(x)
	case float64:
		return structpb.NewNumberValue(x)
	case string:
		return structpb.NewStringValue(x)
	case []any:
		return structpb.NewListValue(key(x...))
	}
	panic(fmt.Sprintf("no value for %T", x))
}

func key(parts ...any) *structpb.ListValue {
	l := &structpb.ListValue{}
	for _, p := range parts {
		l.Values = append(l.Values, val(p))
	}
	return l
}

func write(table, columns string, rows ...[]any) *spannerpb.Mutation_Write {
	w := &spannerpb.Mutation_Write{Table: table}
	if columns != "" {
		w.Columns = strings.Split(columns, ",")
	}
	for _, r := range rows {
		w.Values = append(w.Values, key(r...))
	}
	return w
}

func row(cells ...any) []any { return cells }

func insert(table, columns string, rows ...[]any) *spannerpb.Mutation {
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Insert{Insert: write(table, columns, rows...)}}
}

func update(table, columns string, rows ...[]any) *spannerpb.Mutation {
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Update{Update: write(table, columns, rows...)}}
}

func upsert(table, columns string, rows ...[]any) *spannerpb.Mutation {
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_InsertOrUpdate{InsertOrUpdate: write(table, columns, rows...)}}
}

func replace(table, columns string, rows ...[]any) *spannerpb.Mutation {
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Replace{Replace: write(table, columns, rows...)}}
}

func deleteKeys(table string, keys ...*structpb.ListValue) *spannerpb.Mutation {
	return deleteSet(table, &spannerpb.KeySet{Keys: keys})
}

func deleteSet(table string, set *spannerpb.KeySet) *spannerpb.Mutation {
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Delete_{Delete: &spannerpb.Mutation_Delete{Table: table, KeySet: set}}}
}

// keyRange is a range with its ends written as brackets: "[)" is closed-open.
func keyRange(kind string, start, end *structpb.ListValue) *spannerpb.KeyRange {
	r := &spannerpb.KeyRange{}
	if kind[0] == '[' {
		r.StartKeyType = &spannerpb.KeyRange_StartClosed{StartClosed: start}
	} else {
		r.StartKeyType = &spannerpb.KeyRange_StartOpen{StartOpen: start}
	}
	if kind[1] == ']' {
		r.EndKeyType = &spannerpb.KeyRange_EndClosed{EndClosed: end}
	} else {
		r.EndKeyType = &spannerpb.KeyRange_EndOpen{EndOpen: end}
	}
	return r
}

func ranges(r ...*spannerpb.KeyRange) *spannerpb.KeySet { return &spannerpb.KeySet{Ranges: r} }

func deleteRange(table, kind string, start, end *structpb.ListValue) *spannerpb.Mutation {
	return deleteSet(table, ranges(keyRange(kind, start, end)))
}

// cells spells the result of a read: rows by |, cells by comma, NULL as -.
func (f *fixture) cells(t testing.TB, table, index, columns string, set *spannerpb.KeySet) string {
	t.Helper()
	r := &receiver{t: t}
	req := &spannerpb.ReadRequest{Table: table, Index: index, Columns: strings.Split(columns, ","), KeySet: set}
	if err := f.read(t, r, req); err != nil {
		t.Fatalf("read %s: %v", table, err)
	}
	return spell(r)
}

func spell(r *receiver) string {
	var out strings.Builder
	for i, v := range r.values {
		switch {
		case i > 0 && i%r.width == 0:
			out.WriteByte('|')
		case i > 0:
			out.WriteByte(',')
		}
		switch k := v.GetKind().(type) {
		case *structpb.Value_NullValue:
			out.WriteByte('-')
		case *structpb.Value_StringValue:
			out.WriteString(k.StringValue)
		default:
			fmt.Fprint(&out, v.AsInterface())
		}
	}
	return out.String()
}

func all() *spannerpb.KeySet { return &spannerpb.KeySet{All: true} }

// commitCase is one line: commits in order, the last of which has an outcome,
// and what a table holds afterwards.
type commitCase struct {
	id      string
	schema  []string
	before  [][]*spannerpb.Mutation
	commit  []*spannerpb.Mutation
	code    codes.Code
	text    string // in the message of the error
	table   string
	columns string
	want    string
}

func ms(m ...*spannerpb.Mutation) []*spannerpb.Mutation { return m }

func before(m ...*spannerpb.Mutation) [][]*spannerpb.Mutation { return [][]*spannerpb.Mutation{m} }

func runCommits(t *testing.T, cases []commitCase) {
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			f := start(t, emulator.Options{}, c.schema...)
			for _, b := range c.before {
				f.commit(t, b...)
			}
			_, err := f.tryCommit(t, c.commit...)
			if status.Code(err) != c.code || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Fatalf("commit: %v, want %v %q", err, c.code, c.text)
			}
			if c.table == "" {
				return
			}
			if got := f.cells(t, c.table, "", c.columns, all()); got != c.want {
				t.Errorf("%s holds %q, want %q", c.table, got, c.want)
			}
		})
	}
}

func TestConformanceMutations(t *testing.T) {
	il := before(
		insert("Users", "UserId", row(1), row(2), row(3)),
		insert("Threads", "UserId,ThreadId", row(1, 1), row(1, 2), row(1, 3), row(1, 4), row(2, 1), row(3, 1)),
		insert("Messages", "UserId,ThreadId,MessageId", row(1, 1, 1), row(2, 1, 1)))
	del := func(kind string, start, end *structpb.ListValue) []*spannerpb.Mutation {
		return ms(deleteRange("Threads", kind, start, end))
	}
	threads := func(id string, kind string, start, end *structpb.ListValue, code codes.Code, want string) commitCase {
		return commitCase{id: id, schema: schemaIL, before: il, commit: del(kind, start, end), code: code, table: "Threads", columns: "UserId,ThreadId", want: want}
	}
	singleton := []string{`CREATE TABLE One (V INT64) PRIMARY KEY ()`}
	arrays := []string{`CREATE TABLE A (K INT64 NOT NULL, X ARRAY<INT64>, Y ARRAY<STRING(3)>) PRIMARY KEY (K)`}
	user := insert("Users", "ID,Name,Age", row(1, "Adam", 20))
	runCommits(t, []commitCase{
		{id: "E10", schema: schemaU, before: before(user), commit: ms(user), code: codes.AlreadyExists, text: "[1]"},
		{id: "E11", schema: schemaU, commit: ms(user, user), code: codes.InvalidArgument, table: "Users", columns: "ID"},
		{id: "E12", schema: schemaU, commit: ms(update("Users", "ID", row(9))), code: codes.NotFound},
		{id: "E13", schema: schemaU, commit: ms(deleteKeys("Users", key(9)))},
		{id: "E14", schema: schemaU, commit: ms(insert("Users", "ID,Name,Name", row(1, "a", "b"))), code: codes.InvalidArgument, text: "Multiple values for column Name"},
		{id: "E15", schema: schemaU, commit: ms(insert("Users", "ID,Name,Age", row(1, "a"))), code: codes.InvalidArgument},
		{id: "E16", schema: singleton, before: before(insert("One", "", row())), commit: ms(insert("One", "", row())), code: codes.AlreadyExists},
		{id: "E17", schema: singleton, before: before(insert("One", "V", row(5))), commit: ms(deleteKeys("One", key())), table: "One", columns: "V"},
		threads("E18", "[)", key(1, 1), key(1, 4), codes.OK, "1,4|2,1|3,1"),
		threads("E19a", "[)", key(1), key(2), codes.OK, "2,1|3,1"),
		threads("E19b", "[]", key(1), key(2), codes.OK, "3,1"),
		threads("E19c", "()", key(1), key(3), codes.OK, "1,1|1,2|1,3|1,4|3,1"),
		threads("E19d", "(]", key(1), key(2), codes.OK, "1,1|1,2|1,3|1,4|3,1"),
		threads("E20", "()", key(1, 1), key(1, 1), codes.OK, "1,1|1,2|1,3|1,4|2,1|3,1"),
		threads("E21", "[]", key(1, 1), key(1), codes.OK, "2,1|3,1"),
		threads("E22", "[]", key(1, 3), key(2, 2), codes.Unimplemented, "1,1|1,2|1,3|1,4|2,1|3,1"),
		threads("E23", "()", key(1, 2), key(1, 1), codes.OK, "1,1|1,2|1,3|1,4|2,1|3,1"),
		{id: "E24", schema: arrays, before: before(insert("A", "K,X,Y", row(1, []any{1}, []any{"a"}))), commit: ms(replace("A", "K,X", row(1, []any{2}))), table: "A", columns: "K,Y", want: "1,-"},
		{id: "E25", schema: schemaU, before: before(user), commit: ms(update("Users", "ID", row(1))), table: "Users", columns: "ID,Name,Age", want: "1,Adam,20"},
		{id: "E28a", schema: schemaU, commit: ms(insert("", "ID", row(1))), code: codes.InvalidArgument, text: "does not specify table"},
		{id: "E28b", schema: schemaIL, commit: ms(insert("Users", "uSERiD,UserId", row(1, 1))), code: codes.InvalidArgument},
		{id: "E28c", schema: schemaU, commit: ms(insert("Users", "ID", row("2015-01-02T03:04:05Z"))), code: codes.FailedPrecondition},
		{id: "E28d", schema: schemaIL, before: il, commit: ms(update("Threads", "UserId,Starred", row(1, true))), code: codes.FailedPrecondition},
		{id: "E28e1", schema: schemaU, commit: ms(insert("Users", "ID,Nope", row(1, 1))), code: codes.NotFound, text: "Nope"},
		{id: "E28e2", schema: schemaU, commit: ms(insert("Nope", "ID", row(1))), code: codes.NotFound, text: "Nope"},
		{id: "E29a", schema: schemaU, before: before(user), commit: ms(deleteKeys("Users", key(1)), insert("Users", "ID,Age", row(1, 5))), table: "Users", columns: "ID,Name,Age", want: "1,-,5"},
		{id: "E29b", schema: schemaU, commit: ms(user, deleteKeys("Users", key(1))), table: "Users", columns: "ID"},
		{id: "E29c", schema: schemaU, commit: ms(user, update("Users", "ID,Age", row(1, 6)), update("Users", "ID,Name", row(1, "B"))), table: "Users", columns: "ID,Name,Age", want: "1,B,6"},
		{id: "E29d", schema: schemaU, before: before(user), commit: ms(deleteKeys("Users", key(1)), update("Users", "ID,Age", row(1, 6))), code: codes.InvalidArgument, text: "deleted and then updated"},
		{id: "B15", schema: schemaU, commit: ms(insert("FAKE_TABLE", "ID", row(1)), user), code: codes.NotFound, table: "Users", columns: "ID"},
		{id: "B16", schema: schemaU, commit: ms(user, update("Users", "ID,Age", row(22, 1))), code: codes.NotFound, table: "Users", columns: "ID"},
		{id: "B17", schema: schemaU, commit: ms(user, update("Users", "ID,Fake", row(1, 1))), code: codes.NotFound, table: "Users", columns: "ID"},
		{id: "C13", schema: schemaU, commit: ms(insert("uSERS", "iD,nAME", row(1, "x"))), table: "Users", columns: "ID,Name", want: "1,x"},
	})
	t.Run("E26", func(t *testing.T) {
		// A row counts a column and 99 indexes.
		schema := []string{`CREATE TABLE M (K INT64 NOT NULL, V INT64) PRIMARY KEY (K)`}
		for i := range 99 {
			schema = append(schema, fmt.Sprintf("CREATE NULL_FILTERED INDEX M%d ON M(V)", i))
		}
		f := start(t, emulator.Options{}, schema...)
		var rows [][]any
		for i := range 801 {
			rows = append(rows, row(i))
		}
		_, err := f.tryCommit(t, insert("M", "K", rows...))
		wantCode(t, err, codes.InvalidArgument, "The transaction contains too many mutations.", "(Maximum number: 80000)")
		if details := status.Convert(err).Details(); len(details) != 1 || details[0].(*errdetails.Help).GetLinks()[0].GetDescription() != "Cloud Spanner limits documentation." {
			t.Errorf("details %v", details)
		}
		// The limit is each group's own.
		got, err := f.batchWrite(t, f.session, ms(insert("M", "K", rows[:400]...)), ms(insert("M", "K", rows[400:800]...)), ms(replace("M", "K", rows...)))
		if err != nil || got[0] != codes.OK || got[1] != codes.OK || got[2] != codes.InvalidArgument {
			t.Errorf("groups %v, error %v", got, err)
		}
		resp, err := f.tryCommit(t, upsert("M", "K", rows[:800]...))
		if err != nil || resp.GetCommitStats().GetMutationCount() != 800 {
			t.Errorf("stats %v, error %v", resp.GetCommitStats(), err)
		}
		resp, err = f.tryCommit(t, deleteSet("M", all()))
		if err != nil || resp.GetCommitStats().GetMutationCount() != 1+99*800 {
			t.Errorf("stats %v, error %v", resp.GetCommitStats(), err)
		}
	})
	t.Run("E27", func(t *testing.T) {
		f := start(t, emulator.Options{}, schemaU...)
		resp, err := f.tryCommit(t, insert("Users", "ID,Name,Age", row(1, "a", 1), row(2, "b", 2)))
		if err != nil || resp.GetCommitStats().GetMutationCount() != 6 {
			t.Fatalf("stats %v, error %v", resp.GetCommitStats(), err)
		}
	})
}

func TestConformanceConstraints(t *testing.T) {
	f01 := []string{`CREATE TABLE t (id1 INT64 NOT NULL, stringcol STRING(5) NOT NULL, bytescol BYTES(30)) PRIMARY KEY (id1)`}
	have := before(insert("t", "id1,stringcol", row(1, "abc")))
	nullable := []string{`CREATE TABLE k (key1 STRING(MAX) NOT NULL, key2 STRING(MAX)) PRIMARY KEY (key1, key2)`}
	arrays := []string{`CREATE TABLE A (K INT64 NOT NULL, Y ARRAY<STRING(3)>, Z ARRAY<STRING(MAX)>) PRIMARY KEY (K)`}
	quarter := strings.Repeat("x", 250_000)
	adam := insert("Users", "ID,Name,Age", row(1, "Adam", 20))
	user1 := insert("Users", "UserId", row(1))
	thread := insert("Threads", "UserId,ThreadId", row(1, 1))
	snooze := insert("Snoozes", "UserId,ThreadId,SnoozeId", row(1, 1, 1))
	message := insert("Messages", "UserId,ThreadId,MessageId", row(1, 1, 1))
	inIL := []string{schemaIL[0], `CREATE TABLE L (UserId INT64 NOT NULL, X INT64 NOT NULL) PRIMARY KEY (UserId, X), INTERLEAVE IN Users`}
	notEnforced := []string{schemaFK[0], `CREATE TABLE U (X INT64 NOT NULL, Y INT64, CONSTRAINT fk FOREIGN KEY (Y) REFERENCES T (A) NOT ENFORCED) PRIMARY KEY (X)`}
	generated := []string{`CREATE TABLE t (K INT64 NOT NULL, V INT64, D1 INT64 NOT NULL DEFAULT (1), D2 INT64 NOT NULL DEFAULT (2), G1 INT64 AS (D1 + 1) STORED, G3 INT64 AS (V * 2) STORED,
		CONSTRAINT big CHECK (G3 > 10), CONSTRAINT v_gt_zero CHECK (V > 0)) PRIMARY KEY (K)`}
	stamps := []string{`CREATE TABLE t (K INT64 NOT NULL, Ts TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true), Plain TIMESTAMP, N INT64) PRIMARY KEY (K, Ts)`}
	const sentinel = "spanner.commit_timestamp()"
	runCommits(t, []commitCase{
		{id: "F01", schema: f01, commit: ms(insert("t", "id1", row(1))), code: codes.FailedPrecondition, text: "stringcol"},
		{id: "F02", schema: f01, commit: ms(insert("t", "id1,stringcol", row(2, nil))), code: codes.FailedPrecondition},
		{id: "F03", schema: f01, before: have, commit: ms(upsert("t", "id1,bytescol", row(1, "AA=="))), code: codes.FailedPrecondition},
		{id: "F04", schema: f01, before: have, commit: ms(replace("t", "id1,bytescol", row(1, "AA=="))), code: codes.FailedPrecondition},
		{id: "F05", schema: f01, before: have, commit: ms(update("t", "id1,bytescol", row(1, "AA=="))), table: "t", columns: "id1,stringcol,bytescol", want: "1,abc,AA=="},
		{id: "F06", schema: f01, commit: ms(insert("t", "id1,stringcol", row(1, "😀😀😀😀😀")))},
		{id: "F06b", schema: f01, commit: ms(insert("t", "id1,stringcol", row(1, "sixsix"))), code: codes.FailedPrecondition, text: "exceeds the maximum size limit"},
		{id: "F07", schema: arrays, commit: ms(insert("A", "K,Y", row(1, []any{"abc", "abcd"}))), code: codes.FailedPrecondition},
		{id: "F08", schema: arrays, commit: ms(insert("A", "K,Z", row(1, []any{quarter, quarter, quarter, quarter})))},
		{id: "F09", schema: nullable, commit: ms(insert("k", "key2", row("x"))), code: codes.FailedPrecondition},
		{id: "F10", schema: nullable, commit: ms(insert("k", "key1", row("x")), insert("k", "key1,key2", row("y", nil))), table: "k", columns: "key1,key2", want: "x,-|y,-"},
		{id: "F11", schema: nullable, commit: ms(insert("k", "key1,key2", row(strings.Repeat("x", 8192), "y"))), code: codes.InvalidArgument},
		{id: "F12", schema: schemaIX, commit: ms(insert("Users", "ID,Name", row(1, strings.Repeat("x", 8192)))), code: codes.InvalidArgument},
		{id: "F13a", schema: schemaIX, before: before(adam), commit: ms(insert("Users", "ID,Name,Age", row(2, "Adam", 20))), code: codes.AlreadyExists, text: "UsersByName"},
		{id: "F13b", schema: schemaIX, before: before(insert("Users", "ID,Age", row(1, 41))), commit: ms(insert("Users", "ID,Age", row(2, 41))), code: codes.AlreadyExists},
		{id: "F14", schema: schemaIX, commit: ms(insert("Users", "ID", row(0)), insert("Users", "ID", row(1))), code: codes.AlreadyExists},
		{id: "F15a", schema: schemaIX, before: before(insert("Users", "ID,Age", row(1, 1))), commit: ms(insert("Users", "ID,Age", row(2, 2)))},
		{id: "F15b", schema: schemaIX, before: before(insert("Users", "ID,Name,Age", row(1, "", 1))), commit: ms(insert("Users", "ID,Name,Age", row(2, "", 2))), code: codes.AlreadyExists},
		{id: "F16", schema: schemaIL, commit: ms(thread), code: codes.NotFound, text: "Parent row"},
		{id: "F17a", schema: schemaIL, commit: ms(user1, thread)},
		{id: "F17b", schema: schemaIL, commit: ms(thread, user1), code: codes.InvalidArgument},
		{id: "F18", schema: schemaIL, before: before(user1, thread, message), commit: ms(deleteKeys("Users", key(1)), deleteKeys("Users", key(1))), table: "Messages", columns: "UserId"},
		{id: "F19", schema: schemaIL, before: before(insert("Users", "UserId", row(1), row(2)), insert("Threads", "UserId,ThreadId", row(1, 1), row(2, 1)), insert("Messages", "UserId,ThreadId,MessageId", row(1, 1, 1), row(2, 1, 1))),
			commit: ms(deleteRange("Threads", "(]", key(1), key(2))), table: "Messages", columns: "UserId", want: "1"},
		{id: "F20a", schema: schemaIL, before: before(user1, thread, snooze), commit: ms(deleteKeys("Threads", key(1, 1))), code: codes.FailedPrecondition, text: "child row"},
		{id: "F20b", schema: schemaIL, before: before(user1, thread, snooze), commit: ms(deleteKeys("Users", key(1))), code: codes.FailedPrecondition, table: "Threads", columns: "ThreadId", want: "1"},
		{id: "F21a", schema: schemaIL, before: before(user1, thread, snooze), commit: ms(deleteKeys("Snoozes", key(1, 1, 1)), deleteKeys("Threads", key(1, 1)))},
		{id: "F21b", schema: schemaIL, before: before(user1, thread, snooze), commit: ms(deleteKeys("Threads", key(1, 1)), deleteKeys("Snoozes", key(1, 1, 1))), code: codes.FailedPrecondition},
		{id: "F22a", schema: schemaIL, before: before(user1, thread, snooze), commit: ms(replace("Threads", "UserId,ThreadId", row(1, 1))), code: codes.FailedPrecondition},
		{id: "F22b", schema: schemaIL, before: before(user1, thread, snooze), commit: ms(deleteKeys("Snoozes", key(1, 1, 1)), replace("Threads", "UserId,ThreadId", row(1, 1)))},
		{id: "F23", schema: schemaIL, before: before(user1, thread, message), commit: ms(replace("Threads", "UserId,ThreadId", row(1, 1))), table: "Messages", columns: "UserId"},
		{id: "F24", schema: inIL, commit: ms(insert("L", "UserId,X", row(1, 1)), user1)},
		{id: "F25", schema: schemaFK, commit: ms(insert("U", "X,Y,Z", row(1, 2, 3)), insert("T", "A,B", row(2, 3)))},
		{id: "F26", schema: schemaFK, commit: ms(insert("U", "X,Y,Z", row(1, 2, 4)), insert("T", "A,B", row(2, 3))), code: codes.FailedPrecondition, text: "Foreign key constraint `fk` is violated"},
		{id: "F27a", schema: schemaFK, before: before(insert("T", "A,B", row(2, 3))), commit: ms(insert("U", "X,Y,Z", row(1, 9, 9)), update("U", "X,Y,Z", row(1, 2, 3)))},
		{id: "F27b", schema: schemaFK, before: before(insert("T", "A,B", row(2, 3))), commit: ms(insert("U", "X,Y,Z", row(1, 2, 3)), update("U", "X,Y,Z", row(1, 9, 9))), code: codes.FailedPrecondition},
		{id: "F28", schema: schemaFK, commit: ms(insert("U", "X,Y,Z", row(1, 2, 3)), deleteKeys("U", key(1)))},
		{id: "F29", schema: schemaFK, commit: ms(insert("U", "X,Y", row(1, 2)))},
		{id: "F30", schema: schemaFK, before: before(insert("T", "A,B", row(2, 3)), insert("U", "X,Y,Z", row(1, 2, 3))), commit: ms(deleteKeys("T", key(2)), deleteKeys("U", key(1)))},
		{id: "F31", schema: schemaFK, before: before(insert("T", "A,B", row(2, 3)), insert("U", "X,Y,Z", row(1, 2, 3))), commit: ms(deleteKeys("T", key(2))), code: codes.FailedPrecondition, text: "referencing row(s) found"},
		{id: "F33", schema: notEnforced, commit: ms(insert("U", "X,Y", row(1, 2)))},
		{id: "F34", schema: schemaCascade, before: before(insert("R", "A", row(1), row(2)), insert("C", "X,A", row(1, 1), row(2, 2), row(3, 1))), commit: ms(deleteKeys("R", key(1))), table: "C", columns: "X", want: "2"},
		{id: "F35", schema: schemaCascade, commit: ms(insert("R", "A", row(1)), deleteKeys("R", key(1))), code: codes.FailedPrecondition, text: "Cannot write a value for the referenced column"},
		{id: "F36", schema: schemaCascade, commit: ms(deleteRange("R", "[]", key(2), key(3)), insert("R", "A", row(2))), code: codes.FailedPrecondition},
		{id: "F37", schema: schemaCascade, before: before(insert("R", "A", row(1))), commit: ms(insert("R", "A", row(2)), deleteKeys("R", key(1)), insert("C", "X,A", row(1, 2)))},
		{id: "F38", schema: schemaCascade, before: before(insert("R", "A", row(3))), commit: ms(insert("C", "X,A", row(1, 3)), deleteKeys("R", key(3))), code: codes.FailedPrecondition, text: "is violated on table"},
		{id: "F40a", schema: generated, commit: ms(insert("t", "K,V", row(1, -1))), code: codes.OutOfRange, text: "Check constraint"},
		{id: "F40b", schema: generated, commit: ms(insert("t", "K,V", row(1, nil)))},
		{id: "F41", schema: generated, commit: ms(insert("t", "K,V", row(1, -1)), update("t", "K,V", row(1, 1)), update("t", "K,V", row(1, 6)))},
		{id: "F42", schema: generated, commit: ms(insert("t", "K,V", row(1, 1))), code: codes.OutOfRange, text: "`t`.`big`"},
		{id: "F43", schema: generated, commit: ms(insert("t", "K", row(1))), table: "t", columns: "K,D1,D2,G1", want: "1,1,2,2"},
		{id: "F44", schema: generated, before: before(insert("t", "K,D1", row(1, 7))), commit: ms(upsert("t", "K,D2", row(1, 5))), table: "t", columns: "K,D1,D2,G1", want: "1,7,5,8"},
		{id: "F45", schema: generated, before: before(insert("t", "K,D1", row(1, 7))), commit: ms(replace("t", "K,D2", row(1, 5))), table: "t", columns: "K,D1,D2,G1", want: "1,1,5,2"},
		{id: "F46", schema: generated, commit: ms(insert("t", "K,D2", row(1, nil))), code: codes.FailedPrecondition, text: "NULL"},
		{id: "F48", schema: generated, commit: ms(insert("t", "K,G1", row(1, 1))), code: codes.FailedPrecondition, text: "Cannot write into generated column `t.G1`."},
		{id: "F53a", schema: stamps, commit: ms(insert("t", "K,Ts,N", row(1, sentinel, sentinel))), code: codes.FailedPrecondition},
		{id: "F53b", schema: stamps, commit: ms(insert("t", "K,Ts,Plain", row(1, sentinel, sentinel))), code: codes.FailedPrecondition, text: "allow_commit_timestamp"},
		{id: "F54", schema: stamps, commit: ms(insert("t", "K,Ts", row(1, "2999-01-01T00:00:00Z"))), code: codes.FailedPrecondition, text: "Cannot write timestamps in the future"},
		{id: "F55", schema: stamps, commit: ms(insert("t", "K,Ts,Plain", row(1, sentinel, "9999-12-31T23:59:59.999999999Z")))},
		{id: "F57", schema: stamps, commit: ms(insert("t", "K,Ts", row(1, sentinel)), deleteKeys("t", key(1, sentinel))), table: "t", columns: "K"},
		{id: "F58", schema: stamps, before: before(insert("t", "K,Ts", row(1, "2020-01-01T00:00:00Z"))), commit: ms(deleteRange("t", "[)", key(1, "2020-01-01T00:00:00Z"), key(1, sentinel))), table: "t", columns: "K"},
	})
	t.Run("F52", func(t *testing.T) {
		f := start(t, emulator.Options{}, stamps...)
		resp, err := f.tryCommit(t, insert("t", "K,Ts", row(1, sentinel), row(2, sentinel)))
		if err != nil {
			t.Fatal(err)
		}
		want := resp.GetCommitTimestamp().AsTime().Format("2006-01-02T15:04:05.999999999Z")
		if got := f.cells(t, "t", "", "Ts", all()); got != want+"|"+want {
			t.Errorf("cells %s, committed at %s", got, want)
		}
	})
}

func TestConformanceReads(t *testing.T) {
	f := start(t, emulator.Options{}, schemaUN...)
	f.commit(t, insert("Users", "ID", row(nil), row(1), row(2), row(4), row(5)))
	one := func(kind string, start, end *structpb.ListValue) *spannerpb.KeySet {
		return ranges(keyRange(kind, start, end))
	}
	for _, c := range []struct {
		id   string
		set  *spannerpb.KeySet
		want string
	}{
		{"C01", all(), "-|1|2|4|5"},
		{"C02", one("[]", key(nil), key(1)), "-|1"},
		{"C03a", one("[)", key(nil), key(1)), "-"},
		{"C03b", one("(]", key(nil), key(1)), "1"},
		{"C03c", one("()", key(nil), key(2)), "1"},
		{"C04", one("[]", key(), key(1)), "-|1"},
		{"C05", one("(]", key(), key(1)), ""},
		{"C06", one("(]", key(1), key()), "2|4|5"},
		{"C07", one("[)", key(1), key()), ""},
		{"C08", one("[]", key(), key()), "-|1|2|4|5"},
		{"C11", &spannerpb.KeySet{Keys: []*structpb.ListValue{key(3)}}, ""},
		{"C14", &spannerpb.KeySet{Keys: []*structpb.ListValue{key(5), key(2), key(5)}, Ranges: []*spannerpb.KeyRange{keyRange("[]", key(2), key(4))}}, "2|4|5"},
		{"empty set", &spannerpb.KeySet{}, ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got := f.cells(t, "Users", "", "ID", c.set); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for _, c := range []struct {
		id   string
		req  *spannerpb.ReadRequest
		code codes.Code
		text string
	}{
		{"C12a", &spannerpb.ReadRequest{Table: "badTable", Columns: []string{"ID"}, KeySet: all()}, codes.NotFound, "badTable"},
		{"C12b", &spannerpb.ReadRequest{Table: "Users", Columns: []string{"badcol"}, KeySet: all()}, codes.NotFound, "badcol"},
		{"C15", &spannerpb.ReadRequest{Table: "Users", Columns: []string{"ID"}, KeySet: all(), Limit: -1}, codes.InvalidArgument, ""},
		{"C16", &spannerpb.ReadRequest{Table: "Users", Columns: []string{"ID"}}, codes.InvalidArgument, ""},
		{"D22", &spannerpb.ReadRequest{Table: "Users", Columns: []string{"ID"}, KeySet: all(), DataBoostEnabled: true}, codes.InvalidArgument, ""},
		{"E28d", &spannerpb.ReadRequest{Table: "Users", Columns: []string{"ID"}, KeySet: &spannerpb.KeySet{Keys: []*structpb.ListValue{key()}}}, codes.FailedPrecondition, "key parts"},
	} {
		t.Run(c.id, func(t *testing.T) {
			err := f.read(t, &receiver{t: t}, c.req)
			if status.Code(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want %v", err, c.code)
			}
		})
	}
	t.Run("C09", func(t *testing.T) {
		f := start(t, emulator.Options{}, `CREATE TABLE N (K NUMERIC, D NUMERIC NOT NULL) PRIMARY KEY (K, D DESC)`)
		const most = "99999999999999999999999999999.999999999"
		f.commit(t, insert("N", "K,D", row("1.23", 1), row("-1.23", 1), row(nil, 1), row("0", 1), row("-"+most, 1), row(most, 1), row("0", "123.456789"), row("0", "-"+most)))
		if got, want := f.cells(t, "N", "", "K,D", all()), "-,1|-"+most+",1|-1.23,1|0,123.456789|0,1|0,-"+most+"|1.23,1|"+most+",1"; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
	t.Run("C17", func(t *testing.T) {
		big := strings.Repeat("é", 204_800)
		var rows [][]any
		for i := range 20 {
			rows = append(rows, row(100+i, big))
		}
		f.commit(t, insert("Users", "ID,Name", rows...))
		r := &receiver{t: t}
		if err := f.read(t, r, &spannerpb.ReadRequest{Table: "Users", Columns: []string{"Name"}, KeySet: ranges(keyRange("[]", key(100), key()))}); err != nil {
			t.Fatal(err)
		}
		for i, v := range r.values {
			if v.GetStringValue() != big {
				t.Fatalf("row %d has %d bytes", i, len(v.GetStringValue()))
			}
		}
		if len(r.values) != 20 {
			t.Fatalf("%d rows", len(r.values))
		}
	})
}

func TestConformanceIndexReads(t *testing.T) {
	f := start(t, emulator.Options{}, append(schemaIX, `CREATE INDEX Covering ON Users(Name) STORING (Age) WHERE Age IS NOT NULL`)...)
	f.commit(t, insert("Users", "ID,Name,Age", row(0, "Adam", 20), row(1, "John", 28), row(2, "Peter", nil), row(4, "Matthew", nil), row(5, nil, 41), row(6, "", 22)))
	for _, c := range []struct{ id, index, columns, want string }{
		{"C18", "UsersByName", "Name,ID", "-,5|,6|Adam,0|John,1|Matthew,4|Peter,2"},
		{"C19", "UsersByNameDescending", "Name", "Peter|Matthew|John|Adam||-"},
		{"C22", "UsersByNameNullFiltered", "Name", "|Adam|John"},
		{"C23", "Covering", "Name,Age", "-,41|,22|Adam,20|John,28"},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got := f.cells(t, "Users", c.index, c.columns, all()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("C20", func(t *testing.T) {
		f.commit(t, update("Users", "ID,Name", row(2, "Aaron"), row(4, "Zoe")))
		if got, want := f.cells(t, "Users", "UsersByName", "Name", all()), "-||Aaron|Adam|John|Zoe"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("C21", func(t *testing.T) {
		f.commit(t, deleteKeys("Users", key(2), key(4)))
		if got, want := f.cells(t, "Users", "UsersByName", "Name", all()), "-||Adam|John"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("C26", func(t *testing.T) {
		err := f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: "Users", Index: "UsersByName", Columns: []string{"Age"}, KeySet: all()})
		if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "STORING") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("unknown index", func(t *testing.T) {
		err := f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: "Users", Index: "Nope", Columns: []string{"ID"}, KeySet: all()})
		if status.Code(err) != codes.NotFound {
			t.Errorf("error %v", err)
		}
	})
}
