package keyset

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// parsePart turns a JSON value into a key part of type t. The errors name types
// but not the value: keys may be personal data.
func parsePart(t *spannerpb.Type, element any) (part, error) {
	if element == nil {
		return part{wire: structpb.NewNullValue()}, nil
	}
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		if b, ok := element.(bool); ok {
			return part{structpb.NewBoolValue(b), b}, nil
		}
		return part{}, errors.New("a BOOL is true or false")
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		return floatPart(element)
	default:
		return textPart(t, element)
	}
}

func floatPart(element any) (part, error) {
	if number, ok := element.(json.Number); ok {
		f, err := number.Float64()
		if err != nil {
			return part{}, errors.New("the number is out of the range of a FLOAT64")
		}
		return part{structpb.NewNumberValue(f), f}, nil
	}
	switch element {
	case "NaN":
		return part{structpb.NewStringValue("NaN"), math.NaN()}, nil
	case "Infinity":
		return part{structpb.NewStringValue("Infinity"), math.Inf(1)}, nil
	case "-Infinity":
		return part{structpb.NewStringValue("-Infinity"), math.Inf(-1)}, nil
	}
	return part{}, errors.New(`a float is a number or one of "NaN", "Infinity", "-Infinity"`)
}

// textPart parses the types whose form on the wire is a string.
func textPart(t *spannerpb.Type, element any) (part, error) {
	var text string
	switch e := element.(type) {
	case string:
		text = e
	case json.Number:
		if code := t.GetCode(); code == spannerpb.TypeCode_INT64 || code == spannerpb.TypeCode_ENUM || code == spannerpb.TypeCode_NUMERIC {
			text = e.String()
			break
		}
		return part{}, fmt.Errorf("a %s is a JSON string, not a number", t.GetCode())
	default:
		return part{}, fmt.Errorf("a %s is not a JSON %s", t.GetCode(), jsonKind(element))
	}
	if t.GetTypeAnnotation() == spannerpb.TypeAnnotationCode_PG_NUMERIC {
		// It has other bounds and a NaN, and cannot be part of a key.
		return part{structpb.NewStringValue(text), text}, nil
	}
	text, sort, err := parseText(t.GetCode(), text)
	if err != nil {
		return part{}, err
	}
	return part{structpb.NewStringValue(text), sort}, nil
}

func jsonKind(element any) string {
	switch element.(type) {
	case bool:
		return "boolean"
	case []any:
		return "array"
	default:
		return "object"
	}
}

var (
	// belowNanoseconds finds what time.Parse would silently cut off.
	belowNanoseconds = regexp.MustCompile(`[.,]\d{9}\d*[1-9]`)

	numericText = regexp.MustCompile(`^-?\d{1,29}(\.\d{1,9})?$`)
	uuidText    = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// parseText checks text and returns it in Spanner's canonical form, with a value
// to compare by.
func parseText(code spannerpb.TypeCode, text string) (canonical string, sort any, err error) {
	switch code {
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", nil, errors.New("not an INT64: a whole number within 64 bits")
		}
		return strconv.FormatInt(n, 10), n, nil
	case spannerpb.TypeCode_STRING:
		return text, text, nil
	case spannerpb.TypeCode_BYTES:
		raw, err := decodeBase64(text)
		if err != nil {
			return "", nil, errors.New("BYTES are base64")
		}
		return base64.StdEncoding.EncodeToString(raw), string(raw), nil
	case spannerpb.TypeCode_TIMESTAMP:
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || belowNanoseconds.MatchString(text) {
			return "", nil, errors.New("a TIMESTAMP is RFC 3339 to the nanosecond, such as 2026-01-31T12:00:00Z")
		}
		return t.UTC().Format(time.RFC3339Nano), t.UTC(), nil
	case spannerpb.TypeCode_DATE:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "", nil, errors.New("a DATE is such as 2026-01-31, and exists")
		}
		return text, text, nil
	case spannerpb.TypeCode_NUMERIC:
		return parseNumeric(text)
	case spannerpb.TypeCode_UUID:
		text = strings.ToLower(text)
		if !uuidText.MatchString(text) {
			return "", nil, errors.New("not a UUID such as 123e4567-e89b-12d3-a456-426614174000")
		}
		return text, text, nil
	default:
		return "", nil, fmt.Errorf("a %s cannot be part of a key", code)
	}
}

func parseNumeric(text string) (canonical string, sort any, err error) {
	if !numericText.MatchString(text) {
		return "", nil, errors.New("a NUMERIC has at most 29 digits before the point and 9 after it")
	}
	r, _ := new(big.Rat).SetString(text) // the expression above admits only what it reads
	return text, r, nil
}

// decodeBase64 takes padding or none and either alphabet: nothing can be lost.
func decodeBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	return base64.RawStdEncoding.DecodeString(text)
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
	if isNull && c.NullHighest || !isNull && isNaN(a) != isNaN(b) && c.NaNHighest {
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
