package cdc

import (
	"strconv"
)

// recordLines writes data change records as JSON objects, with the names and in
// the order that Spanner has for their members.
type recordLines struct {
	prefixes [memberCount][]byte // `,"name":`, nil for members that are left out
	token    []byte              // `,"partition_token":"..."`, nil without
}

// The members of a data change record, in order.
const (
	memberCommit = iota
	memberSequence
	memberTransaction
	memberLast
	memberTable
	memberColumns
	memberMods
	memberModType
	memberCapture
	memberRecords
	memberPartitions
	memberTag
	memberSystem
	memberCount
)

// newRecordLines writes the members that m chooses, and those that are no
// metadata; all if m is nil.
func newRecordLines(m *metadata, partition string) *recordLines {
	l := &recordLines{}
	for i, name := range [memberCount]string{
		"commit_timestamp", "record_sequence", "server_transaction_id", "is_last_record_in_transaction_in_partition", "table_name",
		"column_types", "mods", "mod_type", "value_capture_type", "number_of_records_in_transaction",
		"number_of_partitions_in_transaction", "transaction_tag", "is_system_transaction",
	} {
		if m == nil || i == memberColumns || i == memberMods || m.has(name) {
			l.prefixes[i] = []byte(`,"` + name + `":`)
		}
	}
	if m != nil && m.partition {
		l.token = appendQuoted([]byte(`,"partition_token":`), []byte(partition))
	}
	return l
}

// append appends one line for c.
func (l *recordLines) append(dst []byte, c *Change) []byte {
	start := len(dst)
	dst = l.text(dst, memberCommit, c.CommitText)
	dst = l.text(dst, memberSequence, c.Sequence)
	dst = l.text(dst, memberTransaction, c.Transaction)
	dst = l.boolean(dst, memberLast, c.Last)
	dst = l.text(dst, memberTable, c.Table)
	dst = appendColumns(append(dst, l.prefixes[memberColumns]...), c.Columns)
	dst = appendMods(append(dst, l.prefixes[memberMods]...), c.Mods)
	dst = l.text(dst, memberModType, c.ModType)
	dst = l.text(dst, memberCapture, c.Capture)
	dst = l.digits(dst, memberRecords, c.Records)
	dst = l.digits(dst, memberPartitions, c.Partitions)
	dst = l.text(dst, memberTag, c.Tag)
	dst = l.boolean(dst, memberSystem, c.System)
	dst = append(dst, l.token...)
	dst[start] = '{' // in place of the first comma
	return append(dst, '}', '\n')
}

func (l *recordLines) text(dst []byte, member int, s []byte) []byte {
	if l.prefixes[member] == nil {
		return dst
	}
	return appendQuoted(append(dst, l.prefixes[member]...), s)
}

func (l *recordLines) boolean(dst []byte, member int, b bool) []byte {
	if l.prefixes[member] == nil {
		return dst
	}
	return strconv.AppendBool(append(dst, l.prefixes[member]...), b)
}

func (l *recordLines) digits(dst []byte, member int, digits []byte) []byte {
	if l.prefixes[member] == nil {
		return dst
	}
	return appendDigits(append(dst, l.prefixes[member]...), digits)
}

// appendDigits writes a number that Spanner may not have sent.
func appendDigits(dst, digits []byte) []byte {
	if len(digits) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, digits...)
}

func appendColumns(dst []byte, columns []Column) []byte {
	dst = append(dst, '[')
	for i := range columns {
		c := &columns[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(append(dst, `{"name":`...), c.Name)
		dst = appendObject(append(dst, `,"type":`...), c.Type)
		dst = strconv.AppendBool(append(dst, `,"is_primary_key":`...), c.Key)
		dst = appendDigits(append(dst, `,"ordinal_position":`...), c.Ordinal)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendMods(dst []byte, mods []Mod) []byte {
	dst = append(dst, '[')
	for i := range mods {
		m := &mods[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendObject(append(dst, `{"keys":`...), m.Keys)
		dst = appendObject(append(dst, `,"new_values":`...), m.New)
		dst = appendObject(append(dst, `,"old_values":`...), m.Old)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendObject writes a JSON text as Spanner sent it.
func appendObject(dst, text []byte) []byte {
	if len(text) == 0 {
		return append(dst, "null"...)
	}
	return appendOnOneLine(dst, text)
}

// The names under which the other records stand in the output: those that
// Spanner has for them. A watermark is ours.
func (k RecordKind) member() string {
	switch k {
	case Heartbeat:
		return "heartbeat_record"
	case ChildPartitions:
		return "child_partitions_record"
	case PartitionStart:
		return "partition_start_record"
	case PartitionEnd:
		return "partition_end_record"
	case PartitionEvent:
		return "partition_event_record"
	default:
		return "data_change_record"
	}
}

// appendEvent writes a record that is no data change record as one line, with
// the token of the partition it came from.
func appendEvent(dst []byte, r *Record, partition string) []byte {
	times := map[RecordKind]string{
		Heartbeat: "timestamp", ChildPartitions: "start_timestamp", PartitionStart: "start_timestamp",
		PartitionEnd: "end_timestamp", PartitionEvent: "commit_timestamp",
	}
	dst = append(append(append(dst, `{"`...), r.Kind.member()...), `":{"`...)
	dst = append(append(dst, times[r.Kind]...), `":`...)
	dst = appendQuoted(dst, []byte(r.At.String()))
	if r.Kind != Heartbeat {
		dst = appendQuoted(append(dst, `,"record_sequence":`...), r.Sequence)
	}
	switch r.Kind {
	case ChildPartitions:
		dst = appendChildren(append(dst, `,"child_partitions":`...), r.Children)
	case PartitionStart:
		dst = append(dst, `,"partition_tokens":`...)
		dst = appendTokens(dst, len(r.Children), func(i int) []byte { return r.Children[i].Token })
	case PartitionEvent:
		dst = appendMoves(append(dst, `,"move_in_events":`...), "source_partition_token", r.MovedIn)
		dst = appendMoves(append(dst, `,"move_out_events":`...), "destination_partition_token", r.MovedOut)
	}
	dst = appendQuoted(append(dst, `,"partition_token":`...), []byte(partition))
	return append(dst, "}}\n"...)
}

func appendTokens(dst []byte, n int, token func(int) []byte) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, token(i))
	}
	return append(dst, ']')
}

func appendChildren(dst []byte, children []ChildToken) []byte {
	dst = append(dst, '[')
	for i, c := range children {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(append(dst, `{"token":`...), c.Token)
		dst = append(dst, `,"parent_partition_tokens":`...)
		dst = appendTokens(dst, len(c.Parents), func(i int) []byte { return c.Parents[i] })
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendMoves(dst []byte, name string, tokens [][]byte) []byte {
	dst = append(dst, '[')
	for i, token := range tokens {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, `{"`...), name...), `":`...)
		dst = append(appendQuoted(dst, token), '}')
	}
	return append(dst, ']')
}

// appendWatermark writes a watermark as one line.
func appendWatermark(dst []byte, t Timestamp) []byte {
	dst = appendQuoted(append(dst, `{"watermark_record":{"timestamp":`...), []byte(t.String()))
	return append(dst, "}}\n"...)
}
