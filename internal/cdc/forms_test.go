package cdc_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/cdc"
)

// messages writes records as PartialResultSets of up to n rows.
func (f form) messages(records []*record, n int) [][]byte {
	var out [][]byte
	field := &spannerpb.StructType_Field{Name: "ChangeRecord", Type: f.columnType()}
	meta := &spannerpb.ResultSetMetadata{RowType: &spannerpb.StructType{Fields: []*spannerpb.StructType_Field{field}}}
	for {
		set := &spannerpb.PartialResultSet{Metadata: meta}
		meta = nil
		for i := range min(n, len(records)) {
			set.Values = append(set.Values, f.value(records[i]))
		}
		records = records[len(set.Values):]
		out = append(out, marshal(set))
		if len(records) == 0 {
			return out
		}
	}
}

func (f form) columnType() *spannerpb.Type {
	switch f {
	case googleSQL:
		return &spannerpb.Type{Code: spannerpb.TypeCode_ARRAY, ArrayElementType: &spannerpb.Type{Code: spannerpb.TypeCode_STRUCT}}
	case postgreSQL:
		return &spannerpb.Type{Code: spannerpb.TypeCode_JSON, TypeAnnotation: spannerpb.TypeAnnotationCode_PG_JSONB}
	default:
		return &spannerpb.Type{Code: spannerpb.TypeCode_PROTO, ProtoTypeFqn: "google.spanner.v1.ChangeStreamRecord"}
	}
}

func (f form) value(r *record) *structpb.Value {
	switch f {
	case googleSQL:
		return r.structs()
	case postgreSQL:
		return r.json()
	default:
		return str(base64.StdEncoding.EncodeToString(marshal(r.proto())))
	}
}

func str(s string) *structpb.Value          { return structpb.NewStringValue(s) }
func boolean(b bool) *structpb.Value        { return structpb.NewBoolValue(b) }
func integer(n int) *structpb.Value         { return str(strconv.Itoa(n)) }
func stamp(t cdc.Timestamp) *structpb.Value { return str(t.String()) }

func list(values ...*structpb.Value) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: values})
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// number is the JSON form that INT64 values have in mods.
func number(v *int) any {
	if v == nil {
		return nil
	}
	return strconv.Itoa(*v)
}

// mod returns the three objects of the change's only mod.
func (c *change) mod() (keys, newValues, oldValues map[string]any) {
	keys = map[string]any{"Id": strconv.Itoa(c.key)}
	newValues, oldValues = map[string]any{}, map[string]any{}
	note := fmt.Sprintf("<note> of %d\n\"quoted\"", c.key)
	switch c.modType {
	case "INSERT":
		newValues = map[string]any{"Value": number(c.value), "Note": note}
	case "UPDATE":
		newValues = map[string]any{"Value": number(c.value), "Note": note}
		oldValues = map[string]any{"Value": number(c.old)}
	default:
		oldValues = map[string]any{"Value": number(c.old), "Note": note}
	}
	return keys, newValues, oldValues
}

var worldColumns = []struct {
	name, code string
	key        bool
}{{"Id", "INT64", true}, {"Value", "INT64", false}, {"Note", "STRING", false}}

func (r *record) structs() *structpb.Value {
	changes, beats, children := list(), list(), list()
	switch {
	case r.change != nil:
		changes = list(r.change.structs())
	case r.beat:
		beats = list(list(stamp(r.at)))
	default:
		tokens := list()
		for _, c := range r.children {
			parents := list()
			for _, p := range c.parents {
				parents.GetListValue().Values = append(parents.GetListValue().Values, str(p))
			}
			tokens.GetListValue().Values = append(tokens.GetListValue().Values, list(str(c.token), parents))
		}
		children = list(list(stamp(r.at), str(r.sequence), tokens))
	}
	return list(list(changes, beats, children))
}

func (c *change) structs() *structpb.Value {
	columns := list()
	for i, col := range worldColumns {
		columns.GetListValue().Values = append(columns.GetListValue().Values,
			list(str(col.name), str(`{"code":"`+col.code+`"}`), boolean(col.key), integer(i+1)))
	}
	keys, newValues, oldValues := c.mod()
	mods := list(list(str(jsonText(keys)), str(jsonText(newValues)), str(jsonText(oldValues))))
	return list(stamp(c.at), str(c.sequence), str(c.transaction), boolean(c.last), str(c.table), columns, mods,
		str(c.modType), str("NEW_ROW_AND_OLD_VALUES"), integer(c.records), integer(c.partitions), str(c.tag), boolean(false))
}

type object = map[string]any

