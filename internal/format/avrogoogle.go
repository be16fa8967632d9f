package format

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// GoogleMisreads tells of each column that Google's import would take for
// something else, or not take, in what way.
func (o AvroOptions) GoogleMisreads(columns []*spannerpb.StructType_Field) []string {
	o.Google = true
	var reasons []string
	for _, f := range columns {
		typ, isArray := f.GetType(), f.GetType().GetCode() == spannerpb.TypeCode_ARRAY
		if isArray {
			typ = typ.GetArrayElementType()
		}
		if !o.allowsName(f.GetName()) {
			reasons = append(reasons, fmt.Sprintf("column %q has another name to it, as Avro does not allow this one", f.GetName()))
		}
		switch {
		case isOfBundle(typ):
			reasons = append(reasons, fmt.Sprintf("column %s: its type's proto bundle is not in the export, and must be in the database already", f.GetName()))
		case typ.GetCode() == spannerpb.TypeCode_TIMESTAMP && o.Timestamp == "nanos":
			reasons = append(reasons, fmt.Sprintf("column %s: it takes nanos for micros", f.GetName()))
		case typ.GetCode() == spannerpb.TypeCode_DATE && o.Date == "days" && isArray:
			reasons = append(reasons, fmt.Sprintf("column %s: it knows no arrays of days", f.GetName()))
		case isPGNumeric(typ) && !o.writesBytes():
			reasons = append(reasons, fmt.Sprintf("column %s: it knows no numeric as a string", f.GetName()))
		}
	}
	return reasons
}

// AvroDefinesOther reports whether an Avro file of Google's Spanner export defines
// something that is no table: a named schema, a model, a view, a sequence, a
// change stream. Its manifests list those beside the tables, and only the
// properties of their schemas tell which is which. It reads no further than the
// header.
func AvroDefinesOther(r io.Reader) (bool, error) {
	meta, err := readAvroHeader(&countingReader{r: bufio.NewReader(r)})
	if refused, ok := errors.AsType[*InputError](err); ok {
		return false, refused
	} else if err == io.EOF {
		return false, &InputError{Reason: notAvro}
	} else if err != nil {
		return false, errAvroHeader
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(meta["avro.schema"], &properties); err != nil {
		return false, fmt.Errorf("the Avro file's schema cannot be used: %w", err)
	}
	for _, name := range []string{"spannerEntity", "spannerViewQuery", "spannerChangeStreamForClause", "sequenceKind", "sequenceOption_0"} {
		if _, ok := properties[name]; ok {
			return true, nil
		}
	}
	return false, nil
}
