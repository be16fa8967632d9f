package keyset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// ParseParam parses the value of a query parameter of type t as written on a
// command line: text as it is, ARRAYs as JSON. NULL, bare, is NULL for every
// type but STRING. Text may be what a field of a record may be.
func ParseParam(t *spannerpb.Type, text string) (*structpb.Value, error) {
	if t.GetCode() != spannerpb.TypeCode_STRING && strings.EqualFold(text, "NULL") {
		return structpb.NewNullValue(), nil
	}
	if t.GetCode() == spannerpb.TypeCode_ARRAY {
		return fromJSON(t, text)
	}
	return paramValue(t, text)
}

func fromJSON(t *spannerpb.Type, text string) (*structpb.Value, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var element any
	if err := decoder.Decode(&element); err != nil || decoder.More() {
		return nil, errors.New("not the JSON text of an array")
	}
	return paramValue(t, element)
}

// paramValue turns a JSON value, or text, into a value of type t.
func paramValue(t *spannerpb.Type, element any) (*structpb.Value, error) {
	switch t.GetCode() {
	case spannerpb.TypeCode_ARRAY:
		return arrayValue(t.GetArrayElementType(), element)
	case spannerpb.TypeCode_JSON:
		return jsonValue(element)
	case spannerpb.TypeCode_INTERVAL:
		// Spanner reads it itself; there is no form to normalise to.
		if text, isText := element.(string); !isText || !isInterval(text) {
			return nil, errors.New("not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S")
		}
	case spannerpb.TypeCode_STRUCT, spannerpb.TypeCode_TYPE_CODE_UNSPECIFIED:
		return nil, errors.New("parameters of this type are not supported")
	}
	return scalarValue(t, element)
}

var intervalText = regexp.MustCompile(strings.ReplaceAll(`^P(#Y)?(#M)?(#W)?(#D)?(T(#H)?(#M)?(#S)?)?$`, "#", `[-+]?\d+([.,]\d+)?`))

// isInterval reports whether text has the form of a duration. How long one may be
// is for Spanner to say.
func isInterval(text string) bool {
	return intervalText.MatchString(text) && text != "P" && !strings.HasSuffix(text, "T")
}

func arrayValue(t *spannerpb.Type, element any) (*structpb.Value, error) {
	if element == nil {
		return structpb.NewNullValue(), nil
	}
	elements, ok := element.([]any)
	if !ok {
		return nil, errors.New("not a JSON array")
	}
	list := &structpb.ListValue{}
	for i, e := range elements {
		v := structpb.NewNullValue()
		if e != nil {
			var err error
			if v, err = paramValue(t, e); err != nil {
				return nil, fmt.Errorf("element %d: %w", i+1, err)
			}
		}
		list.Values = append(list.Values, v)
	}
	return structpb.NewListValue(list), nil
}

// jsonValue takes the text of a JSON, or a value inside an ARRAY.
func jsonValue(element any) (*structpb.Value, error) {
	raw, isText := element.(string)
	if isText && json.Valid([]byte(raw)) {
		return structpb.NewStringValue(raw), nil
	}
	if isText {
		return nil, errors.New("not JSON")
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(element); err != nil {
		return nil, err
	}
	return structpb.NewStringValue(strings.TrimSuffix(b.String(), "\n")), nil
}
