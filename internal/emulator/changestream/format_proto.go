package changestream

import (
	"encoding/base64"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// protoFormat is that of MUTABLE_KEY_RANGE mode: a
// google.spanner.v1.ChangeStreamRecord.
type protoFormat struct {
	// bytes: PostgreSQL, which has no PROTO type.
	bytes bool
}

// A few long names of the generated code.
type (
	dataMessage   = spannerpb.ChangeStreamRecord_DataChangeRecord
	columnMessage = spannerpb.ChangeStreamRecord_DataChangeRecord_ColumnMetadata
	modMessage    = spannerpb.ChangeStreamRecord_DataChangeRecord_Mod
	modValue      = spannerpb.ChangeStreamRecord_DataChangeRecord_ModValue
	startMessage  = spannerpb.ChangeStreamRecord_PartitionStartRecord
	endMessage    = spannerpb.ChangeStreamRecord_PartitionEndRecord
	eventMessage  = spannerpb.ChangeStreamRecord_PartitionEventRecord
	moveIn        = spannerpb.ChangeStreamRecord_PartitionEventRecord_MoveInEvent
	moveOut       = spannerpb.ChangeStreamRecord_PartitionEventRecord_MoveOutEvent
)

func (f protoFormat) columns(def *catalog.ChangeStream) []value.Field {
	if f.bytes {
		return []value.Field{{Name: "read_proto_bytes_" + strings.ToLower(def.Name), Type: value.BytesType}}
	}
	return []value.Field{{Name: "ChangeRecord", Type: &value.Type{Code: value.ProtoCode, ProtoName: "google.spanner.v1.ChangeStreamRecord"}}}
}

// messageRow is the row of one record.
func messageRow(m *spannerpb.ChangeStreamRecord) value.Row {
	// Only text that is no UTF-8 could fail, and there is none.
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return textRow(base64.StdEncoding.AppendEncode(nil, b))
}

// types are the encoded column metadata, as they stand in a DataChangeRecord.
func (protoFormat) types(w *watch, set *columnSet) []byte {
	m := &dataMessage{}
	w.keyTypes(set, func(c *catalog.Column, isKey bool) {
		m.ColumnMetadata = append(m.ColumnMetadata, &columnMessage{
			Name: c.Name, Type: c.Type.Proto(), IsPrimaryKey: isKey, OrdinalPosition: int64(c.Ordinal + 1),
		})
	})
	b, _ := proto.Marshal(m)
	return b
}

func (protoFormat) data(t *txnRecords, r *record) value.Row {
	m := &dataMessage{
		CommitTimestamp:                      timestamppb.New(t.tx.Timestamp),
		RecordSequence:                       sequenceText(r.sequence),
		ServerTransactionId:                  t.id,
		IsLastRecordInTransactionInPartition: r.last,
		Table:                                r.watch.table.Name,
		ModType:                              protoModType(r.modType),
		ValueCaptureType:                     protoCapture(t.capture),
		NumberOfRecordsInTransaction:         int32(len(t.records)),
		NumberOfPartitionsInTransaction:      int32(t.partitions),
		TransactionTag:                       t.tx.Tag,
	}
	index := make(map[*catalog.Column]int32)
	r.watch.keyTypes(r.columns, func(c *catalog.Column, _ bool) { index[c] = int32(len(index)) })
	for i := range r.mods {
		mod := &r.mods[i]
		m.Mods = append(m.Mods, &modMessage{
			Keys:      modValues(index, r.watch.key, mod.key),
			NewValues: modValues(index, mod.newColumns, mod.new),
			OldValues: modValues(index, mod.oldColumns, mod.old),
		})
	}
	// Merging adds the column metadata, which are ready.
	_ = proto.UnmarshalOptions{Merge: true}.Unmarshal(r.columns.types, m)
	return messageRow(&spannerpb.ChangeStreamRecord{Record: &spannerpb.ChangeStreamRecord_DataChangeRecord_{DataChangeRecord: m}})
}

func modValues(index map[*catalog.Column]int32, set *columnSet, row value.Row) []*modValue {
	if set == nil {
		return nil
	}
	out := make([]*modValue, 0, len(set.columns))
	for _, c := range set.columns {
		v := &structpb.Value{}
		_ = proto.Unmarshal(row.Cell(c.Slot), v)
		out = append(out, &modValue{ColumnMetadataIndex: index[c], Value: v})
	}
	return out
}

func protoModType(m ModType) spannerpb.ChangeStreamRecord_DataChangeRecord_ModType {
	return spannerpb.ChangeStreamRecord_DataChangeRecord_ModType(spannerpb.ChangeStreamRecord_DataChangeRecord_ModType_value[m.String()])
}

func protoCapture(c catalog.CaptureType) spannerpb.ChangeStreamRecord_DataChangeRecord_ValueCaptureType {
	return spannerpb.ChangeStreamRecord_DataChangeRecord_ValueCaptureType(spannerpb.ChangeStreamRecord_DataChangeRecord_ValueCaptureType_value[string(c)])
}

func (protoFormat) heartbeat(ts value.Value) value.Row {
	m := &spannerpb.ChangeStreamRecord_HeartbeatRecord{Timestamp: timestamppb.New(ts.AsTime())}
	return messageRow(&spannerpb.ChangeStreamRecord{Record: &spannerpb.ChangeStreamRecord_HeartbeatRecord_{HeartbeatRecord: m}})
}

func (protoFormat) children(ts value.Value, sequence int, children []child) value.Row {
	m := &startMessage{StartTimestamp: timestamppb.New(ts.AsTime()), RecordSequence: sequenceText(sequence)}
	for _, c := range children {
		m.PartitionTokens = append(m.PartitionTokens, c.token)
	}
	return messageRow(&spannerpb.ChangeStreamRecord{Record: &spannerpb.ChangeStreamRecord_PartitionStartRecord_{PartitionStartRecord: m}})
}

// event tells a partition of keys that moved.
func (protoFormat) event(m *eventMessage) value.Row {
	return messageRow(&spannerpb.ChangeStreamRecord{Record: &spannerpb.ChangeStreamRecord_PartitionEventRecord_{PartitionEventRecord: m}})
}

func (protoFormat) end(m *endMessage) value.Row {
	return messageRow(&spannerpb.ChangeStreamRecord{Record: &spannerpb.ChangeStreamRecord_PartitionEndRecord_{PartitionEndRecord: m}})
}
