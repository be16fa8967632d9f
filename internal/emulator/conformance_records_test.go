package emulator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/emulator"
)

// schemaCS is the schema that the lines of group J share.
var schemaCS = []string{
	`CREATE TABLE Users (UserId INT64 NOT NULL, Name STRING(MAX), Age INT64) PRIMARY KEY (UserId)`,
	`CREATE TABLE Accounts (AccountId INT64 NOT NULL, Country STRING(MAX), Year INT64) PRIMARY KEY (AccountId)`,
	`CREATE TABLE Users2 (UserId INT64 NOT NULL, Gender STRING(MAX), Name STRING(MAX), Age INT64) PRIMARY KEY (UserId)`,
	`CREATE CHANGE STREAM StreamAll FOR ALL`,
	`CREATE CHANGE STREAM StreamUsers FOR Users OPTIONS (value_capture_type = 'NEW_VALUES')`,
	`CREATE CHANGE STREAM StreamSpecifiedColumns FOR Users2(Name, Age)`,
}

// captureStreams are streams of Users, one for each capture type, no more than
// three of which may watch a table.
func captureStreams(types ...string) []string {
	out := schemaCS[:3:3]
	for _, c := range types {
		out = append(out, "CREATE CHANGE STREAM "+c+" FOR Users OPTIONS (value_capture_type = '"+c+"')")
	}
	return out
}

const (
	oldAndNew = "OLD_AND_NEW_VALUES"
	newValues = "NEW_VALUES"
	newRow    = "NEW_ROW"
	rowAndOld = "NEW_ROW_AND_OLD_VALUES"
)

// spellChanges writes records one a line: type table(columns) mods.
func spellChanges(list []*dataRecord) string {
	var out []string
	for _, d := range list {
		out = append(out, d.modType+" "+d.table+"("+d.names()+") "+strings.Join(d.mods, "; "))
	}
	return strings.Join(out, "\n")
}

// recordCase is one line: commits before, the commit in question, and its
// records in a stream.
type recordCase struct {
	id     string
	schema []string
	stream string
	before [][]*spannerpb.Mutation
	commit []*spannerpb.Mutation
	want   string
}

