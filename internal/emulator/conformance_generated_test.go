package emulator_test

import (
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

func TestConformanceEvaluatedColumns(t *testing.T) {
	defaults := []string{`CREATE TABLE t (K INT64 NOT NULL, D INT64 NOT NULL DEFAULT (NULL), S STRING(3) DEFAULT ('long')) PRIMARY KEY (K)`}
	generated := []string{`CREATE TABLE t (K INT64 NOT NULL, V INT64, G INT64 NOT NULL AS (V + 1) STORED) PRIMARY KEY (K)`}
	unique := []string{`CREATE TABLE t (K INT64 NOT NULL, V INT64, G INT64 AS (MOD(V, 10)) STORED) PRIMARY KEY (K)`, `CREATE UNIQUE INDEX ByG ON t(G)`}
	virtual := []string{`CREATE TABLE t (K INT64 NOT NULL, V INT64, G INT64 AS (V + 1)) PRIMARY KEY (K)`, `CREATE INDEX ByG ON t(G)`}
	divides := []string{`CREATE TABLE t (K INT64 NOT NULL, V INT64, G INT64 AS (DIV(10, V)) STORED) PRIMARY KEY (K)`}
	key3 := []string{`CREATE TABLE t (K1 INT64 NOT NULL, V INT64, K3 INT64 AS (V * 10) STORED, X INT64) PRIMARY KEY (K1, K3)`}
	have3 := before(insert("t", "K1,V", row(1, 2)))
	defaultKey := []string{`CREATE TABLE t (K1 INT64 NOT NULL, K2 INT64 NOT NULL DEFAULT (7), V INT64) PRIMARY KEY (K1, K2)`}
	runCommits(t, []commitCase{
		{id: "F47a", schema: defaults, commit: ms(insert("t", "K,S", row(1, "a")), update("t", "K,D", row(1, 5))), table: "t", columns: "K,D", want: "1,5"},
		{id: "F47b", schema: defaults, commit: ms(insert("t", "K,S", row(1, "a"))), code: codes.FailedPrecondition, text: "must not be NULL", table: "t", columns: "K"},
		{id: "F47c", schema: defaults, commit: ms(insert("t", "K,D", row(1, 5))), code: codes.FailedPrecondition, text: "maximum size limit"},
		{id: "F46b", schema: defaults, commit: ms(insert("t", "K,S,D", row(1, "a", nil)), update("t", "K,D", row(1, 5))), code: codes.FailedPrecondition},
		{id: "F49a", schema: generated, commit: ms(insert("t", "K", row(1)), update("t", "K,V", row(1, 5))), table: "t", columns: "K,V,G", want: "1,5,6"},
		{id: "F49b", schema: generated, commit: ms(insert("t", "K", row(1))), code: codes.FailedPrecondition, table: "t", columns: "K"},
		{id: "F50a", schema: unique, before: before(insert("t", "K,V", row(1, 13))), commit: ms(insert("t", "K,V", row(2, 23))), code: codes.AlreadyExists, text: "ByG"},
		{id: "F50b", schema: unique, before: before(insert("t", "K,V", row(1, 13))), commit: ms(insert("t", "K,V", row(2, 23)), update("t", "K,V", row(1, 4))), table: "t", columns: "K,G", want: "1,4|2,3"},
		{id: "F51a", schema: key3, before: have3, commit: ms(update("t", "K1,K3,X", row(1, 20, 9))), table: "t", columns: "K1,V,K3,X", want: "1,2,20,9"},
		{id: "F51b", schema: key3, before: have3, commit: ms(update("t", "K1,K3,V", row(1, 20, 3))), code: codes.OutOfRange, table: "t", columns: "K1,V,K3", want: "1,2,20"},
		{id: "F51c", schema: key3, before: have3, commit: ms(update("t", "K1,X", row(1, 9))), code: codes.FailedPrecondition},
		{id: "F51d", schema: defaultKey, before: before(insert("t", "K1", row(1))), commit: ms(update("t", "K1,V", row(1, 9))), code: codes.FailedPrecondition, text: "Implicit use of primary key default value", table: "t", columns: "K1,K2", want: "1,7"},
		{id: "virtual", schema: virtual, before: before(insert("t", "K,V", row(1, 2))), commit: ms(update("t", "K,V", row(1, 5))), table: "t", columns: "K,G", want: "1,6"},
		{id: "evaluation fails", schema: divides, commit: ms(insert("t", "K,V", row(1, 0))), code: codes.OutOfRange, table: "t", columns: "K"},
	})
}

func TestConformanceForeignKeyChains(t *testing.T) {
	schema := []string{
		`CREATE TABLE Parent (A INT64 NOT NULL) PRIMARY KEY (A)`,
		`CREATE TABLE Child (A INT64 NOT NULL, B INT64) PRIMARY KEY (A), INTERLEAVE IN PARENT Parent ON DELETE CASCADE`,
		`CREATE TABLE Referencing (X INT64 NOT NULL, B INT64, CONSTRAINT fk FOREIGN KEY (B) REFERENCES Child (B)) PRIMARY KEY (X)`,
	}
	have := before(insert("Parent", "A", row(1), row(2)), insert("Child", "A,B", row(1, 2)), insert("Referencing", "X,B", row(5, 2)))
	chain := []string{
		schema[0], schema[1],
		`CREATE TABLE Referencing (X INT64 NOT NULL, B INT64, CONSTRAINT fk FOREIGN KEY (B) REFERENCES Child (B) ON DELETE CASCADE) PRIMARY KEY (X)`,
		`CREATE TABLE Last (Z INT64 NOT NULL, X INT64, CONSTRAINT fk2 FOREIGN KEY (X) REFERENCES Referencing (X) ON DELETE CASCADE) PRIMARY KEY (Z)`,
		`CREATE TABLE Under (Z INT64 NOT NULL, Y INT64 NOT NULL) PRIMARY KEY (Z, Y), INTERLEAVE IN PARENT Last ON DELETE CASCADE`,
	}
	full := [][]*spannerpb.Mutation{append(have[0][:3:3], insert("Last", "Z,X", row(7, 5), row(8, nil)), insert("Under", "Z,Y", row(7, 1), row(8, 1)))}
	runCommits(t, []commitCase{
		{id: "F31b", schema: schema, before: have, commit: ms(deleteKeys("Parent", key(1))), code: codes.FailedPrecondition, text: "referencing row(s) found in table `Referencing`", table: "Child", columns: "A", want: "1"},
		{id: "F31c", schema: schema, before: have, commit: ms(deleteKeys("Parent", key(1)), deleteKeys("Referencing", key(5))), table: "Child", columns: "A"},
		{id: "F32", schema: schema, before: have, commit: ms(deleteKeys("Child", key(1)), insert("Child", "A,B", row(2, 2))), table: "Child", columns: "A,B", want: "2,2"},
		{id: "F39a", schema: chain, before: full, commit: ms(deleteKeys("Parent", key(1))), table: "Under", columns: "Z,Y", want: "8,1"},
		{id: "F39b", schema: chain, before: full, commit: ms(deleteKeys("Parent", key(1))), table: "Referencing", columns: "X"},
	})
}

func TestConformanceCommitTimestampKeys(t *testing.T) {
	const sentinel = "spanner.commit_timestamp()"
	schema := []string{`CREATE TABLE t (K INT64 NOT NULL, Ts TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true)) PRIMARY KEY (K, Ts)`}
	past := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano)
	future := time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	have := before(insert("t", "K,Ts", row(1, past)))
	del := func(kind, from, to string) []*spannerpb.Mutation {
		return ms(deleteRange("t", kind, key(1, from), key(1, to)))
	}
	runCommits(t, []commitCase{
		{id: "F59a", schema: schema, before: have, commit: del("()", past, future), code: codes.FailedPrecondition, text: "Cannot write timestamps in the future"},
		{id: "F59b", schema: schema, before: have, commit: del("()", future, future), table: "t", columns: "Ts", want: past},
		{id: "F59c", schema: schema, before: have, commit: del("[]", future, future), code: codes.FailedPrecondition},
		{id: "F59d", schema: schema, before: have, commit: del("[]", past, sentinel), table: "t", columns: "Ts"},
	})
	t.Run("F56", func(t *testing.T) {
		f := start(t, emulator.Options{}, schema...)
		const layout = "2006-01-02T15:04:05.999999999Z"
		first := f.committedAt(t, insert("t", "K,Ts", row(1, sentinel))).Format(layout)
		second := f.committedAt(t, insert("t", "K,Ts", row(1, sentinel))).Format(layout)
		if got := f.cells(t, "t", "", "Ts", all()); got != first+"|"+second {
			t.Errorf("keys %s, committed at %s and %s", got, first, second)
		}
	})
}

