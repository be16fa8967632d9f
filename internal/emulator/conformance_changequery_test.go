package emulator_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

func strongRead() *spannerpb.TransactionOptions_ReadOnly {
	return &spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true}}
}

func beginning(o *spannerpb.TransactionOptions) *spannerpb.TransactionSelector {
	return &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_Begin{Begin: o}}
}

// outcome reads a query to its end and checks how it ends.
func (f *fixture) outcome(t *testing.T, req *spannerpb.ExecuteSqlRequest, code codes.Code, text string) {
	t.Helper()
	q := f.tailRequest(t, req)
	q.rest()
	if status.Code(q.err) != code || q.err != nil && !strings.Contains(q.err.Error(), text) {
		t.Errorf("%s: %v, want %v %q", req.GetSql(), q.err, code, text)
	}
}

func TestConformanceChangeRequests(t *testing.T) {
	f := start(t, emulator.Options{}, schemaCS...)
	at := f.now(t)
	sql := readSQL("StreamAll", at, time.Time{}, "", 1000)
	readWrite := &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}}}
	pdml := &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_PartitionedDml_{PartitionedDml: &spannerpb.TransactionOptions_PartitionedDml{}}}
	stale := &spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_ExactStaleness{ExactStaleness: durationpb.New(time.Second)}}
	for _, c := range []struct {
		id   string
		sel  *spannerpb.TransactionSelector
		code codes.Code
	}{
		{"I01a", singleUse(strongRead()), codes.OK},
		{"I01b", nil, codes.OK},
		{"I02a", beginning(readOnly(strongRead())), codes.InvalidArgument},
		{"I02b", beginning(readWrite), codes.InvalidArgument},
		{"I02c", beginning(pdml), codes.InvalidArgument},
		{"I02d", singleUse(stale), codes.InvalidArgument},
		{"I02e", &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_SingleUse{SingleUse: readWrite}}, codes.InvalidArgument},
	} {
		t.Run(c.id, func(t *testing.T) {
			f.outcome(t, &spannerpb.ExecuteSqlRequest{Sql: sql, Transaction: c.sel}, c.code, "")
		})
	}
	t.Run("I03", func(t *testing.T) {
		for _, text := range []string{sql, "SELECT ChangeRecord FROM READ_StreamAll(NULL, NULL, NULL, -1)"} {
			_, err := f.api().ExecuteSql(t.Context(), &spannerpb.ExecuteSqlRequest{Session: f.session, Sql: text})
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "ExecuteSql API") {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
	t.Run("I04", func(t *testing.T) {
		f.outcome(t, &spannerpb.ExecuteSqlRequest{Sql: sql, QueryMode: spannerpb.ExecuteSqlRequest_PLAN}, codes.Unimplemented, "PLAN")
	})
}

func TestConformanceChangeArguments(t *testing.T) {
	f := start(t, emulator.Options{}, schemaCS...)
	at := f.now(t)
	lit := func(d time.Duration) string { return "'" + at.Add(d).Format(time.RFC3339Nano) + "'" }
	call := func(args string) string { return "SELECT ChangeRecord FROM READ_StreamAll(" + args + ")" }
	const combined = "must not be combined"
	for _, c := range []struct {
		id, sql string
		code    codes.Code
		text    string
	}{
		{"I05", call("NULL, NULL, NULL, 1000"), codes.InvalidArgument, "start_timestamp must not be null."},
		{"I06a", call(lit(11*time.Minute) + ", NULL, NULL, 1000"), codes.OutOfRange, "Specified start_timestamp is too far in the future"},
		{"I06b", call(lit(-10*time.Minute) + ", NULL, NULL, 1000"), codes.OutOfRange, "Specified start_timestamp is too far in the past"},
		{"I07", call(lit(0) + ", NULL, 'non_existed_token', 1000"), codes.InvalidArgument, "Specified partition_token is invalid"},
		{"I20a", call(lit(0)+", NULL, NULL, 1000") + " WHERE TRUE", codes.Unimplemented, combined},
		{"I20b", "SELECT ChangeRecord AS r FROM READ_StreamAll(" + lit(0) + ", NULL, NULL, 1000)", codes.Unimplemented, combined},
		{"I20c", "SELECT ChangeRecord, 1 FROM READ_StreamAll(" + lit(0) + ", NULL, NULL, 1000)", codes.Unimplemented, combined},
		{"I20d", call(lit(0)+", NULL, NULL, 1000") + " LIMIT 1", codes.Unimplemented, combined},
		{"I20e", "SELECT * FROM Users, READ_StreamAll(" + lit(0) + ", NULL, NULL, 1000)", codes.Unimplemented, combined},
		{"I20f", "SELECT * FROM (" + call(lit(0)+", NULL, NULL, 1000") + ")", codes.Unimplemented, combined},
		{"shape before arguments", call("NULL, NULL, NULL, -1") + " WHERE TRUE", codes.Unimplemented, combined},
		{"no literal", call("CURRENT_TIMESTAMP(), NULL, NULL, 1000"), codes.InvalidArgument, "Argument 1 is not a literal or parameter"},
		{"no literal either", call(lit(0) + ", NULL, CONCAT('a', 'b'), 1000"), codes.InvalidArgument, "Argument 3 is not a literal or parameter"},
		{"end before start", call(lit(0) + ", " + lit(-time.Microsecond) + ", NULL, 1000"), codes.InvalidArgument, "start_timestamp must be <= end_timestamp"},
		{"no heartbeat", call(lit(0) + ", NULL, NULL, NULL"), codes.InvalidArgument, "heartbeat_milliseconds must not be null."},
		{"short heartbeat", call(lit(0) + ", NULL, NULL, 99"), codes.OutOfRange, "within min 100 and max 300000. Received heartbeat_milliseconds: 99"},
		{"long heartbeat", call(lit(0) + ", NULL, NULL, 300001"), codes.OutOfRange, "300001"},
		{"negative heartbeat", call(lit(0) + ", NULL, NULL, -1"), codes.OutOfRange, "-1"},
		{"heartbeat before token", call(lit(0) + ", NULL, 'x', 1"), codes.OutOfRange, "heartbeat"},
		{"past before heartbeat", call(lit(-time.Hour) + ", NULL, NULL, 1"), codes.OutOfRange, "past"},
		{"read options", call(lit(0) + ", NULL, NULL, 1000, ['a']"), codes.Unimplemented, "read_options must be null."},
		{"no read options", call(lit(0) + ", NULL, NULL, 1000, NULL"), codes.OK, ""},
		{"star", "SELECT * FROM READ_StreamAll(" + lit(0) + ", NULL, NULL, 1000)", codes.OK, ""},
		{"any case", "select changerecord from read_streamall(" + lit(0) + ", null, null, 1000);", codes.OK, ""},
		{"named", "SELECT ChangeRecord FROM READ_StreamAll(heartbeat_milliseconds => 1000, start_timestamp => " + lit(0) + ")", codes.OK, ""},
		{"positional then named", call(lit(0) + ", heartbeat_milliseconds => 1000, partition_token => NULL, end_timestamp => NULL"), codes.OK, ""},
		{"timestamp literal", call("TIMESTAMP " + lit(0) + ", NULL, CAST(NULL AS STRING), 1000"), codes.OK, ""},
		{"unknown name", call("start => " + lit(0)), codes.InvalidArgument, "start"},
		{"given twice", call(lit(0) + ", NULL, NULL, 1000, start_timestamp => " + lit(0)), codes.InvalidArgument, "more than once"},
		{"too few", call(lit(0)), codes.InvalidArgument, "signature"},
		{"too many", call(lit(0) + ", NULL, NULL, 1000, NULL, 1"), codes.InvalidArgument, "signature"},
		{"wrong type", call(lit(0) + ", NULL, 5, 1000"), codes.InvalidArgument, ""},
		{"no timestamp", call("'yesterday', NULL, NULL, 1000"), codes.InvalidArgument, ""},
		{"unknown stream", "SELECT ChangeRecord FROM READ_Nope(" + lit(0) + ", NULL, NULL, 1000)", codes.InvalidArgument, "READ_Nope"},
		{"missing parameter", call("@start, NULL, NULL, 1000"), codes.InvalidArgument, "start"},
	} {
		t.Run(c.id, func(t *testing.T) {
			f.outcome(t, &spannerpb.ExecuteSqlRequest{Sql: c.sql}, c.code, c.text)
		})
	}
}

func TestConformanceChangePartitions(t *testing.T) {
	f := start(t, emulator.Options{}, schemaCS...)
	stream, err := f.srv.ChangeStream(databaseName, "StreamUsers")
	if err != nil {
		t.Fatal(err)
	}
	at := f.now(t)
	var tokens []string
	t.Run("I09", func(t *testing.T) {
		q := f.tail(t, readSQL("StreamUsers", at, time.Time{}, "", 1000))
		got := q.rest()
		if len(got) != 2 || q.err != nil {
			t.Fatalf("%d records, error %v", len(got), q.err)
		}
		for i, r := range got {
			c := r.children
			if c == nil || c.sequence != fmt.Sprintf("%08d", i) || c.start != at.Format(time.RFC3339Nano) || len(c.children) != 1 || len(c.children[0].parents) != 0 {
				t.Fatalf("record %+v", r)
			}
			tokens = append(tokens, c.children[0].token)
		}
	})
	f.commit(t, insert("Users", "UserId,Name", row(5, "a"), row(-5, "b")))
	made, err := stream.Split(tokens[1])
	if err != nil {
		t.Fatal(err)
	}
	split := made[0].Start
	t.Run("I15", func(t *testing.T) {
		q := f.tail(t, readSQL("StreamUsers", at, time.Time{}, tokens[1], 1000))
		got := q.rest()
		if len(got) != 2 || got[0].data == nil || got[1].children == nil || q.err != nil {
			t.Fatalf("%d records, error %v", len(got), q.err)
		}
		c := got[1].children
		if c.start != split.Format(time.RFC3339Nano) || len(c.children) != 2 {
			t.Fatalf("child record %+v", c)
		}
		for _, child := range c.children {
			if child.token == tokens[1] || !slices.Equal(child.parents, tokens[1:]) {
				t.Errorf("child %+v of %s", child, tokens[1])
			}
		}
	})
	count := func(t *testing.T, start, end time.Time, token string) (data, heartbeats, children int) {
		t.Helper()
		q := f.tail(t, readSQL("StreamUsers", start, end, token, 1000))
		for _, r := range q.rest() {
			switch {
			case r.data != nil:
				data++
			case r.children != nil:
				children++
			default:
				heartbeats++
				if r.heartbeat != end.Format(time.RFC3339Nano) {
					t.Errorf("heartbeat %s, want %v", r.heartbeat, end)
				}
			}
		}
		if q.err != nil {
			t.Fatal(q.err)
		}
		return data, heartbeats, children
	}
	for _, c := range []struct {
		id                         string
		start, end                 time.Time
		token                      int
		data, heartbeats, children int
	}{
		{"I10", split, time.Time{}, 1, 0, 0, 1},
		{"I10b", split, split, 1, 0, 0, 1},
		{"I11", split.Add(-time.Microsecond), split, 1, 0, 0, 1},
		{"I11b", at, split.Add(time.Second), 1, 1, 0, 1},
		{"I12", at, at.Add(time.Microsecond), 1, 0, 1, 0},
		{"I13", at, at, 0, 0, 1, 0},
		{"I13b", at.Add(1), at.Add(2), 0, 0, 1, 0},
		{"data without heartbeat", at, split, 0, 1, 0, 0},
	} {
		t.Run(c.id, func(t *testing.T) {
			data, heartbeats, children := count(t, c.start, c.end, tokens[c.token])
			if data != c.data || heartbeats != c.heartbeats || children != c.children {
				t.Errorf("%d data records, %d heartbeats, %d child records", data, heartbeats, children)
			}
		})
	}
	t.Run("I08", func(t *testing.T) {
		f.outcome(t, &spannerpb.ExecuteSqlRequest{Sql: readSQL("StreamUsers", split.Add(10*time.Second), time.Time{}, tokens[1], 1000)},
			codes.OutOfRange, "Specified start_timestamp is invalid for the partition.")
		f.outcome(t, &spannerpb.ExecuteSqlRequest{Sql: readSQL("StreamUsers", at, time.Time{}, made[0].Token, 1000)},
			codes.OutOfRange, "Specified start_timestamp is invalid for the partition.")
	})
	t.Run("I16", func(t *testing.T) {
		params, _ := structpb.NewStruct(map[string]any{"p1": at.Format(time.RFC3339Nano), "p2": split.Format(time.RFC3339Nano), "p3": tokens[1], "p4": "1000", "p5": nil})
		for name, types := range map[string]map[string]*spannerpb.Type{
			"untyped": nil,
			"typed":   {"p1": {Code: spannerpb.TypeCode_TIMESTAMP}, "p2": {Code: spannerpb.TypeCode_TIMESTAMP}, "p3": {Code: spannerpb.TypeCode_STRING}, "p4": {Code: spannerpb.TypeCode_INT64}},
		} {
			q := f.tailRequest(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT ChangeRecord FROM READ_StreamUsers(@p1, @p2, @p3, @p4, @p5)", Params: params, ParamTypes: types})
			if got := q.rest(); len(got) != 2 || q.err != nil {
				t.Errorf("%s: %d records, error %v", name, len(got), q.err)
			}
		}
	})
	t.Run("merge", func(t *testing.T) {
		merged, err := stream.Merge(made[1].Token, made[0].Token)
		if err != nil {
			t.Fatal(err)
		}
		parents := []string{made[0].Token, made[1].Token}
		for _, token := range parents {
			got := f.tail(t, readSQL("StreamUsers", split, time.Time{}, token, 1000)).rest()
			if len(got) != 1 || len(got[0].children.children) != 1 {
				t.Fatalf("records %+v", got)
			}
			if c := got[0].children.children[0]; c.token != merged[0].Token || !slices.Equal(c.parents, parents) {
				t.Errorf("child %+v, want %s of %v", c, merged[0].Token, parents)
			}
		}
	})
	t.Run("move", func(t *testing.T) {
		moved, err := stream.Move(tokens[0])
		if err != nil {
			t.Fatal(err)
		}
		got := f.tail(t, readSQL("StreamUsers", split, time.Time{}, tokens[0], 1000)).rest()
		if len(got) != 1 || got[0].children.children[0].token != moved[0].Token || !slices.Equal(got[0].children.children[0].parents, tokens[:1]) {
			t.Fatalf("records %+v", got)
		}
	})
	t.Run("initial query at a timestamp before the changes", func(t *testing.T) {
		if got := f.tokens(t, "StreamUsers", at); !slices.Equal(got, tokens) {
			t.Errorf("tokens %v, want %v", got, tokens)
		}
		if got := f.tokens(t, "StreamUsers", split); len(got) != 3 {
			t.Errorf("%d tokens at the split, want 3", len(got))
		}
	})
}

func TestConformanceChangeTails(t *testing.T) {
	t.Run("I14", func(t *testing.T) {
		f := start(t, emulator.Options{}, schemaCS...)
		at := f.now(t)
		q := f.tail(t, readSQL("StreamAll", at, at.Add(450*time.Millisecond), f.tokens(t, "StreamAll", at)[0], 100))
		var beats []string
		for _, r := range q.rest() {
			beats = append(beats, r.heartbeat)
		}
		if len(beats) < 2 || q.err != nil || !slices.IsSortedFunc(beats, func(a, b string) int {
			x, _ := time.Parse(time.RFC3339Nano, a)
			y, _ := time.Parse(time.RFC3339Nano, b)
			if !x.Before(y) {
				return 1
			}
			return -1
		}) {
			t.Fatalf("heartbeats %v, error %v", beats, q.err)
		}
		distinct := make(map[string]bool)
		for _, token := range q.tokens {
			distinct[string(token)] = true
		}
		if len(distinct) != len(beats) {
			t.Errorf("%d resume tokens for %d heartbeats", len(distinct), len(beats))
		}
	})
	t.Run("I17", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		at := f.now(t)
		q := f.tail(t, readSQL("StreamUsers", at, time.Time{}, f.tokens(t, "StreamUsers", at)[0], 60000))
		f.commit(t, insert("Users", "UserId", row(1)))
		if r := q.next(); r == nil || r.data.table != "Users" {
			t.Fatalf("record %+v, error %v", r, q.err)
		}
		f.ddl(t, "ALTER CHANGE STREAM StreamUsers SET FOR Accounts")
		f.commit(t, insert("Users", "UserId", row(2)), insert("Accounts", "AccountId", row(1)))
		if r := q.next(); r == nil || r.data.table != "Accounts" || r.data.records != "1" {
			t.Fatalf("record %+v, error %v", r, q.err)
		}
	})
	t.Run("I18", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		f.ddl(t, "ALTER CHANGE STREAM StreamUsers DROP FOR ALL")
		if got := f.committed(t, "StreamUsers", insert("Users", "UserId", row(1))); len(got) != 0 {
			t.Errorf("%d records", len(got))
		}
	})
	t.Run("I19", func(t *testing.T) {
		var ahead atomic.Int64
		f := start(t, emulator.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}, schemaCS...)
		at := f.now(t)
		f.commit(t, insert("Users", "UserId", row(1)))
		ahead.Store(int64(30 * time.Hour))
		request := &spannerpb.ExecuteSqlRequest{Sql: readSQL("StreamUsers", at, time.Time{}, "", 1000)}
		f.outcome(t, request, codes.OK, "")
		f.ddl(t, "ALTER CHANGE STREAM StreamUsers SET OPTIONS (retention_period = '24h')")
		f.outcome(t, request, codes.OutOfRange, "too far in the past")
	})
	t.Run("drop", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		at := f.now(t)
		q := f.tail(t, readSQL("StreamUsers", at, time.Time{}, f.tokens(t, "StreamUsers", at)[0], 60000))
		f.commit(t, insert("Users", "UserId", row(1)))
		q.next()
		f.ddl(t, "DROP CHANGE STREAM StreamUsers")
		if r := q.next(); r != nil || status.Code(q.err) != codes.NotFound || !strings.Contains(q.err.Error(), "Change Stream not found: StreamUsers") {
			t.Errorf("record %+v, error %v", r, q.err)
		}
	})
	t.Run("drop database", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		at := f.now(t)
		q := f.tail(t, readSQL("StreamUsers", at, time.Time{}, f.tokens(t, "StreamUsers", at)[0], 60000))
		f.commit(t, insert("Users", "UserId", row(1)))
		q.next()
		if _, err := databasepb.NewDatabaseAdminClient(f.conn).DropDatabase(t.Context(), &databasepb.DropDatabaseRequest{Database: databaseName}); err != nil {
			t.Fatal(err)
		}
		if r := q.next(); r != nil || status.Code(q.err) != codes.NotFound {
			t.Errorf("record %+v, error %v", r, q.err)
		}
	})
	t.Run("resume", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		f.srv.SetMessages(emulator.Messages{MaxRows: 1})
		at := f.now(t)
		for i := range 5 {
			f.commit(t, insert("Users", "UserId", row(i)))
		}
		sql := readSQL("StreamUsers", at, f.now(t), f.tokens(t, "StreamUsers", at)[0], 60000)
		var got []string
		var token []byte
		for range 5 {
			q := f.tailRequest(t, &spannerpb.ExecuteSqlRequest{Sql: sql, ResumeToken: token})
			got = append(got, q.next().data.mods[0])
			token = q.tokens[0]
			q.cancel()
		}
		if r := f.tailRequest(t, &spannerpb.ExecuteSqlRequest{Sql: sql, ResumeToken: token}).rest(); len(r) != 0 {
			t.Errorf("%d records after the last", len(r))
		}
		for i, m := range got {
			if !strings.HasPrefix(m, fmt.Sprintf(`{"UserId":"%d"}`, i)) {
				t.Errorf("record %d is %s", i, m)
			}
		}
	})
}

