package emulator_test

import (
	"strings"
	"testing"

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
		of("J09", oldAndNew, ms(user1), ms(deleteKeys("Users", key(9))), ""),
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
}
