package tablefile

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// readAvro reads an Avro object container file whose records are rows: a field
// for each column, a union with null where it may be NULL.
func readAvro(in io.Reader, t *catalog.Table, yield func(Record, error) bool) {
	r, err := ocf.NewReader(in)
	if err != nil {
		yield(Record{}, fmt.Errorf("read the Avro header: %w", err))
		return
	}
	defer r.Close()
	columns, err := avroColumns(r.Schema(), t)
	if err != nil {
		yield(Record{}, err)
		return
	}
	record := make(map[string]any)
	var values []byte
	for n := 1; ; n++ {
		clear(record)
		err := r.Decode(&record)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(Record{}, fmt.Errorf("record %d: malformed Avro data", n))
			return
		}
		values = values[:0]
		for _, c := range columns {
			if values, err = appendAvro(values, c.Type, record[c.Name]); err != nil {
				yield(Record{}, fmt.Errorf("record %d: field %s: %w", n, c.Name, err))
				return
			}
		}
		if !yield(Record{Columns: columns, Values: values}, nil) {
			return
		}
	}
}

// avroColumns are the columns that a file has fields for, but for those that
// make their values themselves.
func avroColumns(s *avro.Schema, t *catalog.Table) ([]*catalog.Column, error) {
	root := s.Root()
	if root.Type != "record" {
		return nil, errorString("the Avro file does not hold records")
	}
	var columns []*catalog.Column
	for _, f := range root.Fields {
		c, ok := t.Column(f.Name)
		switch {
		case !ok:
			return nil, errorString("table " + t.Name + " has no column " + f.Name)
		case c.Name != f.Name:
			return nil, errorString("field " + f.Name + " is spelled other than the column " + c.Name)
		case slices.Contains(columns, c):
			return nil, errorString("field " + f.Name + " is given twice")
		case c.Generated == nil:
			columns = append(columns, c)
		}
	}
	return columns, nil
}

// numericScale is how many digits a NUMERIC has after the point.
const numericScale = 9

// appendAvro appends a decoded value as one of the column's type.
func appendAvro(dst []byte, t *value.Type, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return appendNull(dst), nil
	case bool:
		return appendBool(dst, v), nil
	case int64:
		return appendText(dst, strconv.AppendInt(make([]byte, 0, 20), v, 10)), nil
	case int32:
		return appendText(dst, strconv.AppendInt(make([]byte, 0, 20), int64(v), 10)), nil
	case float64:
		return appendNumber(dst, v), nil
	case float32:
		return appendNumber(dst, float64(v)), nil
	case string:
		return appendText(dst, v), nil
	case []byte:
		return appendText(dst, base64.StdEncoding.EncodeToString(v)), nil
	case *big.Rat:
		text := v.FloatString(numericScale)
		if kept, _ := new(big.Rat).SetString(text); kept.Cmp(v) != 0 {
			return dst, fmt.Errorf("a decimal has more than %d digits after the point", numericScale)
		}
		return appendText(dst, text), nil
	case time.Time:
		if t.Code == value.DateCode {
			return appendText(dst, v.UTC().Format(time.DateOnly)), nil
		}
		return appendText(dst, v.UTC().Format(time.RFC3339Nano)), nil
	case []any:
		return appendAvroList(dst, t, v)
	}
	return dst, fmt.Errorf("an Avro value of kind %T cannot be of type %s", v, t)
}

func appendAvroList(dst []byte, t *value.Type, items []any) ([]byte, error) {
	if t.Code != value.ArrayCode {
		return dst, errorString("expected a value of type " + t.String() + ", found an array")
	}
	var list []byte
	for _, item := range items {
		var err error
		if list, err = appendAvro(list, t.Elem, item); err != nil {
			return dst, err
		}
	}
	return appendList(dst, list), nil
}
