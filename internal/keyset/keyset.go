package keyset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/schema"
)

// Column is one column of a key space: of a primary key, or of an index's key.
type Column struct {
	Name       string
	Type       *spannerpb.Type
	Descending bool
	// Dialect says what types are called, and where NaN is: in PostgreSQL above all
	// other numbers, else below.
	Dialect schema.Dialect
	// NullHighest says that NULL is above all other values, which is so in
	// PostgreSQL unless a key says otherwise; else it is the lowest.
	NullHighest bool
}

// part is one parsed part of a key: its form on the wire and one to compare by.
type part struct {
	wire *structpb.Value
	sort any // nil is NULL; else a type that compareParts knows
}

// ParseKey parses a whole key: as many parts as there are columns.
func ParseKey(columns []Column, text string) (*structpb.ListValue, error) {
	parts, err := parseKey(columns, []byte(text))
	if err == nil && len(parts) != len(columns) {
		err = fmt.Errorf("the key has %d parts (%s), not %d", len(columns), names(columns), len(parts))
	}
	if err != nil {
		return nil, err
	}
	return wireOf(parts), nil
}

// ParsePrefix parses the first parts of keys into the range of all keys that
// begin with them.
func ParsePrefix(columns []Column, text string) (*spannerpb.KeyRange, error) {
	parts, err := parseKey(columns, []byte(text))
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, errors.New("a prefix has at least one part")
	}
	return &spannerpb.KeyRange{
		StartKeyType: &spannerpb.KeyRange_StartClosed{StartClosed: wireOf(parts)},
		EndKeyType:   &spannerpb.KeyRange_EndClosed{EndClosed: wireOf(parts)},
	}, nil
}

// ParseRange parses a range such as [[1,"a"],[2]): a bracket for an end that
// belongs to the range or a parenthesis for one that does not, and each end as
// the first parts of a key. An end [] with a bracket is open to all.
func ParseRange(columns []Column, text string) (*spannerpb.KeyRange, error) {
	raw := bytes.TrimSpace([]byte(text))
	if len(raw) < 2 || !bytes.ContainsRune([]byte("[("), rune(raw[0])) || !bytes.ContainsRune([]byte("])"), rune(raw[len(raw)-1])) {
		return nil, errors.New(`not a range such as [[1],[10]) or (["a"],["b"]]`)
	}
	startText, endText, err := cutEnds(raw[1 : len(raw)-1])
	if err != nil {
		return nil, err
	}
	start, err := parseKey(columns, startText)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	end, err := parseKey(columns, endText)
	if err != nil {
		return nil, fmt.Errorf("end: %w", err)
	}
	if comparePrefixes(columns, start, end) > 0 {
		return nil, errors.New("its end comes before its start in the order of the key" + orderHint(columns, start, end))
	}
	return keyRange(raw[0] == '[', raw[len(raw)-1] == ']', wireOf(start), wireOf(end)), nil
}

func keyRange(startClosed, endClosed bool, start, end *structpb.ListValue) *spannerpb.KeyRange {
	r := &spannerpb.KeyRange{
		StartKeyType: &spannerpb.KeyRange_StartOpen{StartOpen: start},
		EndKeyType:   &spannerpb.KeyRange_EndOpen{EndOpen: end},
	}
	if startClosed {
		r.StartKeyType = &spannerpb.KeyRange_StartClosed{StartClosed: start}
	}
	if endClosed {
		r.EndKeyType = &spannerpb.KeyRange_EndClosed{EndClosed: end}
	}
	return r
}

// cutEnds splits two JSON arrays with a comma between them.
func cutEnds(raw []byte) (start, end []byte, err error) {
	const form = "a range has two ends, each a JSON array, with a comma between them"
	decoder := json.NewDecoder(bytes.NewReader(raw))
	var first json.RawMessage
	if err := decoder.Decode(&first); err != nil {
		return nil, nil, errors.New(form)
	}
	rest := bytes.TrimSpace(raw[decoder.InputOffset():])
	rest, found := bytes.CutPrefix(rest, []byte(","))
	if !found {
		return nil, nil, errors.New(form)
	}
	return first, rest, nil
}

// parseKey parses the first parts of a key.
func parseKey(columns []Column, raw []byte) ([]part, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var elements []any
	if err := decoder.Decode(&elements); err != nil || elements == nil {
		return nil, errors.New("not a JSON array of key parts")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON array")
	}
	if len(elements) > len(columns) {
		return nil, fmt.Errorf("the key has %d parts (%s), not %d", len(columns), names(columns), len(elements))
	}
	parts := make([]part, len(elements))
	for i, element := range elements {
		var err error
		if parts[i], err = parsePart(columns[i].Type, element); err != nil {
			c := columns[i]
			return nil, fmt.Errorf("part %d, column %s (%s): %w", i+1, c.Name, c.Dialect.TypeName(c.Type), err)
		}
	}
	return parts, nil
}

func wireOf(parts []part) *structpb.ListValue {
	list := &structpb.ListValue{Values: make([]*structpb.Value, len(parts))}
	for i, p := range parts {
		list.Values[i] = p.wire
	}
	return list
}

func names(columns []Column) string {
	var b bytes.Buffer
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Name)
	}
	return b.String()
}

// orderHint says what is unusual of the first column in which two keys differ.
func orderHint(columns []Column, a, b []part) string {
	for i, c := range columns[:min(len(a), len(b))] {
		if c.compare(a[i], b[i]) == 0 {
			continue
		}
		isNull := a[i].sort == nil || b[i].sort == nil
		switch {
		case isNull && c.NullHighest != c.Descending:
			return " (" + c.Name + " has NULL last)"
		case isNull:
			return " (" + c.Name + " has NULL first)"
		case c.Descending:
			return " (" + c.Name + " is descending)"
		}
		return ""
	}
	return ""
}
