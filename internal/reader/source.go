package reader

import (
	"encoding/json"
	"errors"
	"fmt"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Source is what is read: a table, perhaps through an index, or a query.
// Exactly one of Table and SQL is set.
type Source struct {
	// Table is the table's name as requests spell it: unquoted, with its
	// named schema and a dot before it.
	Table string
	// Index reads through a secondary index; Keys are then in its key space.
	Index string
	// Columns are the columns to read, in the order of the output.
	Columns []string
	// Keys are the rows to read; nil is all of them.
	Keys *spannerpb.KeySet

	// SQL is a query, which must be root-partitionable unless it is read in
	// one piece (see Whole).
	SQL        string
	Params     *structpb.Struct
	ParamTypes map[string]*spannerpb.Type

	// Fields are the columns of the result. For a table they come from the
	// schema; for a query, Describe asks Spanner.
	Fields []*spannerpb.StructType_Field
}

// Name names the source in messages to people. It never holds SQL, which can
// hold values.
func (s *Source) Name() string {
	switch {
	case s.Table == "":
		return "query"
	case s.Index != "":
		return "index " + s.Index + " of table " + s.Table
	default:
		return "table " + s.Table
	}
}

// Validate reports a Source that names nothing, or two things.
func (s *Source) Validate() error {
	switch {
	case s.Table == "" && s.SQL == "":
		return errors.New("neither a table nor a query to read")
	case s.Table != "" && s.SQL != "":
		return errors.New("both a table and a query to read")
	case s.Table != "" && len(s.Columns) == 0:
		return fmt.Errorf("no columns of table %s to read", s.Table)
	case s.SQL != "" && (s.Index != "" || s.Keys != nil || len(s.Columns) > 0):
		return errors.New("a query takes no index, keys or columns")
	}
	return nil
}

func (s *Source) keySet() *spannerpb.KeySet {
	if s.Keys == nil {
		return &spannerpb.KeySet{All: true}
	}
	return s.Keys
}

// sourceJSON is the form of a Source in a plan file: protobuf messages as
// protojson, which encoding/json alone would not read back.
type sourceJSON struct {
	Table      string                     `json:"table,omitempty"`
	Index      string                     `json:"index,omitempty"`
	Columns    []string                   `json:"columns,omitempty"`
	Keys       json.RawMessage            `json:"keys,omitempty"`
	SQL        string                     `json:"sql,omitempty"`
	Params     json.RawMessage            `json:"params,omitempty"`
	ParamTypes map[string]json.RawMessage `json:"paramTypes,omitempty"`
	Fields     json.RawMessage            `json:"fields,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s Source) MarshalJSON() ([]byte, error) {
	out := sourceJSON{Table: s.Table, Index: s.Index, Columns: s.Columns, SQL: s.SQL}
	var errs []error
	pack := func(m proto.Message) json.RawMessage {
		b, err := protojson.Marshal(m)
		errs = append(errs, err)
		return b
	}
	if s.Keys != nil {
		out.Keys = pack(s.Keys)
	}
	if s.Params != nil {
		out.Params = pack(s.Params)
	}
	if len(s.ParamTypes) > 0 {
		out.ParamTypes = make(map[string]json.RawMessage, len(s.ParamTypes))
		for name, t := range s.ParamTypes {
			out.ParamTypes[name] = pack(t)
		}
	}
	if len(s.Fields) > 0 {
		out.Fields = pack(&spannerpb.StructType{Fields: s.Fields})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("write source as JSON: %w", err)
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Source) UnmarshalJSON(b []byte) error {
	var in sourceJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("read source from JSON: %w", err)
	}
	*s = Source{Table: in.Table, Index: in.Index, Columns: in.Columns, SQL: in.SQL}
	var errs []error
	unpack := func(raw json.RawMessage, m proto.Message) {
		errs = append(errs, protojson.Unmarshal(raw, m))
	}
	if in.Keys != nil {
		s.Keys = new(spannerpb.KeySet)
		unpack(in.Keys, s.Keys)
	}
	if in.Params != nil {
		s.Params = new(structpb.Struct)
		unpack(in.Params, s.Params)
	}
	if len(in.ParamTypes) > 0 {
		s.ParamTypes = make(map[string]*spannerpb.Type, len(in.ParamTypes))
		for name, raw := range in.ParamTypes {
			s.ParamTypes[name] = new(spannerpb.Type)
			unpack(raw, s.ParamTypes[name])
		}
	}
	if in.Fields != nil {
		var row spannerpb.StructType
		unpack(in.Fields, &row)
		s.Fields = row.GetFields()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("read source from JSON: %w", err)
	}
	return nil
}
