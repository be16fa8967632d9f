package keyset

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"math"
	"math/big"
	"strconv"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
)

// parsePart turns a JSON value into a key part of type t: what a field of a record
// may be. The errors do not name the value: keys may be personal data.
func parsePart(t *spannerpb.Type, element any) (part, error) {
	if element == nil {
		return part{wire: structpb.NewNullValue()}, nil
	}
	switch t.GetCode() {
	case spannerpb.TypeCode_ARRAY, spannerpb.TypeCode_STRUCT, spannerpb.TypeCode_JSON, spannerpb.TypeCode_TYPE_CODE_UNSPECIFIED:
		return part{}, errors.New("no value of its type can be part of a key")
	}
	v, err := scalarValue(t, element)
	if err != nil {
		return part{}, err
	}
	sort, err := sortOf(t, v)
	return part{v, sort}, err
}

// scalarValue reads a value that is no ARRAY as a record's field is read.
func scalarValue(t *spannerpb.Type, element any) (*structpb.Value, error) {
	encoded, err := format.AppendElement(nil, t, element)
	if err != nil {
		return nil, err
	}
	v := new(structpb.Value)
	return v, proto.Unmarshal(encoded, v)
}

// sortOf returns what a value in Spanner's canonical form is compared by.
func sortOf(t *spannerpb.Type, v *structpb.Value) (any, error) {
	text := v.GetStringValue()
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return v.GetBoolValue(), nil
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		if _, isNumber := v.GetKind().(*structpb.Value_NumberValue); isNumber {
			return v.GetNumberValue(), nil
		}
		return strconv.ParseFloat(text, 64) // NaN and the infinities
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		return strconv.ParseInt(text, 10, 64)
	case spannerpb.TypeCode_BYTES:
		raw, err := base64.StdEncoding.DecodeString(text)
		return string(raw), err
	case spannerpb.TypeCode_TIMESTAMP:
		return time.Parse(time.RFC3339Nano, text)
	case spannerpb.TypeCode_NUMERIC:
		if r, ok := new(big.Rat).SetString(text); ok {
			return r, nil
		}
	}
	return text, nil
}

// comparePrefixes compares what two prefixes have in common, in key order:
// descending columns the other way round. A prefix of the other is equal to it.
func comparePrefixes(columns []Column, a, b []part) int {
	for i := range min(len(a), len(b)) {
		if c := columns[i].compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// compare compares two parts in the order of the column.
func (c Column) compare(a, b part) int {
	order := compareParts(a.sort, b.sort)
	isNull := (a.sort == nil) != (b.sort == nil)
	if isNull && c.NullHighest || !isNull && isNaN(a) != isNaN(b) && c.Dialect == schema.PostgreSQL {
		order = -order
	}
	if c.Descending {
		order = -order
	}
	return order
}

func isNaN(p part) bool {
	f, isFloat := p.sort.(float64)
	return isFloat && math.IsNaN(f)
}

// compareParts compares two parts of one type as GoogleSQL does: NULL comes
// first, then NaN.
func compareParts(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	switch x := a.(type) {
	case bool:
		return cmp.Compare(boolRank(x), boolRank(b.(bool)))
	case int64:
		return cmp.Compare(x, b.(int64))
	case float64:
		return cmp.Compare(x, b.(float64))
	case time.Time:
		return x.Compare(b.(time.Time))
	case *big.Rat:
		return x.Cmp(b.(*big.Rat))
	default:
		return bytes.Compare([]byte(a.(string)), []byte(b.(string)))
	}
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}