func runRecords(t *testing.T, cases []recordCase) {
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			f := start(t, onePartition, c.schema...)
			for _, b := range c.before {
				f.commit(t, b...)
			}
			if got := spellChanges(f.committed(t, c.stream, c.commit...)); got != c.want {
				t.Errorf("records\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestConformanceRecords(t *testing.T) {
	user1 := insert("Users", "UserId,Name", row(1, "name1"))
	rename := update("Users", "UserId,Name", row(1, "name1Update"))
	gone := deleteKeys("Users", key(1))
	all, few := captureStreams(oldAndNew, newValues, newRow), captureStreams(rowAndOld)
	of := func(id, stream string, before, commit []*spannerpb.Mutation, want string) recordCase {
		schema := all
		if stream == rowAndOld {
			schema = few
		}
		c := recordCase{id: id, schema: schema, stream: stream, commit: commit, want: want}
		if before != nil {
			c.before = [][]*spannerpb.Mutation{before}
		}
		return c
	}
	const inserted = `INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":null,"Name":"name1"} {}`
	const deleted = `DELETE Users(UserId,Name,Age) {"UserId":"1"} {} {"Age":null,"Name":"name1"}`
	runRecords(t, []recordCase{
		of("J02a", oldAndNew, nil, ms(user1), inserted),
		of("J02b", newRow, nil, ms(user1), inserted),
		of("J02c", rowAndOld, nil, ms(user1), inserted),
		of("J03", newValues, ms(user1), ms(rename), `UPDATE Users(UserId,Name) {"UserId":"1"} {"Name":"name1Update"} {}`),
		of("J04", oldAndNew, ms(user1), ms(rename), `UPDATE Users(UserId,Name) {"UserId":"1"} {"Name":"name1Update"} {"Name":"name1"}`),
		of("J05", newRow, ms(user1), ms(rename), `UPDATE Users(UserId,Name,Age) {"UserId":"1"} {"Age":null,"Name":"name1Update"} {}`),
		of("J06", rowAndOld, ms(user1), ms(rename), `UPDATE Users(UserId,Name,Age) {"UserId":"1"} {"Age":null,"Name":"name1Update"} {"Name":"name1"}`),
		of("J07a", newValues, ms(user1), ms(gone), `DELETE Users(UserId,Name,Age) {"UserId":"1"} {} {}`),
		of("J07b", newRow, ms(user1), ms(gone), `DELETE Users(UserId,Name,Age) {"UserId":"1"} {} {}`),
		of("J08a", oldAndNew, ms(user1), ms(gone), `DELETE Users(UserId,Name,Age) {"UserId":"1"} {} {"Age":null,"Name":"name1"}`),
		of("J08b", rowAndOld, ms(user1), ms(gone), `DELETE Users(UserId,Name,Age) {"UserId":"1"} {} {"Age":null,"Name":"name1"}`),
		of("J09", oldAndNew, nil, ms(deleteKeys("Users", key(9))), ""),
		of("J10", oldAndNew, ms(user1), ms(rename, update("Users", "UserId,Name", row(1, "again"))), `UPDATE Users(UserId,Name) {"UserId":"1"} {"Name":"again"} {"Name":"name1"}`),
		of("J11", oldAndNew, nil, ms(user1, update("Users", "UserId,Age", row(1, 7))), `INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":"7","Name":"name1"} {}`),
		of("J12", newValues, ms(user1), ms(insert("Users", "UserId,Name", row(2, "name2")), rename), `INSERT Users(UserId,Name,Age) {"UserId":"2"} {"Age":null,"Name":"name2"} {}
UPDATE Users(UserId,Name) {"UserId":"1"} {"Name":"name1Update"} {}`),
		of("J13a", oldAndNew, nil, ms(user1, gone), ""),
		of("J13b", oldAndNew, nil, ms(user1, gone, user1, gone), ""),
		of("J13c", oldAndNew, nil, ms(user1, rename, gone), ""),
		of("J14", oldAndNew, nil, ms(user1, gone, user1), inserted),
		of("J15", oldAndNew, ms(user1), ms(rename, gone), deleted),
		of("J16", oldAndNew, ms(user1), ms(gone, insert("Users", "UserId,Age", row(1, 3)), gone), deleted),
		of("J18", oldAndNew, nil, ms(user1, insert("Users", "UserId,Age", row(2, 9))), `INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":null,"Name":"name1"} {}; {"UserId":"2"} {"Age":"9","Name":null} {}`),
		of("J19", oldAndNew, ms(user1), ms(update("Users", "UserId,Age", row(1, 5)), rename), `UPDATE Users(UserId,Name,Age) {"UserId":"1"} {"Age":"5","Name":"name1Update"} {"Age":null,"Name":"name1"}`),
		of("J20", newValues, ms(user1, insert("Users", "UserId,Name", row(2, "name2"))), ms(update("Users", "UserId,Age", row(1, 5)), update("Users", "UserId,Name", row(2, "x"))), `UPDATE Users(UserId,Age) {"UserId":"1"} {"Age":"5"} {}
UPDATE Users(UserId,Name) {"UserId":"2"} {"Name":"x"} {}`),
		of("J24", newValues, nil, ms(insert("Users", "UserId", row(1))), `INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":null,"Name":null} {}`),
		of("J25", oldAndNew, ms(user1), ms(update("Users", "UserId,Name", row(1, "name1"))), `UPDATE Users(UserId,Name) {"UserId":"1"} {"Name":"name1"} {"Name":"name1"}`),
		of("J29", newValues, ms(user1, insert("Users", "UserId,Name", row(2, "name2"))), ms(deleteKeys("Users", key(1), key(2))), `DELETE Users(UserId,Name,Age) {"UserId":"1"} {} {}; {"UserId":"2"} {} {}`),
		of("J35", oldAndNew, ms(user1), ms(replace("Users", "UserId,Age", row(1, 4))), deleted+"\n"+`INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":"4","Name":null} {}`),
		of("J35b", oldAndNew, ms(user1), ms(gone, insert("Users", "UserId,Age", row(1, 4)), rename), deleted+"\n"+`INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":"4","Name":"name1Update"} {}`),
		of("J35c", oldAndNew, nil, ms(replace("Users", "UserId,Name", row(1, "name1"))), inserted),
		of("J35d", oldAndNew, ms(user1), ms(upsert("Users", "UserId,Age", row(1, 4))), `UPDATE Users(UserId,Age) {"UserId":"1"} {"Age":"4"} {"Age":null}`),
	})
}

func TestConformanceRecordTables(t *testing.T) {
	pair := []string{`CREATE TABLE Pairs (User1Id INT64 NOT NULL, User2Id INT64 NOT NULL, Since DATE) PRIMARY KEY (User2Id, User1Id)`, `CREATE CHANGE STREAM S FOR Pairs`}
	keysOnly := append(schemaCS[:1:1], `CREATE CHANGE STREAM S FOR Users()`)
	nameOnly := append(schemaCS[:1:1], `CREATE CHANGE STREAM S FOR Users(Name)`)
	generated := []string{`CREATE TABLE G (K INT64 NOT NULL, Twice INT64 AS (Data * 2) STORED, Data INT64) PRIMARY KEY (K)`, `CREATE CHANGE STREAM S FOR G`}
	user := insert("Users", "UserId,Name,Age", row(1, "a", 5))
	users2 := insert("Users2", "UserId,Gender,Name,Age", row(1, "f", "a", 5))
	runRecords(t, []recordCase{
		{id: "J22", schema: nameOnly, stream: "S", commit: ms(user), want: `INSERT Users(UserId,Name) {"UserId":"1"} {"Name":"a"} {}`},
		{id: "J26", schema: nameOnly, stream: "S", before: before(user), commit: ms(update("Users", "UserId,Age", row(1, 6)))},
		{id: "J27a", schema: keysOnly, stream: "S", commit: ms(user), want: `INSERT Users(UserId) {"UserId":"1"} {} {}`},
		{id: "J27b", schema: keysOnly, stream: "S", before: before(user), commit: ms(update("Users", "UserId,Age", row(1, 6)))},
		{id: "J27c", schema: keysOnly, stream: "S", before: before(user), commit: ms(deleteKeys("Users", key(1))), want: `DELETE Users(UserId) {"UserId":"1"} {} {}`},
		{id: "J30", schema: pair, stream: "S", commit: ms(insert("Pairs", "User1Id,User2Id", row(1, 1))), want: `INSERT Pairs(User1Id,User2Id,Since) {"User1Id":"1","User2Id":"1"} {"Since":null} {}`},
		{id: "J33a", schema: generated, stream: "S", commit: ms(insert("G", "K,Data", row(1, 4))), want: `INSERT G(K,Data) {"K":"1"} {"Data":"4"} {}`},
		{id: "J33b", schema: generated, stream: "S", before: before(insert("G", "K,Data", row(1, 4))), commit: ms(update("G", "K,Data", row(1, 5))), want: `UPDATE G(K,Data) {"K":"1"} {"Data":"5"} {"Data":"4"}`},
		{id: "J34", schema: schemaCS, stream: "StreamSpecifiedColumns", before: before(users2), commit: ms(update("Users2", "UserId,Gender,Name", row(1, "m", "b"))), want: `UPDATE Users2(UserId,Name) {"UserId":"1"} {"Name":"b"} {"Name":"a"}`},
		{id: "J36", schema: schemaCS, stream: "StreamAll", commit: ms(insert("Users", "UserId", row(1)), insert("Accounts", "AccountId", row(2))), want: `INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":null,"Name":null} {}
INSERT Accounts(AccountId,Country,Year) {"AccountId":"2"} {"Country":null,"Year":null} {}`},
		{id: "J36b", schema: schemaCS, stream: "StreamAll", commit: ms(insert("Accounts", "AccountId", row(2)), insert("Users", "UserId", row(1)), insert("Accounts", "AccountId", row(3))), want: `INSERT Accounts(AccountId,Country,Year) {"AccountId":"2"} {"Country":null,"Year":null} {}
INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":null,"Name":null} {}
INSERT Accounts(AccountId,Country,Year) {"AccountId":"3"} {"Country":null,"Year":null} {}`},
	})
}

// Records of cascaded deletes come before those of the rows they hang on.
func TestConformanceRecordCascades(t *testing.T) {
	interleaved := append(schemaIL[:3:3],
		`CREATE CHANGE STREAM S FOR Users, Threads, Messages OPTIONS (value_capture_type = 'NEW_VALUES')`,
		`CREATE CHANGE STREAM X FOR ALL OPTIONS (exclude_delete = true)`)
	foreign := append(schemaCascade[:2:2], `CREATE CHANGE STREAM S FOR ALL OPTIONS (value_capture_type = 'NEW_VALUES')`)
	family := before(insert("Users", "UserId", row(1)), insert("Threads", "UserId,ThreadId", row(1, 1), row(1, 2)))
	runRecords(t, []recordCase{
		{id: "J38a", schema: interleaved, stream: "X", before: family, commit: ms(deleteKeys("Users", key(1)))},
		{id: "J38b", schema: interleaved, stream: "S", before: family, commit: ms(deleteKeys("Users", key(1))), want: `DELETE Threads(UserId,ThreadId,Starred) {"ThreadId":"1","UserId":"1"} {} {}; {"ThreadId":"2","UserId":"1"} {} {}
DELETE Users(UserId,Name) {"UserId":"1"} {} {}`},
		{id: "J38c", schema: foreign, stream: "S", before: before(insert("R", "A", row(1)), insert("C", "X,A", row(7, 1), row(8, 1))), commit: ms(deleteKeys("R", key(1))), want: `DELETE R(A,V) {"A":"1"} {} {}
DELETE C(X,A) {"X":"7"} {} {}; {"X":"8"} {} {}`},
	})
}

func TestConformanceRecord(t *testing.T) {
	t.Run("J01", func(t *testing.T) {
		f := start(t, emulator.Options{}, schemaCS...)
		got := f.committed(t, "StreamUsers", insert("Users", "UserId,Name", row(1, "name1")))
		if len(got) != 1 {
			t.Fatalf("%d records", len(got))
		}
		d := got[0]
		if d.sequence != "00000000" || !d.last || d.records != "1" || d.partitions != "1" || d.tag != "" || d.system || d.capture != newValues || d.txn == "" {
			t.Errorf("record %+v", d)
		}
		want := `UserId {"code":"INT64"} true 1|Name {"code":"STRING"} false 2|Age {"code":"INT64"} false 3`
		if types := strings.Join(d.columns, "|"); types != want {
			t.Errorf("column_types %s\nwant %s", types, want)
		}
		if want := `INSERT Users(UserId,Name,Age) {"UserId":"1"} {"Age":null,"Name":"name1"} {}`; spellChanges(got) != want {
			t.Errorf("got %s, want %s", spellChanges(got), want)
		}
	})
	t.Run("J17", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		got := f.committed(t, "StreamAll", insert("Users", "UserId", row(1)), insert("Accounts", "AccountId", row(1), row(2)))
		if len(got) != 2 || got[0].sequence != "00000000" || got[1].sequence != "00000001" || got[0].last || !got[1].last || len(got[1].mods) != 2 || got[0].records != "2" || got[0].txn != got[1].txn {
			t.Errorf("records %+v", got)
		}
	})
	t.Run("J21", func(t *testing.T) {
		f := start(t, emulator.Options{}, schemaCS...)
		_, at := f.commitTime(t, insert("Users", "UserId", row(1)))
		all, one, none := f.changes(t, "StreamAll", at, at), f.changes(t, "StreamUsers", at, at), f.changes(t, "StreamSpecifiedColumns", at, at)
		if len(all) != 1 || len(one) != 1 || len(none) != 0 || all[0].txn != one[0].txn {
			t.Errorf("%d, %d and %d records", len(all), len(one), len(none))
		}
	})
	t.Run("J23", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		f.ddl(t, "CREATE TABLE Late (K INT64 NOT NULL, A INT64) PRIMARY KEY (K)")
		if got, want := spellChanges(f.committed(t, "StreamAll", insert("Late", "K", row(1)))), `INSERT Late(K,A) {"K":"1"} {"A":null} {}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		f.ddl(t, "ALTER TABLE Late ADD COLUMN B INT64", "ALTER TABLE Late DROP COLUMN A")
		got := f.committed(t, "StreamAll", insert("Late", "K,B", row(2, 9)))
		if want := `INSERT Late(K,B) {"K":"2"} {"B":"9"} {}`; spellChanges(got) != want || got[0].columns[1] != `B {"code":"INT64"} false 2` {
			t.Errorf("got %s %v, want %s", spellChanges(got), got[0].columns, want)
		}
	})
	t.Run("J28", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		f.commit(t, insert("Users", "UserId,Name", row(1, "a"), row(2, "b")))
		at := f.now(t)
		f.ddl(t, "CREATE INDEX ByName ON Users(Name)", "ALTER TABLE Users ADD COLUMN D INT64 NOT NULL DEFAULT (5)")
		if got := f.changes(t, "StreamAll", at, f.now(t)); len(got) != 0 {
			t.Errorf("records %s", spellChanges(got))
		}
	})
	t.Run("J31", func(t *testing.T) {
		f := start(t, onePartition, `CREATE TABLE T (K INT64 NOT NULL, B BOOL, N NUMERIC, F FLOAT64, G FLOAT32, S STRING(MAX), Y BYTES(MAX), D DATE, Ts TIMESTAMP, J JSON, U UUID, A ARRAY<INT64>, L ARRAY<STRING(MAX)>, E ARRAY<BOOL>) PRIMARY KEY (K)`, `CREATE CHANGE STREAM S FOR ALL`)
		got := f.committed(t, "S", insert("T", "K,B,N,F,G,S,Y,D,Ts,J,U,A,L,E", row(1, true, "1.10", 1e300, 3.14, "a\"\\\n\x01é", "AP8=", "2020-02-29", "1970-01-01T00:00:00Z", `{"b":1,"a":[null]}`, "0F0E0D0C-0000-4000-8000-000000000001", []any{1, nil}, []any{}, nil)))
		want := `{"A":["1",null],"B":true,"D":"2020-02-29","E":null,"F":1e+300,"G":3.140000104904175,"J":"{\"a\":[null],\"b\":1}","L":[],"N":"1.1","S":"a\"\\\n\u0001é","Ts":"1970-01-01T00:00:00Z","U":"0f0e0d0c-0000-4000-8000-000000000001","Y":"AP8="}`
		if mod := `{"K":"1"} ` + want + ` {}`; len(got) != 1 || got[0].mods[0] != mod {
			t.Errorf("got %s\nwant %s", spellChanges(got), mod)
		}
		if c := got[0].columns[11]; c != `A {"array_element_type":{"code":"INT64"},"code":"ARRAY"} false 12` {
			t.Errorf("array column %s", c)
		}
	})
	t.Run("J32", func(t *testing.T) {
		f := start(t, onePartition, `CREATE TABLE T (S STRING(MAX), B BOOL, N NUMERIC, F FLOAT64, Y BYTES(MAX), D DATE, Ts TIMESTAMP, I INT64) PRIMARY KEY (S, B, N, F, Y, D, Ts, I)`, `CREATE CHANGE STREAM S FOR ALL`)
		got := f.committed(t, "S", insert("T", "S,B,N,F,Y,D,Ts,I", row("s", false, "0.5", 2.5, "AA==", "1999-12-31", "2024-01-02T03:04:05.123456789Z", nil)))
		want := `{"B":false,"D":"1999-12-31","F":2.5,"I":null,"N":"0.5","S":"s","Ts":"2024-01-02T03:04:05.123456789Z","Y":"AA=="} {} {}`
		if len(got) != 1 || got[0].mods[0] != want {
			t.Errorf("got %s\nwant %s", spellChanges(got), want)
		}
	})
	t.Run("J33", func(t *testing.T) {
		f := start(t, onePartition, `CREATE TABLE G (K INT64 NOT NULL, Twice INT64 AS (Data * 2) STORED, Data INT64) PRIMARY KEY (K)`, `CREATE CHANGE STREAM S FOR G`)
		got := f.committed(t, "S", insert("G", "K,Data", row(1, 4)))
		if want := `K {"code":"INT64"} true 1|Data {"code":"INT64"} false 3`; strings.Join(got[0].columns, "|") != want {
			t.Errorf("column_types %v", got[0].columns)
		}
	})
	t.Run("J34", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		got := f.committed(t, "StreamSpecifiedColumns", insert("Users2", "UserId,Gender,Name,Age", row(1, "f", "a", 5)))
		if want := `UserId {"code":"INT64"} true 1|Name {"code":"STRING"} false 3|Age {"code":"INT64"} false 4`; strings.Join(got[0].columns, "|") != want {
			t.Errorf("column_types %v", got[0].columns)
		}
	})
	t.Run("J37", func(t *testing.T) {
		f := start(t, onePartition, schemaCS[0],
			`CREATE CHANGE STREAM NoInsert FOR ALL OPTIONS (exclude_insert = true)`,
			`CREATE CHANGE STREAM NoUpdate FOR ALL OPTIONS (exclude_update = true)`,
			`CREATE CHANGE STREAM NoDelete FOR ALL OPTIONS (exclude_delete = true, exclude_ttl_deletes = true)`)
		f.commit(t, insert("Users", "UserId", row(1), row(2)))
		_, at := f.commitTime(t, insert("Users", "UserId", row(3)), update("Users", "UserId,Age", row(1, 1)), deleteKeys("Users", key(2)))
		for stream, want := range map[string]string{"NoInsert": "UPDATE,DELETE", "NoUpdate": "INSERT,DELETE", "NoDelete": "INSERT,UPDATE"} {
			var kinds []string
			for i, d := range f.changes(t, stream, at, at) {
				kinds = append(kinds, d.modType)
				if d.records != "2" || d.last != (i == 1) {
					t.Errorf("%s: record %+v", stream, d)
				}
			}
			if got := strings.Join(kinds, ","); got != want {
				t.Errorf("%s has %s, want %s", stream, got, want)
			}
		}
	})
	t.Run("J40", func(t *testing.T) {
		f := start(t, onePartition, schemaCS[0], `CREATE CHANGE STREAM Allows FOR ALL OPTIONS (allow_txn_exclusion = true)`, `CREATE CHANGE STREAM Keeps FOR ALL`)
		at := f.now(t)
		excluded := readWrite()
		excluded.ExcludeTxnFromChangeStreams = true
		single := &spannerpb.CommitRequest{Session: f.session, Mutations: ms(insert("Users", "UserId", row(1))),
			Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: excluded}}
		multi := &spannerpb.CommitRequest{Session: f.session, Mutations: ms(insert("Users", "UserId", row(2))),
			Transaction: &spannerpb.CommitRequest_TransactionId{TransactionId: f.begin(t, excluded).GetId()}}
		for _, req := range []*spannerpb.CommitRequest{single, multi} {
			if _, err := f.api().Commit(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
		batch, err := f.api().BatchWrite(t.Context(), &spannerpb.BatchWriteRequest{Session: f.session, ExcludeTxnFromChangeStreams: true,
			MutationGroups: []*spannerpb.BatchWriteRequest_MutationGroup{{Mutations: ms(insert("Users", "UserId", row(3)))}}})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = batch.Recv()
		}
		end := f.now(t)
		if allows, keeps := f.changes(t, "Allows", at, end), f.changes(t, "Keeps", at, end); len(allows) != 0 || len(keeps) != 3 {
			t.Errorf("%d and %d records, want 0 and 3", len(allows), len(keeps))
		}
	})
	t.Run("J41", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		resp, err := f.api().Commit(t.Context(), &spannerpb.CommitRequest{Session: f.session, Mutations: ms(insert("Users", "UserId", row(1))),
			RequestOptions: &spannerpb.RequestOptions{TransactionTag: "app=x"},
			Transaction:    &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: readWrite()}})
		if err != nil {
			t.Fatal(err)
		}
		at := resp.GetCommitTimestamp().AsTime()
		if got := f.changes(t, "StreamAll", at, at); len(got) != 1 || got[0].tag != "app=x" {
			t.Errorf("records %+v", got)
		}
	})
	t.Run("commit timestamps", func(t *testing.T) {
		f := start(t, onePartition, `CREATE TABLE T (K INT64 NOT NULL, Ts TIMESTAMP OPTIONS (allow_commit_timestamp = true)) PRIMARY KEY (K)`, `CREATE CHANGE STREAM S FOR ALL`)
		_, at := f.commitTime(t, insert("T", "K,Ts", row(1, "spanner.commit_timestamp()")))
		text := at.Format(time.RFC3339Nano)
		got := f.changes(t, "S", at, at)
		if want := `INSERT T(K,Ts) {"K":"1"} {"Ts":"` + text + `"} {}`; spellChanges(got) != want || got[0].commit != text {
			t.Errorf("got %s at %s, want %s", spellChanges(got), got[0].commit, want)
		}
	})
	t.Run("a failed commit", func(t *testing.T) {
		f := start(t, onePartition, schemaCS...)
		at := f.now(t)
		if _, err := f.tryCommit(t, insert("Users", "UserId", row(1)), update("Users", "UserId,Name", row(2, "x"))); err == nil {
			t.Fatal("the commit worked")
		}
		if got := f.changes(t, "StreamAll", at, f.now(t)); len(got) != 0 {
			t.Errorf("records %s", spellChanges(got))
		}
	})
	t.Run("many partitions", func(t *testing.T) {
		f := start(t, emulator.Options{}, schemaCS...)
		stream, err := f.srv.ChangeStream(databaseName, "StreamUsers")
		if err != nil {
			t.Fatal(err)
		}
		f.commit(t, insert("Users", "UserId", row(10), row(20), row(30)))
		if _, err := stream.Split(stream.Active()[1].Token); err != nil {
			t.Fatal(err)
		}
		_, at := f.commitTime(t, insert("Users", "UserId", row(-1), row(11), row(29), row(12), row(-2)))
		got := f.changes(t, "StreamUsers", at, at)
		if len(got) != 3 {
			t.Fatalf("records\n%s", spellChanges(got))
		}
		mods := 0
		for i, d := range got {
			mods += len(d.mods)
			if d.sequence != fmt.Sprintf("%08d", i) || !d.last || d.records != "3" || d.partitions != "3" {
				t.Errorf("record %+v", d)
			}
		}
		if mods != 5 {
			t.Errorf("%d mods, want 5", mods)
		}
	})
}
