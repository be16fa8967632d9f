package cdc

// RecordKind tells what a record of a change stream is.
type RecordKind uint8

// The kinds of records. The first three are those of IMMUTABLE_KEY_RANGE, the
// first two and the last three those of MUTABLE_KEY_RANGE.
const (
	DataChange RecordKind = iota + 1
	Heartbeat
	ChildPartitions
	PartitionStart
	PartitionEnd
	PartitionEvent
)

// Record is one record of a change stream, whichever dialect and partition mode
// it came in. Everything in it aliases the message it was read from, or the
// Decoder's scratch space, and is valid until the Decoder reads another record.
type Record struct {
	Kind RecordKind
	// Change is set for DataChange.
	Change Change
	// At is the timestamp of every other kind: of the heartbeat, the start of
	// the children, the end of the partition, the commit of the event.
	At Timestamp
	// Sequence is the record_sequence of every kind but Heartbeat.
	Sequence []byte
	// Children are the partitions of ChildPartitions and PartitionStart.
	Children []ChildToken
	// MovedIn and MovedOut are the other partitions of a PartitionEvent.
	MovedIn, MovedOut [][]byte
}

// ChildToken is a partition in a record, with its parents where it has any.
type ChildToken struct {
	Token   []byte
	Parents [][]byte
}

// Change is a data change record: rows of one table, changed in one way by one
// transaction. Texts are plain UTF-8; Type and the members of Mods are JSON
// texts as Spanner sent them.
type Change struct {
	Commit Timestamp
	// CommitText is the commit timestamp as it was sent.
	CommitText  []byte
	Sequence    []byte
	Transaction []byte
	// Last says that it is the transaction's last record in this partition.
	Last    bool
	Table   []byte
	Columns []Column
	Mods    []Mod
	ModType []byte // INSERT, UPDATE, DELETE
	Capture []byte // the value capture type
	// Records and Partitions are digits: how many of each the transaction has.
	Records, Partitions []byte
	Tag                 []byte
	System              bool
}

// Column describes a column of a Change.
type Column struct {
	Name []byte
	// Type is a JSON object such as {"code":"INT64"}.
	Type []byte
	Key  bool
	// Ordinal is the column's position in the table, in digits.
	Ordinal []byte
}

// Mod is one changed row: three JSON objects, from column name to value.
type Mod struct {
	Keys, New, Old []byte
}

// The names that mod types and capture types have in both dialects.
const (
	modInsert = "INSERT"
	modUpdate = "UPDATE"
	modDelete = "DELETE"

	captureNewRow             = "NEW_ROW"
	captureNewRowAndOldValues = "NEW_ROW_AND_OLD_VALUES"
)

// reset empties r and keeps its memory.
func (r *Record) reset() {
	c := &r.Change
	*c = Change{Columns: c.Columns[:0], Mods: c.Mods[:0]}
	*r = Record{Change: *c, Children: r.Children[:0], MovedIn: r.MovedIn[:0], MovedOut: r.MovedOut[:0]}
}

// child adds an empty child, keeping the memory of one that stood there before.
func (r *Record) child() *ChildToken {
	if len(r.Children) < cap(r.Children) {
		r.Children = r.Children[:len(r.Children)+1]
		c := &r.Children[len(r.Children)-1]
		c.Token, c.Parents = nil, c.Parents[:0]
		return c
	}
	r.Children = append(r.Children, ChildToken{})
	return &r.Children[len(r.Children)-1]
}
