package changestream

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// jsonFormat is that of PostgreSQL in IMMUTABLE_KEY_RANGE mode: one jsonb object
// with one member, which is an object and not an array.
type jsonFormat struct{}

func (jsonFormat) columns(def *catalog.ChangeStream) []value.Field {
	return []value.Field{{
		Name: "read_json_" + strings.ToLower(def.Name),
		Type: &value.Type{Code: value.JSONCode, Annotation: spannerpb.TypeAnnotationCode_PG_JSONB},
	}}
}

// textRow is a row of one string_value.
func textRow(text []byte) value.Row {
	inner := 1 + varintSize(len(text)) + len(text)
	row := make(value.Row, 0, 8+inner)
	row = append(row, value.RowTag)
	row = binary.AppendUvarint(row, uint64(inner))
	row = append(row, tagString)
	row = binary.AppendUvarint(row, uint64(len(text)))
	return append(row, text...)
}

func (jsonFormat) types(w *watch, set *columnSet) []byte {
	out := []byte{'['}
	w.keyTypes(set, func(c *catalog.Column, isKey bool) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, `{"is_primary_key":`...)
		out = strconv.AppendBool(out, isKey)
		out = append(out, `,"name":`...)
		out = appendJSONText(out, c.Name)
		out = append(out, `,"ordinal_position":`...)
		out = strconv.AppendInt(out, int64(c.Ordinal+1), 10)
		out = append(out, `,"type":`...)
		out = append(appendJSONType(out, c.Type), '}')
	})
	return append(out, ']')
}

func (jsonFormat) data(t *txnRecords, r *record) value.Row {
	b := []byte(`{"data_change_record":{"column_types":`)
	b = append(b, r.columns.types...)
	b = append(b, `,"commit_timestamp":`...)
	b = appendJSONTime(b, t.tx.Timestamp)
	b = append(b, `,"is_last_record_in_transaction_in_partition":`...)
	b = strconv.AppendBool(b, r.last)
	b = append(b, `,"is_system_transaction":false,"mod_type":"`...)
	b = append(append(b, r.modType.String()...), `","mods":[`...)
	for i := range r.mods {
		m := &r.mods[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendObject(append(b, `{"keys":`...), r.watch.key, m.key)
		b = appendObject(append(b, `,"new_values":`...), m.newColumns, m.new)
		b = append(appendObject(append(b, `,"old_values":`...), m.oldColumns, m.old), '}')
	}
	b = append(b, `],"number_of_partitions_in_transaction":`...)
	b = strconv.AppendInt(b, int64(t.partitions), 10)
	b = append(b, `,"number_of_records_in_transaction":`...)
	b = strconv.AppendInt(b, int64(len(t.records)), 10)
	b = append(b, `,"record_sequence":"`...)
	b = append(appendSequence(b, r.sequence), `","server_transaction_id":"`...)
	b = append(append(b, t.id...), `","table_name":`...)
	b = appendJSONText(b, r.watch.table.Name)
	b = append(b, `,"transaction_tag":`...)
	b = appendJSONText(b, t.tx.Tag)
	b = append(b, `,"value_capture_type":"`...)
	return textRow(append(append(b, t.capture...), `"}}`...))
}

func (jsonFormat) heartbeat(ts value.Value) value.Row {
	b := ts.AppendText([]byte(`{"heartbeat_record":{"timestamp":"`))
	return textRow(append(b, `"}}`...))
}

func (jsonFormat) children(ts value.Value, sequence int, children []child) value.Row {
	b := []byte(`{"child_partitions_record":{"child_partitions":[`)
	for i, c := range children {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"parent_partition_tokens":[`...)
		for j, p := range c.parents {
			if j > 0 {
				b = append(b, ',')
			}
			b = appendJSONText(b, p)
		}
		b = append(b, `],"token":`...)
		b = append(appendJSONText(b, c.token), '}')
	}
	b = append(b, `],"record_sequence":"`...)
	b = append(appendSequence(b, sequence), `","start_timestamp":"`...)
	return textRow(append(ts.AppendText(b), `"}}`...))
}

func appendJSONTime(dst []byte, t time.Time) []byte {
	return append(value.Timestamp(t).AppendText(append(dst, '"')), '"')
}
