package format

import (
	"errors"
	"fmt"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// encodeFunc appends the form one format gives to a value of one Spanner type.
// The value is not NULL, which a format writes alike for all types, and comes
// as wire.Value.Parse returns it. On an error the returned buffer is of no use.
type encodeFunc func(dst []byte, kind wire.Kind, payload []byte) ([]byte, error)

// checkFields refuses what no format can write: no columns, repeated names
// (which queries may have, and which no reader of the output could tell apart)
// and types without a form outside Spanner. STRUCT fields are checked likewise.
func checkFields(what string, fields []*spannerpb.StructType_Field) error {
	if len(fields) == 0 {
		return fmt.Errorf("%s: no columns", what)
	}
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.GetName()] {
			return fmt.Errorf("%s: two columns named %q; give them different names with AS", what, f.GetName())
		}
		seen[f.GetName()] = true
		if err := checkType(f.GetName(), f.GetType()); err != nil {
			return err
		}
	}
	return nil
}

func checkType(column string, t *spannerpb.Type) error {
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL, spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM,
		spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64, spannerpb.TypeCode_NUMERIC,
		spannerpb.TypeCode_STRING, spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO,
		spannerpb.TypeCode_TIMESTAMP, spannerpb.TypeCode_DATE, spannerpb.TypeCode_JSON,
		spannerpb.TypeCode_UUID, spannerpb.TypeCode_INTERVAL:
		return nil
	case spannerpb.TypeCode_ARRAY:
		return checkType(column, t.GetArrayElementType())
	case spannerpb.TypeCode_STRUCT:
		return checkFields("column "+column, t.GetStructType().GetFields())
	default:
		return fmt.Errorf("column %s: type %s cannot be written to a file", column, schema.GoogleSQL.TypeName(t))
	}
}

// The ways in which a value can fail to be what its column's type says. They
// speak of the server's side: a value that came out of Spanner is right unless
// what is between is wrong.
var (
	errInvalidUTF8    = errors.New("text is not valid UTF-8")
	errNotInteger     = errors.New("text is not a decimal integer")
	errNotNumber      = errors.New("text is not a decimal number")
	errNotFloat       = errors.New("text is none of NaN, Infinity, -Infinity")
	errFloat32Range   = errors.New("number does not fit FLOAT32")
	errNotJSON        = errors.New("text is not valid JSON")
	errNullRequired   = errors.New("NULL in a NOT NULL column")
	errMalformedValue = errors.New("value is not a well-formed google.protobuf.Value")
	errMalformedList  = errors.New("value holds a malformed list")
	errFieldCount     = errors.New("STRUCT has not as many values as its type has fields")
)

// wrongKind is the error for a value of a kind that no value of its type has.
func wrongKind(k wire.Kind) error {
	if k == wire.Invalid {
		return errMalformedValue
	}
	return fmt.Errorf("value came as %s", k)
}

// columnError names the column of an error from an encodeFunc, which no value of
// Spanner's ends in. Encoders do not know the dialect.
func columnError(f *spannerpb.StructType_Field, err error) error {
	return fmt.Errorf("column %s (%s): %w", f.GetName(), schema.GoogleSQL.TypeName(f.GetType()), err)
}
