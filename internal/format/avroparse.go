package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// avroSchema is what the header of an Avro file says.
type avroSchema struct {
	codec  AvroCodec
	sync   [16]byte
	record *avroType
}

// avroKind is a type of Avro's.
type avroKind uint8

const (
	avroNull avroKind = iota + 1
	avroBoolean
	avroInt
	avroLong
	avroFloat
	avroDouble
	avroBytes
	avroString
	avroFixed
	avroEnum
	avroArrayKind
	avroMap
	avroRecordKind
	avroUnion
)

var avroKinds = map[string]avroKind{
	"null": avroNull, "boolean": avroBoolean, "int": avroInt, "long": avroLong, "float": avroFloat, "double": avroDouble,
	"bytes": avroBytes, "string": avroString, "fixed": avroFixed, "enum": avroEnum, "array": avroArrayKind, "map": avroMap,
	"record": avroRecordKind, "error": avroRecordKind,
}

// avroType is a type of a writer's schema. Types can contain themselves.
type avroType struct {
	kind    avroKind
	name    string // as the schema spells it
	logical string
	scale   int
	// precision tells the private form of Google's PostgreSQL numbers.
	precision int
	size      int
	symbols   []string
	items     *avroType // of an array or map
	fields    []avroField
	branches  []*avroType
}

type avroField struct {
	name    string // in Spanner, where the schema tells it
	spelled string // as Avro allows it
	typ     *avroType
}

// maxAvroDepth bounds the nesting of a schema and of the values of one that
// contains itself.
const maxAvroDepth = 64

func (s *avroSchema) parse(text []byte) error {
	if len(text) == 0 {
		return errors.New("there is none")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var schema any
	if err := decoder.Decode(&schema); err != nil {
		return errors.New("it is not JSON")
	}
	p := avroParser{named: map[string]*avroType{}}
	t, err := p.parse(schema, "", 0)
	if err != nil {
		return err
	}
	if t.kind != avroRecordKind {
		return fmt.Errorf("it describes %s, not a record", t.describe())
	}
	s.record = t
	return nil
}

// avroParser resolves the names of types.
type avroParser struct{ named map[string]*avroType }

func (p *avroParser) parse(schema any, namespace string, depth int) (*avroType, error) {
	if depth > maxAvroDepth {
		return nil, errors.New("types are nested too deep")
	}
	switch schema := schema.(type) {
	case string:
		return p.lookUp(schema, namespace)
	case []any:
		union := &avroType{kind: avroUnion}
		for _, branch := range schema {
			t, err := p.parse(branch, namespace, depth+1)
			if err != nil {
				return nil, err
			}
			union.branches = append(union.branches, t)
		}
		return union, nil
	case map[string]any:
		return p.parseObject(schema, namespace, depth)
	default:
		return nil, errors.New("a type is neither a name, a union nor an object")
	}
}

func (p *avroParser) lookUp(name, namespace string) (*avroType, error) {
	if kind, ok := avroKinds[name]; ok && kind < avroFixed {
		return &avroType{kind: kind, name: name}, nil
	}
	if t, ok := p.named[fullAvroName(name, namespace)]; ok {
		return t, nil
	}
	if t, ok := p.named[name]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("it names the type %q and does not define it", name)
}

func fullAvroName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

func (p *avroParser) parseObject(schema map[string]any, namespace string, depth int) (*avroType, error) {
	word, ok := schema["type"].(string)
	if !ok { // {"type": {...}} means the inner type
		return p.parse(schema["type"], namespace, depth+1)
	}
	kind, ok := avroKinds[word]
	if !ok {
		return p.lookUp(word, namespace)
	}
	t := &avroType{kind: kind, name: word}
	t.logical, _ = schema["logicalType"].(string)
	t.scale, t.precision = intOf(schema["scale"]), intOf(schema["precision"])
	if kind == avroFixed || kind == avroEnum || kind == avroRecordKind {
		namespace = p.register(t, schema, namespace)
	}
	var err error
	switch kind {
	case avroFixed:
		if t.size = intOf(schema["size"]); t.size < 0 || t.size > maxAvroFixed {
			err = errors.New("a fixed type has no possible size")
		}
	case avroEnum:
		err = t.parseSymbols(schema["symbols"])
	case avroArrayKind:
		t.items, err = p.parse(schema["items"], namespace, depth+1)
	case avroMap:
		t.items, err = p.parse(schema["values"], namespace, depth+1)
	case avroRecordKind:
		err = p.parseFields(t, schema["fields"], namespace, depth)
	}
	return t, err
}

// register makes the type known by its name before its parts are parsed, which
// may name it.
func (p *avroParser) register(t *avroType, schema map[string]any, namespace string) string {
	if own, ok := schema["namespace"].(string); ok {
		namespace = own
	}
	name, _ := schema["name"].(string)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		namespace = name[:i]
	}
	t.name = name
	p.named[fullAvroName(name, namespace)] = t
	return namespace
}

func intOf(v any) int {
	number, _ := v.(json.Number)
	n, err := number.Int64()
	if err != nil {
		return 0
	}
	return int(n)
}

func (t *avroType) parseSymbols(list any) error {
	symbols, _ := list.([]any)
	for _, s := range symbols {
		text, ok := s.(string)
		if !ok {
			return errors.New("a symbol of an enum is no string")
		}
		t.symbols = append(t.symbols, text)
	}
	return nil
}

func (p *avroParser) parseFields(t *avroType, list any, namespace string, depth int) error {
	fields, ok := list.([]any)
	if !ok {
		return errors.New("a record has no fields")
	}
	for _, f := range fields {
		field, ok := f.(map[string]any)
		if !ok {
			return errors.New("a field of a record is no object")
		}
		name, _ := field["name"].(string)
		typ, err := p.parse(field["type"], namespace, depth+1)
		if err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		// Some writers put the logical type beside the type, not inside.
		if logical, ok := field["logicalType"].(string); ok && typ.logical == "" && typ.kind < avroFixed {
			typ.logical, typ.scale = logical, intOf(field["scale"])
		}
		spelled := name
		if column, ok := field[avroTrueName].(string); ok && column != "" {
			name = column
		}
		t.fields = append(t.fields, avroField{name, spelled, typ})
	}
	return nil
}

// describe names the type for people.
func (t *avroType) describe() string {
	switch {
	case t.kind == avroUnion:
		var branches []string
		for _, b := range t.branches {
			branches = append(branches, b.describe())
		}
		return "union of " + joinNames(branches)
	case t.kind == avroArrayKind:
		return "array of " + t.items.describe()
	case t.logical != "":
		return t.logical + " on " + kindName(t.kind)
	default:
		return kindName(t.kind)
	}
}

func kindName(k avroKind) string {
	for name, kind := range avroKinds {
		if kind == k && name != "error" {
			return name
		}
	}
	return "union"
}
