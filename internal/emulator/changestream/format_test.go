package changestream_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/changestream"
	"spanbulk/internal/emulator/value"
)

const mixedDDL = "CREATE TABLE T (K INT64 NOT NULL, V INT64, J JSON, F FLOAT64, A ARRAY<STRING(MAX)>, B BOOL) PRIMARY KEY (K)"

// mixed is an insert, an update and a delete of rows with values of many types.
func mixed(d *database) time.Time {
	row := func(k int64, text string) value.Row {
		j, _ := value.ParseJSON(`{"b": "x\"y", "a": [1, null]}`)
		return value.Row(nil).AppendValue(value.Int64(k)).AppendNull().AppendValue(j).AppendValue(value.Float64(2)).
			AppendValue(value.Array(value.StringType, []value.Value{value.String(text), value.Null(value.StringType)})).AppendValue(value.Bool(true))
	}
	var written changestream.Slots
	written.Add(5)
	written.Add(2)
	return d.commit(
		changestream.Mod{Table: d.table("T"), Key: key(1), Type: changestream.Insert, New: row(1, "a")},
		changestream.Mod{Table: d.table("T"), Key: key(2), Type: changestream.Update, Old: row(2, "b"), New: row(2, "c"), Written: written},
		changestream.Mod{Table: d.table("T"), Key: key(3), Type: changestream.Delete, Old: row(3, "d")},
	)
}

// records are the wire texts of a stream's records at a time.
func records(t *testing.T, s *changestream.Stream, at time.Time) []string {
	t.Helper()
	var out []string
	for _, r := range query(t, s, changestream.Query{Start: at, End: at, Token: s.Active()[0].Token, Heartbeat: time.Second}) {
		var v structpb.Value
		if err := proto.Unmarshal(r.Row.Cell(0), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v.GetStringValue())
	}
	return out
}

var changing = regexp.MustCompile(`("commit_timestamp":"|"server_transaction_id":")[^"]*`)

func TestConformanceRecordPostgreSQL(t *testing.T) {
	t.Run("J39", testPostgreSQLJSON)
}