// I21: the official client holds rows back until a new resume token comes.
func TestConformanceChangeTailOfficialClient(t *testing.T) {
	t.Run("I21", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		c := f.client()
		at := f.now(t)
		it := c.Single().Query(t.Context(), spanner.Statement{
			SQL:    "SELECT ChangeRecord FROM READ_StreamUsers(@start, @end, @token, @heartbeat)",
			Params: map[string]any{"start": at, "end": spanner.NullTime{}, "token": f.tokens(t, "StreamUsers", at)[0], "heartbeat": 300_000},
		})
		defer it.Stop()
		for i := range 3 {
			if _, err := c.Apply(t.Context(), []*spanner.Mutation{spanner.Insert("Users", []string{"UserId", "Name"}, []any{i, "x"})}); err != nil {
				t.Fatal(err)
			}
			row, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			var records []*clientRecord
			if err := row.Columns(&records); err != nil {
				t.Fatal(err)
			}
			if len(records) != 1 || len(records[0].Data) != 1 || records[0].Data[0].Mods[0].Keys.String() != fmt.Sprintf(`{"UserId":"%d"}`, i) {
				t.Fatalf("record %+v", records)
			}
		}
		f.ddl(t, "DROP CHANGE STREAM StreamUsers")
		if _, err := it.Next(); spanner.ErrCode(err) != codes.NotFound {
			t.Errorf("error after the drop: %v", err)
		}
	})
}