func (r *record) json() *structpb.Value {
	var v object
	switch {
	case r.change != nil:
		c := r.change
		var columns []object
		for i, col := range worldColumns {
			columns = append(columns, object{"name": col.name, "type": object{"code": col.code}, "is_primary_key": col.key, "ordinal_position": i + 1})
		}
		keys, newValues, oldValues := c.mod()
		v = object{"data_change_record": object{
			"commit_timestamp": c.at.String(), "record_sequence": c.sequence, "server_transaction_id": c.transaction,
			"is_last_record_in_transaction_in_partition": c.last, "table_name": c.table, "column_types": columns,
			"mods": []object{{"keys": keys, "new_values": newValues, "old_values": oldValues}}, "mod_type": c.modType,
			"value_capture_type": "NEW_ROW_AND_OLD_VALUES", "number_of_records_in_transaction": c.records,
			"number_of_partitions_in_transaction": c.partitions, "transaction_tag": c.tag, "is_system_transaction": false,
		}}
	case r.beat:
		v = object{"heartbeat_record": object{"timestamp": r.at.String()}}
	default:
		var children []object
		for _, c := range r.children {
			parents := c.parents
			if parents == nil {
				parents = []string{}
			}
			children = append(children, object{"token": c.token, "parent_partition_tokens": parents})
		}
		v = object{"child_partitions_record": object{"start_timestamp": r.at.String(), "record_sequence": r.sequence, "child_partitions": children}}
	}
	return str(jsonText(v))
}

func (r *record) proto() *spannerpb.ChangeStreamRecord {
	at := timestamppb.New(r.at.Time())
	out := &spannerpb.ChangeStreamRecord{}
	switch {
	case r.change != nil:
		out.Record = &spannerpb.ChangeStreamRecord_DataChangeRecord_{DataChangeRecord: r.change.proto()}
	case r.beat:
		out.Record = &spannerpb.ChangeStreamRecord_HeartbeatRecord_{HeartbeatRecord: &spannerpb.ChangeStreamRecord_HeartbeatRecord{Timestamp: at}}
	case len(r.starts) > 0:
		start := &spannerpb.ChangeStreamRecord_PartitionStartRecord{StartTimestamp: at, RecordSequence: r.sequence}
		for _, p := range r.starts {
			start.PartitionTokens = append(start.PartitionTokens, p.token)
		}
		out.Record = &spannerpb.ChangeStreamRecord_PartitionStartRecord_{PartitionStartRecord: start}
	case r.isEnd:
		out.Record = &spannerpb.ChangeStreamRecord_PartitionEndRecord_{PartitionEndRecord: &spannerpb.ChangeStreamRecord_PartitionEndRecord{EndTimestamp: at, RecordSequence: r.sequence}}
	default:
		event := &spannerpb.ChangeStreamRecord_PartitionEventRecord{CommitTimestamp: at, RecordSequence: r.sequence}
		for _, token := range r.from {
			event.MoveInEvents = append(event.MoveInEvents, &spannerpb.ChangeStreamRecord_PartitionEventRecord_MoveInEvent{SourcePartitionToken: token})
		}
		for _, token := range r.to {
			event.MoveOutEvents = append(event.MoveOutEvents, &spannerpb.ChangeStreamRecord_PartitionEventRecord_MoveOutEvent{DestinationPartitionToken: token})
		}
		out.Record = &spannerpb.ChangeStreamRecord_PartitionEventRecord_{PartitionEventRecord: event}
	}
	return out
}

func (c *change) proto() *spannerpb.ChangeStreamRecord_DataChangeRecord {
	type data = spannerpb.ChangeStreamRecord_DataChangeRecord
	out := &data{
		CommitTimestamp: timestamppb.New(c.at.Time()), RecordSequence: c.sequence, ServerTransactionId: c.transaction,
		IsLastRecordInTransactionInPartition: c.last, Table: c.table,
		ValueCaptureType:             spannerpb.ChangeStreamRecord_DataChangeRecord_NEW_ROW_AND_OLD_VALUES,
		ModType:                      spannerpb.ChangeStreamRecord_DataChangeRecord_ModType(spannerpb.ChangeStreamRecord_DataChangeRecord_ModType_value[c.modType]),
		NumberOfRecordsInTransaction: int32(c.records), NumberOfPartitionsInTransaction: int32(c.partitions), TransactionTag: c.tag,
	}
	for i, col := range worldColumns {
		out.ColumnMetadata = append(out.ColumnMetadata, &spannerpb.ChangeStreamRecord_DataChangeRecord_ColumnMetadata{
			Name: col.name, Type: &spannerpb.Type{Code: spannerpb.TypeCode(spannerpb.TypeCode_value[col.code])}, IsPrimaryKey: col.key, OrdinalPosition: int64(i + 1),
		})
	}
	keys, newValues, oldValues := c.mod()
	values := func(m map[string]any) []*spannerpb.ChangeStreamRecord_DataChangeRecord_ModValue {
		var all []*spannerpb.ChangeStreamRecord_DataChangeRecord_ModValue
		for i, col := range worldColumns {
			v, ok := m[col.name]
			if !ok {
				continue
			}
			value, err := structpb.NewValue(v)
			if err != nil {
				panic(err)
			}
			all = append(all, &spannerpb.ChangeStreamRecord_DataChangeRecord_ModValue{ColumnMetadataIndex: int32(i), Value: value})
		}
		return all
	}
	out.Mods = []*spannerpb.ChangeStreamRecord_DataChangeRecord_Mod{{Keys: values(keys), NewValues: values(newValues), OldValues: values(oldValues)}}
	return out
}
