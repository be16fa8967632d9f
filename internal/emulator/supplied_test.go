package emulator_test

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

// PENDING_COMMIT_TIMESTAMP() as DEFAULT and ON UPDATE is the commit timestamp
// that the client is told.
func TestPendingCommitTimestampByDefault(t *testing.T) {
	const stamp = " TIMESTAMP NOT NULL DEFAULT (PENDING_COMMIT_TIMESTAMP())"
	f := start(t, emulator.Options{},
		"CREATE TABLE T (K INT64 NOT NULL, V INT64, Made"+stamp+" OPTIONS (allow_commit_timestamp = true), Changed"+stamp+" ON UPDATE (PENDING_COMMIT_TIMESTAMP()) OPTIONS (allow_commit_timestamp = true)) PRIMARY KEY (K)",
		"CREATE TABLE Log (Stamp"+stamp+" OPTIONS (allow_commit_timestamp = true), V INT64) PRIMARY KEY (Stamp)",
		"CREATE CHANGE STREAM S FOR ALL OPTIONS (value_capture_type = 'NEW_VALUES')")
	stampOf := func(resp *spannerpb.CommitResponse) string {
		return resp.GetCommitTimestamp().AsTime().Format(time.RFC3339Nano)
	}
	first, _ := f.commitTime(t, insert("T", "K,V", row(1, 1)), insert("Log", "V", row(7)))
	f.wantSQL(t, "SELECT Made, Changed, (SELECT Stamp FROM Log) FROM T", strings.Repeat(stampOf(first)+",", 2)+stampOf(first))
	second, at := f.commitTime(t, update("T", "K,V", row(1, 2)))
	f.wantSQL(t, "SELECT Made, Changed FROM T", stampOf(first)+","+stampOf(second))
	if got := f.changes(t, "S", at, at); len(got) != 1 || !strings.Contains(strings.Join(got[0].columns, ","), "Changed") {
		t.Errorf("change records %v", got)
	}
	third, _ := f.commitTime(t, upsert("T", "K,V", row(1, 3), row(2, 3)))
	f.wantSQL(t, "SELECT Made, Changed FROM T ORDER BY K", stampOf(first)+","+stampOf(third)+"|"+stampOf(third)+","+stampOf(third))
	_, err := f.tryCommit(t, insert("T", "K,Changed", row(3, nil)))
	wantCode(t, err, codes.FailedPrecondition)
	f.ddl(t, "ALTER TABLE T ALTER COLUMN Changed DROP ON UPDATE")
	f.commit(t, update("T", "K,V", row(2, 4)))
	f.wantSQL(t, "SELECT Changed FROM T WHERE K = 2", stampOf(third))
}

func TestSequences(t *testing.T) {
	f := start(t, emulator.Options{},
		"CREATE SEQUENCE Plain OPTIONS (sequence_kind = 'bit_reversed_positive')",
		"CREATE SEQUENCE Late BIT_REVERSED_POSITIVE SKIP RANGE 0, 1000 START COUNTER WITH 5",
		"CREATE TABLE T (K INT64 DEFAULT (GET_NEXT_SEQUENCE_VALUE(SEQUENCE Plain)), L INT64 NOT NULL DEFAULT (GET_NEXT_SEQUENCE_VALUE(SEQUENCE Late)), V INT64) PRIMARY KEY (K)")
	f.commit(t, insert("T", "V", row(1), row(2), row(3)))
	f.wantSQL(t, "SELECT K, L FROM T ORDER BY V", "4611686018427387904,5764607523034234880|2305843009213693952,3458764513820540928|6917529027641081856,8070450532247928832")
	f.ddl(t, "ALTER SEQUENCE Late SET OPTIONS (start_with_counter = 5)", "ALTER SEQUENCE Plain SKIP RANGE 1, 2")
	f.commit(t, insert("T", "V", row(4)))
	f.wantSQL(t, "SELECT K, L FROM T WHERE V = 4", "1152921504606846976,5764607523034234880")
	f.wantSQL(t, "SELECT name, option_name, option_type, option_value FROM information_schema.sequence_options WHERE name = 'Late' ORDER BY 2",
		"Late,sequence_kind,STRING,bit_reversed_positive|Late,skip_range_max,INT64,1000|Late,skip_range_min,INT64,0|Late,start_with_counter,INT64,5")
	f.tryDDL(t, codes.FailedPrecondition, "T.K", "DROP SEQUENCE Plain")
	f.ddl(t, "DROP TABLE T", "DROP SEQUENCE Plain")
}