func testPostgreSQLJSON(t *testing.T) {
	d := newDatabase(t, changestream.Options{PostgreSQL: true, Partitions: 1}, mixedDDL, "CREATE CHANGE STREAM S FOR T")
	s := d.stream("S")
	if c := s.Columns(); len(c) != 1 || c[0].Name != "read_json_s" || c[0].Type.Annotation != spannerpb.TypeAnnotationCode_PG_JSONB {
		t.Errorf("columns %+v", c)
	}
	got := records(t, s, mixed(d))
	types := func(names ...string) string {
		all := map[string]string{
			"K": `{"is_primary_key":true,"name":"K","ordinal_position":1,"type":{"code":"INT64"}}`,
			"V": `{"is_primary_key":false,"name":"V","ordinal_position":2,"type":{"code":"INT64"}}`,
			"J": `{"is_primary_key":false,"name":"J","ordinal_position":3,"type":{"code":"JSON"}}`,
			"F": `{"is_primary_key":false,"name":"F","ordinal_position":4,"type":{"code":"FLOAT64"}}`,
			"A": `{"is_primary_key":false,"name":"A","ordinal_position":5,"type":{"array_element_type":{"code":"STRING"},"code":"ARRAY"}}`,
			"B": `{"is_primary_key":false,"name":"B","ordinal_position":6,"type":{"code":"BOOL"}}`,
		}
		var out []string
		for _, n := range names {
			out = append(out, all[n])
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	record := func(types, last, modType, mod, sequence string) string {
		return `{"data_change_record":{"column_types":` + types + `,"commit_timestamp":"","is_last_record_in_transaction_in_partition":` + last +
			`,"is_system_transaction":false,"mod_type":"` + modType + `","mods":[` + mod + `],"number_of_partitions_in_transaction":1,"number_of_records_in_transaction":3,` +
			`"record_sequence":"` + sequence + `","server_transaction_id":"","table_name":"T","transaction_tag":"tag","value_capture_type":"OLD_AND_NEW_VALUES"}}`
	}
	const doc = `"{\"a\":[1,null],\"b\":\"x\\\"y\"}"`
	all := func(text string) string {
		return `{"A":["` + text + `",null],"B":true,"F":2.0,"J":` + doc + `,"V":null}`
	}
	want := []string{
		record(types("K", "V", "J", "F", "A", "B"), "false", "INSERT", `{"keys":{"K":"1"},"new_values":`+all("a")+`,"old_values":{}}`, "00000000"),
		record(types("K", "J", "B"), "false", "UPDATE", `{"keys":{"K":"2"},"new_values":{"B":true,"J":`+doc+`},"old_values":{"B":true,"J":`+doc+`}}`, "00000001"),
		record(types("K", "V", "J", "F", "A", "B"), "true", "DELETE", `{"keys":{"K":"3"},"new_values":{},"old_values":`+all("d")+`}`, "00000002"),
	}
	for i := range got {
		if !json.Valid([]byte(got[i])) {
			t.Errorf("no JSON: %s", got[i])
		}
		got[i] = changing.ReplaceAllString(got[i], "$1")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got)\n%s", diff)
	}

	made, err := s.Split(s.Active()[0].Token)
	if err != nil {
		t.Fatal(err)
	}
	end := made[0].Start
	parent := made[0].Parents[0]
	q := query(t, s, changestream.Query{Start: end, Token: parent, Heartbeat: time.Second})
	if m := decode(t, q[0].Row); len(q) != 1 || m.kind != "children" || len(m.tokens) != 2 || m.parents[1][0] != parent || !m.at.Equal(end) {
		t.Errorf("child record %+v", m)
	}
	q = query(t, s, changestream.Query{Start: end, End: end, Token: made[0].Token, Heartbeat: time.Second})
	if m := decode(t, q[0].Row); m.kind != "heartbeat" || !m.at.Equal(end) {
		t.Errorf("heartbeat %+v", m)
	}
	q = query(t, s, changestream.Query{Start: end, Heartbeat: time.Second})
	if m := decode(t, q[1].Row); len(q) != 2 || m.parents[0] == nil || len(m.parents[0]) != 0 || m.sequence != "00000001" {
		t.Errorf("initial query %+v", m)
	}
}

func TestMutableRecords(t *testing.T) {
	d := newDatabase(t, one(1), mixedDDL, mutableDDL)
	s := d.stream("S")
	if c := s.Columns(); len(c) != 1 || c[0].Name != "ChangeRecord" || c[0].Type.ProtoName != "google.spanner.v1.ChangeStreamRecord" {
		t.Errorf("columns %+v", c)
	}
	got := records(t, s, mixed(d))
	if len(got) != 3 {
		t.Fatalf("%d records", len(got))
	}
	update := protoRecord(t, got[1]).GetDataChangeRecord()
	if update.GetModType() != spannerpb.ChangeStreamRecord_DataChangeRecord_UPDATE || update.GetValueCaptureType() != spannerpb.ChangeStreamRecord_DataChangeRecord_OLD_AND_NEW_VALUES ||
		update.GetTransactionTag() != "tag" || update.GetRecordSequence() != "00000001" || update.GetNumberOfRecordsInTransaction() != 3 || update.GetNumberOfPartitionsInTransaction() != 1 {
		t.Errorf("record %v", update)
	}
	var columns []string
	for _, c := range update.GetColumnMetadata() {
		columns = append(columns, c.GetName())
	}
	if diff := cmp.Diff([]string{"K", "J", "B"}, columns); diff != "" || update.GetColumnMetadata()[2].GetOrdinalPosition() != 6 || !update.GetColumnMetadata()[0].GetIsPrimaryKey() {
		t.Errorf("column metadata %v", update.GetColumnMetadata())
	}
	mod := update.GetMods()[0]
	if len(mod.GetKeys()) != 1 || mod.GetKeys()[0].GetValue().GetStringValue() != "2" || len(mod.GetNewValues()) != 2 || len(mod.GetOldValues()) != 2 {
		t.Fatalf("mod %v", mod)
	}
	for _, v := range mod.GetNewValues() {
		switch columns[v.GetColumnMetadataIndex()] {
		case "J":
			if v.GetValue().GetStringValue() != `{"a":[1,null],"b":"x\"y"}` {
				t.Errorf("value %v", v)
			}
		case "B":
			if !v.GetValue().GetBoolValue() {
				t.Errorf("value %v", v)
			}
		default:
			t.Errorf("value of column %d", v.GetColumnMetadataIndex())
		}
	}
	if del := protoRecord(t, got[2]).GetDataChangeRecord(); len(del.GetMods()[0].GetNewValues()) != 0 || len(del.GetMods()[0].GetOldValues()) != 5 || !del.GetIsLastRecordInTransactionInPartition() {
		t.Errorf("record %v", del)
	}
}