func TestConformanceIndexes(t *testing.T) {
	t.Run("C24", func(t *testing.T) {
		f := start(t, emulator.Options{}, `CREATE TABLE t (K INT64 NOT NULL, V STRING(MAX), N NUMERIC, J JSON) PRIMARY KEY (K)`, `CREATE INDEX ByV ON t(V) STORING (N, J)`)
		f.commit(t, insert("t", "K,V,N,J", row(1, "b", "1.50", `{"a": 1}`), row(2, "a", nil, nil)))
		if got, want := f.cells(t, "t", "ByV", "V,N,J,K", all()), `a,-,-,2|b,1.5,{"a":1},1`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("C25", func(t *testing.T) {
		f := start(t, emulator.Options{}, `CREATE TABLE Names (Name STRING(MAX)) PRIMARY KEY (Name)`, schemaU[0], `CREATE INDEX UsersByName ON Users(Name, Age), INTERLEAVE IN Names`)
		f.commit(t, insert("Names", "Name", row("a")), insert("Users", "ID,Name", row(1, "a"), row(2, "no parent row")))
		const want = "a,1|no parent row,2"
		if got := f.cells(t, "Users", "UsersByName", "Name,ID", all()); got != want {
			t.Errorf("index holds %s", got)
		}
		f.commit(t, deleteKeys("Names", key("a")))
		if got := f.cells(t, "Users", "UsersByName", "Name,ID", all()); got != want {
			t.Errorf("index holds %s after its parent row went", got)
		}
	})
	t.Run("C10", func(t *testing.T) {
		f := start(t, emulator.Options{}, `CREATE TABLE N (K NUMERIC) PRIMARY KEY (K DESC)`)
		const least = "-99999999999999999999999999999.999999999"
		f.commit(t, insert("N", "K", row(least), row("123.456789"), row("0")))
		if got := f.cells(t, "N", "", "K", all()); got != "123.456789|0|"+least {
			t.Errorf("got %s", got)
		}
	})
	// A limit counts rows in key order, whatever the order of the request.
	t.Run("C14", func(t *testing.T) {
		f := start(t, emulator.Options{}, schemaU...)
		f.commit(t, insert("Users", "ID", row(1), row(2), row(3), row(4)))
		r := &receiver{t: t}
		set := &spannerpb.KeySet{Keys: keyList(key(4), key(2), key(2)), Ranges: []*spannerpb.KeyRange{keyRange("[]", key(2), key(3))}}
		if err := f.read(t, r, &spannerpb.ReadRequest{Table: "Users", Columns: []string{"ID", "ID"}, KeySet: set, Limit: 1}); err != nil || spell(r) != "2,2" {
			t.Errorf("got %s, error %v", spell(r), err)
		}
	})
	t.Run("index of another table", func(t *testing.T) {
		f := start(t, emulator.Options{}, append(schemaU, `CREATE TABLE Other (ID INT64) PRIMARY KEY (ID)`, `CREATE INDEX UsersByName ON Users(Name)`)...)
		err := f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: "Other", Index: "UsersByName", Columns: []string{"ID"}, KeySet: all()})
		wantCode(t, err, codes.FailedPrecondition)
	})
	// A key of an index read has the index's columns alone.
	t.Run("index keys", func(t *testing.T) {
		f := start(t, emulator.Options{}, append(schemaU, `CREATE INDEX ByNameAge ON Users(Name, Age DESC)`)...)
		f.commit(t, insert("Users", "ID,Name,Age", row(1, "a", 1), row(2, "a", 2), row(3, "a", 2), row(4, "b", 9)))
		for set, want := range map[*spannerpb.KeySet]string{
			{Keys: keyList(key("a", 2))}:                          "2|3",
			ranges(keyRange("[]", key("a"), key("a"))):            "2|3|1",
			ranges(keyRange("[)", key("a", 2), key("a", 1))):      "2|3",
			ranges(keyRange("(]", key("a", 2), key("b"))):         "1|4",
			ranges(keyRange("[]", key("a", 1), key("a", 2))):      "",
			ranges(keyRange("[]", key("a", 9), key("a", -9))):     "2|3|1",
			ranges(keyRange("[]", key("a", nil), key("a", nil))):  "",
			ranges(keyRange("[]", key("a", 5), key("a", nil))):    "2|3|1",
			ranges(keyRange("()", key("a"), key("b"))):            "",
			ranges(keyRange("[)", key(nil), key("b"))):            "2|3|1",
			ranges(keyRange("[]", key(), key("a", 2))):            "2|3",
			ranges(keyRange("(]", key("a", 2), key())):            "1|4",
			ranges(keyRange("[]", key("0"), key("z"))):            "2|3|1|4",
			ranges(keyRange("[]", key("a", 2), key("a", 2, "x"))): "error",
		} {
			r := &receiver{t: t}
			err := f.read(t, r, &spannerpb.ReadRequest{Table: "Users", Index: "ByNameAge", Columns: []string{"ID"}, KeySet: set})
			if got := spell(r); err == nil && got != want || err != nil && want != "error" {
				t.Errorf("%v: %s, error %v, want %s", set, got, err, want)
			}
		}
		err := f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: "Users", Index: "ByNameAge", Columns: []string{"ID"}, KeySet: &spannerpb.KeySet{Keys: keyList(key("a", 2, 3))}})
		wantCode(t, err, codes.FailedPrecondition, "key parts")
	})
}