// clientRecord is what readers over the official client decode into.
type clientRecord struct {
	Data []*struct {
		CommitTimestamp     time.Time `spanner:"commit_timestamp"`
		RecordSequence      string    `spanner:"record_sequence"`
		ServerTransactionID string    `spanner:"server_transaction_id"`
		IsLast              bool      `spanner:"is_last_record_in_transaction_in_partition"`
		TableName           string    `spanner:"table_name"`
		ColumnTypes         []*struct {
			Name            string           `spanner:"name"`
			Type            spanner.NullJSON `spanner:"type"`
			IsPrimaryKey    bool             `spanner:"is_primary_key"`
			OrdinalPosition int64            `spanner:"ordinal_position"`
		} `spanner:"column_types"`
		Mods []*struct {
			Keys      spanner.NullJSON `spanner:"keys"`
			NewValues spanner.NullJSON `spanner:"new_values"`
			OldValues spanner.NullJSON `spanner:"old_values"`
		} `spanner:"mods"`
		ModType          string `spanner:"mod_type"`
		ValueCaptureType string `spanner:"value_capture_type"`
		Records          int64  `spanner:"number_of_records_in_transaction"`
		Partitions       int64  `spanner:"number_of_partitions_in_transaction"`
		Tag              string `spanner:"transaction_tag"`
		System           bool   `spanner:"is_system_transaction"`
	} `spanner:"data_change_record"`
	Heartbeat []*struct {
		Timestamp time.Time `spanner:"timestamp"`
	} `spanner:"heartbeat_record"`
	Children []*struct {
		Start    time.Time `spanner:"start_timestamp"`
		Sequence string    `spanner:"record_sequence"`
		Children []*struct {
			Token   string   `spanner:"token"`
			Parents []string `spanner:"parent_partition_tokens"`
		} `spanner:"child_partitions"`
	} `spanner:"child_partitions_record"`
}
