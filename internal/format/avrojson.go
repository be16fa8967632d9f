package format

import (
	"encoding/base64"

	"spanbulk/internal/wire"
)

// avroJSONFunc reads a value and appends it as JSON.
type avroJSONFunc func(r *avroReader, dst []byte) ([]byte, error)

// avroRecordJSON makes JSON objects of Avro records, for one goroutine: bytes
// are base64, decimals, dates and times the text that Spanner has for them, and
// a union is the value of its branch.
type avroRecordJSON struct {
	read    avroJSONFunc
	records map[*avroType]*avroJSONFunc // a record can hold itself
	scratch []byte
	in      avroReader
}

func newAvroRecordJSON(t *avroType) *avroRecordJSON {
	j := &avroRecordJSON{records: map[*avroType]*avroJSONFunc{}}
	j.read = j.plan(t)
	return j
}

// open is an openRecord.
func (j *avroRecordJSON) open(dst, record []byte) ([]byte, bool, error) {
	j.in = avroReader{data: record}
	start := len(dst)
	dst, err := j.read(&j.in, dst)
	if err != nil {
		return dst, false, err
	}
	return dst[:len(dst)-1], len(dst) == start+2, nil
}

func (j *avroRecordJSON) plan(t *avroType) avroJSONFunc {
	if t.logical != "" {
		if read := planAvroLogical(t); read != nil {
			return j.text(read)
		}
	}
	switch t.kind {
	case avroNull:
		return func(_ *avroReader, dst []byte) ([]byte, error) { return append(dst, "null"...), nil }
	case avroBoolean:
		return j.bare(readAvroBool, appendBool)
	case avroInt, avroLong:
		return j.bare(readAvroLong, appendInteger)
	case avroFloat:
		return avroFloatJSON
	case avroDouble:
		return func(r *avroReader, dst []byte) ([]byte, error) {
			f, err := r.double()
			return AppendJSONFloat(dst, f), err
		}
	case avroBytes, avroFixed:
		return avroBytesJSON(t)
	case avroString, avroEnum:
		return func(r *avroReader, dst []byte) ([]byte, error) {
			text, err := r.text(t)
			if err != nil {
				return dst, err
			}
			return appendJSONString(dst, text)
		}
	case avroUnion:
		return j.union(t)
	case avroRecordKind:
		return j.record(t)
	default:
		return j.items(t)
	}
}

// planAvroLogical plans what Spanner has a text for; nil if there is none.
func planAvroLogical(t *avroType) avroFunc {
	switch {
	case t.logical == "decimal" && (t.kind == avroBytes || t.kind == avroFixed) && t.scale >= 0 && t.scale <= pgNumericPlaces:
		return avroDecimal(t, textString)
	case t.logical == "date" && t.kind == avroInt:
		return readAvroDate
	case t.logical == "uuid" && t.kind == avroFixed && t.size == 16:
		return avroUUID(textUUID)
	}
	return planAvroTimestamp(t)
}

// bare writes what read makes without quotes.
func (j *avroRecordJSON) bare(read avroFunc, encode encodeFunc) avroJSONFunc {
	return func(r *avroReader, dst []byte) ([]byte, error) {
		var err error
		if j.scratch, err = read(r, j.scratch[:0]); err != nil {
			return dst, err
		}
		kind, p := wire.Value(j.scratch).Parse()
		return encode(dst, kind, p)
	}
}

func (j *avroRecordJSON) text(read avroFunc) avroJSONFunc { return j.bare(read, appendJSONText) }

func avroFloatJSON(r *avroReader, dst []byte) ([]byte, error) {
	f, err := r.float()
	if name, named := floatName(f); named {
		dst = append(append(append(dst, '"'), name...), '"')
		return dst, err
	}
	return appendFloat(dst, f, 32), err
}

func avroBytesJSON(t *avroType) avroJSONFunc {
	return func(r *avroReader, dst []byte) ([]byte, error) {
		b, err := r.raw(t)
		if err != nil {
			return dst, err
		}
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), b)
		return append(dst, '"'), nil
	}
}

func (j *avroRecordJSON) union(t *avroType) avroJSONFunc {
	branches := make([]avroJSONFunc, len(t.branches))
	for i, b := range t.branches {
		branches[i] = j.plan(b)
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		i, err := r.long()
		if err != nil || i < 0 || i >= int64(len(branches)) {
			return dst, errAvroMalformed
		}
		return branches[i](r, dst)
	}
}

func (j *avroRecordJSON) record(t *avroType) avroJSONFunc {
	planned, ok := j.records[t]
	if !ok {
		planned = new(avroJSONFunc)
		j.records[t] = planned
		*planned = j.fields(t)
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		if r.depth++; r.depth > maxAvroDepth {
			return dst, errAvroMalformed
		}
		dst, err := (*planned)(r, dst)
		r.depth--
		return dst, err
	}
}

func (j *avroRecordJSON) fields(t *avroType) avroJSONFunc {
	names := make([][]byte, len(t.fields))
	reads := make([]avroJSONFunc, len(t.fields))
	for i, f := range t.fields {
		name := []byte{','}
		if i == 0 {
			name = nil
		}
		// The schema is JSON, so its text is UTF-8.
		name, _ = appendJSONString(name, []byte(f.name))
		names[i], reads[i] = append(name, ':'), j.plan(f.typ)
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		dst = append(dst, '{')
		for i, read := range reads {
			var err error
			if dst, err = read(r, append(dst, names[i]...)); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
}

// items plans arrays and maps.
func (j *avroRecordJSON) items(t *avroType) avroJSONFunc {
	item := j.plan(t.items)
	open, end := byte('['), byte(']')
	if t.kind == avroMap {
		open, end = '{', '}'
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		if r.depth++; r.depth > maxAvroDepth {
			return dst, errAvroMalformed
		}
		dst = append(dst, open)
		for first := true; ; {
			n, err := r.items()
			if err != nil {
				return dst, err
			}
			if n == 0 {
				r.depth--
				return append(dst, end), nil
			}
			for range n {
				if !first {
					dst = append(dst, ',')
				}
				first = false
				if dst, err = avroItemJSON(r, dst, t, item); err != nil {
					return dst, err
				}
			}
		}
	}
}

func avroItemJSON(r *avroReader, dst []byte, t *avroType, item avroJSONFunc) ([]byte, error) {
	if t.kind == avroMap {
		key, err := r.bytes()
		if err != nil {
			return dst, err
		}
		if dst, err = appendJSONString(dst, key); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
	}
	return item(r, dst)
}
