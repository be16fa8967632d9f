package emulator_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/store"
)

func encoded(t testing.TB, m proto.Message) store.Mutation {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stocked is a store with rows in tables of many kinds.
func stocked(t testing.TB) *store.Store {
	t.Helper()
	s := store.New(sql.Compiler{}, time.Now)
	_, err := s.ApplyDDL([]string{
		"CREATE TABLE P (K INT64 NOT NULL, S STRING(10) DEFAULT ('d'), V INT64, T TIMESTAMP OPTIONS (allow_commit_timestamp = true), G INT64 AS (V + 1) STORED, CONSTRAINT pos CHECK (V > 0)) PRIMARY KEY (K)",
		"CREATE TABLE C (K INT64 NOT NULL, L STRING(MAX), A ARRAY<STRING(3)>, J JSON) PRIMARY KEY (K, L DESC), INTERLEAVE IN PARENT P ON DELETE CASCADE",
		"CREATE TABLE R (X INT64 NOT NULL, K INT64, CONSTRAINT f FOREIGN KEY (K) REFERENCES P (K) ON DELETE CASCADE) PRIMARY KEY (X)",
		"CREATE UNIQUE NULL_FILTERED INDEX ByV ON P(V) STORING (S)",
		"CREATE INDEX ByG ON P(G DESC)",
		"CREATE CHANGE STREAM W FOR ALL",
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := []store.Mutation{
		encoded(t, insert("P", "K,V", row(1, 10), row(2, 20))),
		encoded(t, insert("C", "K,L,A,J", row(1, "a", []any{"x"}, `{"a":1}`), row(1, nil, nil, nil))),
		encoded(t, insert("R", "X,K", row(7, 1))),
	}
	if _, err := s.Commit(rows, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// checkStatus: whatever is asked, the answer is a status that Spanner has for it.
func checkStatus(t *testing.T, err error) {
	t.Helper()
	switch status.Code(err) {
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented:
	default:
		t.Fatalf("unexpected status: %v", err)
	}
}

// FuzzDDL applies a statement to a database with rows, expressions compiled and
// rows migrated, and writes to what came of it.
func FuzzDDL(f *testing.F) {
	for _, seed := range []string{
		"ALTER TABLE P ADD COLUMN N STRING(MAX) AS (CONCAT(S, CAST(V AS STRING))) STORED",
		"ALTER TABLE P ADD COLUMN N INT64 NOT NULL DEFAULT (EXTRACT(YEAR FROM CURRENT_TIMESTAMP()))",
		"ALTER TABLE C ADD CONSTRAINT x CHECK (LENGTH(L) < 5 AND K IN (1, 2))", "ALTER TABLE R DROP CONSTRAINT f",
		"ALTER TABLE P ALTER COLUMN S BYTES(10)", "ALTER TABLE P ALTER COLUMN V SET DEFAULT (DIV(1, 0))", "ALTER TABLE C DROP COLUMN J",
		"CREATE INDEX I ON C(K, L DESC) STORING (A)", "CREATE UNIQUE INDEX U ON C(J)", "DROP INDEX ByG", "DROP TABLE R",
		"CREATE TABLE N (A INT64, B INT64 AS (IF(A > 0, A, NULL)) STORED) PRIMARY KEY (B)", "ALTER INDEX ByV DROP STORED COLUMN S",
		"CREATE VIEW V SQL SECURITY INVOKER AS SELECT p.S, LEFT(p.S, 1) AS l FROM P AS p", "CREATE OR REPLACE VIEW V SQL SECURITY DEFINER AS SELECT * FROM V",
		"CREATE SEQUENCE Q BIT_REVERSED_POSITIVE SKIP RANGE 1, 5", "CREATE PROTO BUNDLE (a.B)", "ALTER TABLE P ADD COLUMN L TOKENLIST AS (TOKENIZE_NUMBER(V)) HIDDEN",
		"ALTER TABLE P ADD COLUMN U TIMESTAMP DEFAULT (PENDING_COMMIT_TIMESTAMP()) ON UPDATE (CURRENT_TIMESTAMP()) OPTIONS (allow_commit_timestamp = true)",
		"ALTER DATABASE d SET OPTIONS (default_time_zone = 'Europe/Paris')", "ALTER TABLE C SET ON DELETE NO ACTION", "DROP CHANGE STREAM W",
		"0\"\\0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, statement string) {
		s := stocked(t)
		_, err := s.ApplyDDL([]string{statement})
		checkStatus(t, err)
		for _, text := range s.Schema().DDL("d") {
			if text == "" {
				t.Fatal("an empty statement is printed")
			}
		}
		for _, m := range []store.Mutation{encoded(t, upsert("P", "K", row(1), row(3))), encoded(t, replace("C", "K,L", row(1, "a"))), encoded(t, deleteSet("P", all()))} {
			_, err := s.Commit([]store.Mutation{m}, nil)
			checkStatus(t, err)
		}
	})
}

// FuzzCommit commits any bytes as a mutation.
func FuzzCommit(f *testing.F) {
	for _, m := range ms(
		insert("P", "K,V", row(3, 30)), update("P", "K,S", row(1, "s")), upsert("P", "K,T", row(1, "spanner.commit_timestamp()")), replace("C", "K,L,A", row(1, "a", []any{"b", nil})),
		deleteKeys("P", key(1)), deleteRange("C", "[)", key(1, "z"), key(1)), deleteSet("R", all()), insert("R", "X,K", row(8, 9)), insert("", "")) {
		f.Add([]byte(encoded(f, m)))
	}
	f.Fuzz(func(t *testing.T, mutation []byte) {
		s := stocked(t)
		_, err := s.Commit([]store.Mutation{mutation}, nil)
		checkStatus(t, err)
		_, err = s.Commit([]store.Mutation{mutation, encoded(t, upsert("P", "K,V", row(1, 11))), mutation}, nil)
		checkStatus(t, err)
	})
}
