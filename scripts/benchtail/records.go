package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/scripts/internal/bench"
)

// interval is the time between two transactions of a partition.
const interval = 100 * time.Microsecond

var text = structpb.NewStringValue

func list(values ...*structpb.Value) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: values})
}

// messages encodes count updates, each a transaction of its own, from begin on,
// as the PartialResultSets of a partition query: whole rows, perMessage of them,
// with a resume token.
func messages(begin time.Time, count, perMessage int) ([][]byte, error) {
	var out [][]byte
	r := rand.New(rand.NewPCG(1, 2))
	columns, err := columnTypes()
	if err != nil {
		return nil, err
	}
	for first := 0; first < count; first += perMessage {
		m := &spannerpb.PartialResultSet{ResumeToken: fmt.Appendf(nil, "record %d", first)}
		if first == 0 {
			m.Metadata = metadata()
		}
		for i := first; i < min(first+perMessage, count); i++ {
			change, err := update(r, begin.Add(time.Duration(i)*interval), i, columns)
			if err != nil {
				return nil, err
			}
			m.Values = append(m.Values, list(list(list(change), list(), list())))
		}
		b, err := proto.Marshal(m)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// columnTypes is the member column_types of every record.
func columnTypes() (*structpb.Value, error) {
	columns := list()
	for i, c := range bench.Columns() {
		t := map[string]any{"code": c.Code.String()}
		if c.Code == spannerpb.TypeCode_ARRAY {
			t["array_element_type"] = map[string]any{"code": "INT64"}
		}
		b, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		columns.GetListValue().Values = append(columns.GetListValue().Values,
			list(text(c.Name), text(string(b)), structpb.NewBoolValue(i == 0), text(strconv.Itoa(i+1))))
	}
	return columns, nil
}

// update is the data change record of an update of three columns, as a stream
// with NEW_ROW_AND_OLD_VALUES has it.
func update(r *rand.Rand, at time.Time, id int, columns *structpb.Value) (*structpb.Value, error) {
	before, after := bench.Row(r, id), bench.Row(r, id)
	newValues, oldValues := map[string]any{}, map[string]any{}
	for i, c := range bench.Columns()[1:] {
		newValues[c.Name] = after[i+1].AsInterface()
		if i < 3 {
			oldValues[c.Name] = before[i+1].AsInterface()
		}
	}
	mod := list()
	for _, side := range []map[string]any{{"Id": after[0].GetStringValue()}, newValues, oldValues} {
		b, err := json.Marshal(side)
		if err != nil {
			return nil, err
		}
		mod.GetListValue().Values = append(mod.GetListValue().Values, text(string(b)))
	}
	return list(text(at.Format(time.RFC3339Nano)), text("00000000"), text(strconv.Itoa(6329047911+id)), structpb.NewBoolValue(true),
		text(bench.Table), columns, list(mod), text("UPDATE"), text("NEW_ROW_AND_OLD_VALUES"), text("1"), text("1"), text(""),
		structpb.NewBoolValue(false)), nil
}

func metadata() *spannerpb.ResultSetMetadata {
	return &spannerpb.ResultSetMetadata{RowType: &spannerpb.StructType{Fields: []*spannerpb.StructType_Field{{Name: "ChangeRecord", Type: recordType()}}}}
}

func scalar(code spannerpb.TypeCode) *spannerpb.Type { return &spannerpb.Type{Code: code} }

func arrayOf(fields ...*spannerpb.StructType_Field) *spannerpb.Type {
	return &spannerpb.Type{Code: spannerpb.TypeCode_ARRAY, ArrayElementType: &spannerpb.Type{
		Code: spannerpb.TypeCode_STRUCT, StructType: &spannerpb.StructType{Fields: fields},
	}}
}

func field(name string, t *spannerpb.Type) *spannerpb.StructType_Field {
	return &spannerpb.StructType_Field{Name: name, Type: t}
}

// recordType is the type of the column ChangeRecord in GoogleSQL.
func recordType() *spannerpb.Type {
	const (
		stringType    = spannerpb.TypeCode_STRING
		boolType      = spannerpb.TypeCode_BOOL
		int64Type     = spannerpb.TypeCode_INT64
		jsonType      = spannerpb.TypeCode_JSON
		timestampType = spannerpb.TypeCode_TIMESTAMP
	)
	of := func(name string, code spannerpb.TypeCode) *spannerpb.StructType_Field {
		return field(name, scalar(code))
	}
	columns := arrayOf(of("name", stringType), of("type", jsonType), of("is_primary_key", boolType), of("ordinal_position", int64Type))
	mods := arrayOf(of("keys", jsonType), of("new_values", jsonType), of("old_values", jsonType))
	changes := arrayOf(of("commit_timestamp", timestampType), of("record_sequence", stringType), of("server_transaction_id", stringType),
		of("is_last_record_in_transaction_in_partition", boolType), of("table_name", stringType), field("column_types", columns),
		field("mods", mods), of("mod_type", stringType), of("value_capture_type", stringType),
		of("number_of_records_in_transaction", int64Type), of("number_of_partitions_in_transaction", int64Type),
		of("transaction_tag", stringType), of("is_system_transaction", boolType))
	tokens := &spannerpb.Type{Code: spannerpb.TypeCode_ARRAY, ArrayElementType: scalar(stringType)}
	children := arrayOf(of("start_timestamp", timestampType), of("record_sequence", stringType),
		field("child_partitions", arrayOf(of("token", stringType), field("parent_partition_tokens", tokens))))
	return arrayOf(field("data_change_record", changes), field("heartbeat_record", arrayOf(of("timestamp", timestampType))),
		field("child_partitions_record", children))
}