func TestIdentityColumns(t *testing.T) {
	f := start(t, emulator.Options{}, `CREATE TABLE t (K INT64 GENERATED BY DEFAULT AS IDENTITY (BIT_REVERSED_POSITIVE SKIP RANGE 4611686018427387904, 4611686018427387904 START COUNTER WITH 1), V INT64) PRIMARY KEY (K)`)
	// The counter's 1 would become 2^62, which is left out; 2 becomes 2^61.
	f.commit(t, insert("t", "V", row(1), row(2)), insert("t", "K,V", row(5, 3)))
	if got, want := f.cells(t, "t", "", "K,V", all()), "5,3|2305843009213693952,1|6917529027641081856,2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f.ddl(t, "ALTER TABLE t ADD COLUMN X STRING(MAX)", "ALTER TABLE t ALTER COLUMN K ALTER IDENTITY SET NO SKIP RANGE")
	f.commit(t, insert("t", "V", row(4)))
	f.ddl(t, "ALTER TABLE t ALTER COLUMN K ALTER IDENTITY RESTART COUNTER WITH 1")
	f.commit(t, insert("t", "V", row(5)))
	if got, want := f.cells(t, "t", "", "K,V", all()), "5,3|1152921504606846976,4|2305843009213693952,1|4611686018427387904,5|6917529027641081856,2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT identity_start_with_counter, identity_skip_range_min FROM information_schema.columns WHERE table_name = 't' AND column_name = 'K'"})
	if err != nil || got != "1,-" {
		t.Errorf("information schema says %s, error %v", got, err)
	}
}
