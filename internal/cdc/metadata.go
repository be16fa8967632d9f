package cdc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/fault"
	"spanbulk/internal/wire"
)

// metadataKey is one of the readable metadata of a change.
type metadataKey struct {
	// name is the key as users write it.
	name string
	// member is the name that Spanner's record has for it; empty where it has
	// none.
	member string
	code   spannerpb.TypeCode
	// value appends the wire form of the key's value for a mod of a change.
	value func(dst []byte, c *Change, mod int) []byte
}

// partitionKey is beyond the twelve of the documents and not among "all": what
// partition a record came from is known to the reader of a stream only.
const partitionKey = "partition-token"

// metadataKeys are the documents' twelve keys, in their order.
var metadataKeys = [...]metadataKey{
	{"commit-timestamp", "commit_timestamp", spannerpb.TypeCode_TIMESTAMP, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.CommitText) }},
	{"sequence", "record_sequence", spannerpb.TypeCode_STRING, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.Sequence) }},
	{"server-transaction-id", "server_transaction_id", spannerpb.TypeCode_STRING, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.Transaction) }},
	{"is-last-record-in-transaction-in-partition", "is_last_record_in_transaction_in_partition", spannerpb.TypeCode_BOOL, func(dst []byte, c *Change, _ int) []byte { return wire.AppendBool(dst, c.Last) }},
	{"table", "table_name", spannerpb.TypeCode_STRING, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.Table) }},
	{"mod-type", "mod_type", spannerpb.TypeCode_STRING, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.ModType) }},
	{"value-capture-type", "value_capture_type", spannerpb.TypeCode_STRING, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.Capture) }},
	{"number-of-records-in-transaction", "number_of_records_in_transaction", spannerpb.TypeCode_INT64, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.Records) }},
	{"number-of-partitions-in-transaction", "number_of_partitions_in_transaction", spannerpb.TypeCode_INT64, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.Partitions) }},
	{"transaction-tag", "transaction_tag", spannerpb.TypeCode_STRING, func(dst []byte, c *Change, _ int) []byte { return wire.AppendString(dst, c.Tag) }},
	{"system-transaction", "is_system_transaction", spannerpb.TypeCode_BOOL, func(dst []byte, c *Change, _ int) []byte { return wire.AppendBool(dst, c.System) }},
	{"mod-number", "", spannerpb.TypeCode_INT64, func(dst []byte, _ *Change, mod int) []byte { return wire.AppendString(dst, strconv.Itoa(mod)) }},
}

// MetadataKeys returns the names of the metadata keys, in the documents' order,
// and behind them the one that is not among "all".
func MetadataKeys() []string {
	names := make([]string, 0, len(metadataKeys)+1)
	for i := range metadataKeys {
		names = append(names, metadataKeys[i].name)
	}
	return append(names, partitionKey)
}

// metadata is a choice of keys.
type metadata struct {
	keys      []*metadataKey
	partition bool
}

// newMetadata finds the keys called names; "all" are all twelve. Spelling does
// not tell - from _.
func newMetadata(names []string) (metadata, error) {
	var m metadata
	chosen := map[string]bool{}
	for _, name := range names {
		name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
		known := slices.Contains(MetadataKeys(), name)
		if !known && name != "all" {
			err := fault.DidYouMean(name, MetadataKeys())
			if err == "" {
				err = "the keys are " + strings.Join(MetadataKeys(), ", ")
			}
			return m, fmt.Errorf("unknown metadata key %q: %s", name, err)
		}
		chosen[name] = true
	}
	for i := range metadataKeys {
		if k := &metadataKeys[i]; chosen["all"] || chosen[k.name] {
			m.keys = append(m.keys, k)
		}
	}
	m.partition = chosen[partitionKey]
	return m, nil
}

func (m *metadata) has(member string) bool {
	return slices.ContainsFunc(m.keys, func(k *metadataKey) bool { return k.member == member })
}

// fields are the columns of the keys in a row.
func (m *metadata) fields() []*spannerpb.StructType_Field {
	var all []*spannerpb.StructType_Field
	field := func(name string, code spannerpb.TypeCode) {
		name = "__" + strings.ReplaceAll(name, "-", "_")
		all = append(all, &spannerpb.StructType_Field{Name: name, Type: &spannerpb.Type{Code: code}})
	}
	for _, k := range m.keys {
		field(k.name, k.code)
	}
	if m.partition {
		field(partitionKey, spannerpb.TypeCode_STRING)
	}
	return all
}

func (o *Options) validateMetadata() error {
	_, err := newMetadata(o.Metadata)
	return err
}
