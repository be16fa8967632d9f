package format

import (
	"fmt"
	"slices"
	"strings"

	"spanbulk/internal/fault"
)

// The fields with a meaning of their own.
const (
	rangeField     = "__range"
	metadataPrefix = "__"
)

// changeMetadata are the fields that a change record can carry beside its
// columns, without the prefix.
var changeMetadata = []string{
	"op", "commit_timestamp", "sequence", "server_transaction_id", "is_last_record_in_transaction_in_partition", "table", "mod_type",
	"value_capture_type", "number_of_records_in_transaction", "number_of_partitions_in_transaction", "transaction_tag",
	"system_transaction", "mod_number",
}

// fieldKind is what becomes of a field.
type fieldKind uint8

const (
	columnField fieldKind = iota
	passedField           // checked and not used
	tableField
	operationField
	keyRangeField
)

// boundField is a field of a record as a table takes it.
type boundField struct {
	kind   fieldKind
	column int // of the target
	// slot is the same for fields that a record may not have together.
	slot int
}

// binding is what DecodeOptions come to for one table.
type binding struct {
	options       *DecodeOptions
	target        *Target
	written       []bool // by column; nil: all
	generatedKeys []int
	nulls         []int // MissingNull: every column that is written
	commitTimes   []int
}

func (o *DecodeOptions) bind(t *Target) *binding {
	b := &binding{options: o, target: t}
	if len(o.Columns) > 0 {
		b.written = make([]bool, len(t.columns()))
		for _, name := range o.Columns {
			if i := o.listed(t, name); i >= 0 {
				b.written[i] = true
			}
		}
	}
	for _, name := range o.CommitTimestamps {
		if i := t.meant(name); i >= 0 {
			b.commitTimes = append(b.commitTimes, i)
		}
	}
	for i, c := range t.columns() {
		switch {
		case c.Generated && t.isKey(i):
			b.generatedKeys = append(b.generatedKeys, i)
		case o.MissingNull && !c.Generated && t.decoders[i].text != nil && b.writes(i):
			b.nulls = append(b.nulls, i)
		}
	}
	return b
}

func (b *binding) writes(column int) bool { return b.written == nil || b.written[column] }

// The slots behind those of the columns.
func (b *binding) slot(kind fieldKind) int { return len(b.target.columns()) + int(kind) }

// firstFreeSlot is where the slots of unknown fields begin.
func (b *binding) firstFreeSlot() int { return b.slot(keyRangeField) + 1 }

// field finds what the field name means. The slot of a field without a
// meaning is negative and up to the caller.
func (b *binding) field(name string) (boundField, error) {
	o := b.options
	switch {
	case name == o.TableField && name != "":
		return boundField{kind: tableField, slot: b.slot(tableField)}, nil
	case name == o.OperationField && name != "":
		return boundField{kind: operationField, slot: b.slot(operationField)}, nil
	}
	column := o.columnOf(b.target, name)
	if column < 0 {
		return b.noColumn(name)
	}
	f := boundField{kind: columnField, column: column, slot: column}
	switch c := &b.target.columns()[column]; {
	case c.Generated && o.OnGenerated != nil && !b.target.isKey(column):
		o.OnGenerated(b.target, c.Name)
		f.kind = passedField
	case c.Generated && !b.target.isKey(column), !b.writes(column), slices.Contains(b.commitTimes, column):
		f.kind = passedField
	case b.target.decoders[column].text == nil:
		return f, fmt.Errorf("column %s: %w", b.target.label(column), errTypeUnknown)
	}
	return f, nil
}

// listed finds the column that a name in Columns means: where CSV has no header
// it is that of a field, which can be renamed.
func (o *DecodeOptions) listed(t *Target, name string) int {
	if column := t.meant(name); column >= 0 && !o.CSV.NoHeader {
		return column
	}
	return o.columnOf(t, name)
}

// columnOf is the column that a field becomes, -1 if none.
func (o *DecodeOptions) columnOf(t *Target, field string) int {
	if to, ok := o.Rename[field]; ok {
		return t.meant(to)
	}
	for from, to := range o.Rename {
		if t.table.Dialect.SameName(from, field) {
			return t.meant(to)
		}
	}
	return t.find(field)
}

// noColumn is field for a name that no column has.
func (b *binding) noColumn(name string) (boundField, error) {
	rest, underscored := strings.CutPrefix(name, metadataPrefix)
	switch {
	case name == rangeField:
		return boundField{kind: keyRangeField, slot: b.slot(keyRangeField)}, nil
	case b.options.IgnoreUnknown, b.options.Changelog && underscored && slices.Contains(changeMetadata, rest):
		return boundField{kind: passedField, slot: -1}, nil
	}
	return boundField{}, &unknownFieldError{name, fmt.Sprintf("table %s has no such column%s", b.target.table.Name, didYouMean(b.target, name))}
}

// unknownFieldError is a field that is no column. The reason does not hold the
// name.
type unknownFieldError struct{ name, reason string }

func (e *unknownFieldError) Error() string { return fmt.Sprintf("field %q: %s", e.name, e.reason) }

func nearest(t *Target, name string) string {
	return fault.Nearest(name, t.table.ColumnNames())
}
