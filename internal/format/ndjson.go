package format

import (
	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// NewNDJSON returns a Format of one JSON object a line, with a field for every
// column, NULLs included. Field names are the column names.
func NewNDJSON(columns []*spannerpb.StructType_Field, o ValueOptions) (Format, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := checkFields("NDJSON", columns); err != nil {
		return nil, err
	}
	plan, err := o.jsonFields(columns)
	if err != nil {
		return nil, err
	}
	return &ndjson{plan}, nil
}

// ndjson is both Format and Encoder: it has no scratch space, so every
// goroutine may use the same one.
type ndjson struct {
	columns []jsonField
}

func (n *ndjson) Header() []byte { return nil }

func (n *ndjson) NewEncoder() Encoder { return n }

func (n *ndjson) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	if len(row) != len(n.columns) {
		return dst, wrongLength(len(row), len(n.columns))
	}
	start := len(dst)
	for i := range n.columns {
		c := &n.columns[i]
		dst = append(dst, c.prefix...)
		kind, p := row[i].Parse()
		if kind == wire.Null {
			dst = append(dst, "null"...)
			continue
		}
		var err error
		if dst, err = c.encode(dst, kind, p); err != nil {
			return dst[:start], columnError(c.field, err)
		}
	}
	return append(dst, '}', '\n'), nil
}

func (n *ndjson) Seal(_, rows []byte, _ int) ([]byte, error) { return rows, nil }
