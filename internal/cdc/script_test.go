package cdc_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/cdc"
	"spanbulk/internal/wire"
)

// script is a change stream in GoogleSQL whose partition queries bring what the
// test says.
type script struct {
	stream *cdc.Stream
	now    cdc.Timestamp
	// rows are what the query of a partition brings, each in a message.
	rows map[string][]*structpb.Value
	// end is what ends a query; io.EOF by default, nil hangs.
	end func(q cdc.Query) error
	// before, if set, is called before each message is taken.
	before func(ctx context.Context, q cdc.Query, message int)

	mu      sync.Mutex
	queries []cdc.Query
}

// newScript returns a stream of one partition, p, with these changes, one a
// millisecond from the epoch on.
func newScript(changes ...rawChange) *script {
	s := &script{
		stream: &cdc.Stream{Database: "projects/p/instances/i/databases/d", Name: "S", All: true,
			Options: map[string]string{"value_capture_type": "NEW_ROW_AND_OLD_VALUES", "retention_period": "7d"}},
		now: epoch.Add(time.Hour), rows: map[string][]*structpb.Value{},
	}
	s.rows[cdc.RootToken] = []*structpb.Value{childRow(epoch, "p")}
	for i, c := range changes {
		s.rows["p"] = append(s.rows["p"], c.row(epoch.Add(time.Duration(i+1)*time.Millisecond)))
	}
	return s
}

// options begin at the epoch and end with the script.
func (s *script) options() cdc.Options {
	return cdc.Options{Start: cdc.At(epoch.Time()), End: s.now.Time()}
}

func (s *script) Stream() *cdc.Stream { return s.stream }

func (s *script) Now(context.Context) (time.Time, error) { return s.now.Time(), nil }

func (s *script) Query(ctx context.Context, q cdc.Query) (wire.Receiver, error) {
	s.mu.Lock()
	s.queries = append(s.queries, q)
	s.mu.Unlock()
	r := &scriptStream{ctx: ctx, s: s, q: q}
	for _, row := range s.rows[q.Token] {
		if q.Token == cdc.RootToken || timeOf(row) >= q.Start {
			r.rows = append(r.rows, row)
		}
	}
	return r, nil
}

// timeOf is the first field of the record in a row, of whatever kind it is.
func timeOf(row *structpb.Value) cdc.Timestamp {
	var t cdc.Timestamp
	for _, kind := range row.GetListValue().GetValues()[0].GetListValue().GetValues() {
		for _, rec := range kind.GetListValue().GetValues() {
			if err := t.UnmarshalText([]byte(rec.GetListValue().GetValues()[0].GetStringValue())); err != nil {
				panic(err)
			}
		}
	}
	return t
}

func (s *script) asked() []cdc.Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]cdc.Query(nil), s.queries...)
}

type scriptStream struct {
	ctx context.Context
	s   *script
	q   cdc.Query

	rows []*structpb.Value
	n    int
}

func (r *scriptStream) RecvMsg(m any) error {
	if r.s.before != nil {
		r.s.before(r.ctx, r.q, r.n)
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.n < len(r.rows) {
		set := &spannerpb.PartialResultSet{Values: []*structpb.Value{r.rows[r.n]}}
		if r.n == 0 {
			field := &spannerpb.StructType_Field{Name: "ChangeRecord", Type: googleSQL.columnType()}
			set.Metadata = &spannerpb.ResultSetMetadata{RowType: &spannerpb.StructType{Fields: []*spannerpb.StructType_Field{field}}}
		}
		r.n++
		return m.(*wire.Message).ParseMessage(marshal(set))
	}
	if r.s.end == nil || r.q.Token == cdc.RootToken {
		return io.EOF
	}
	if err := r.s.end(r.q); err != nil {
		return err
	}
	<-r.ctx.Done()
	return r.ctx.Err()
}

// hanging is an end for queries that never end.
func hanging(cdc.Query) error { return nil }

func childRow(at cdc.Timestamp, tokens ...string) *structpb.Value {
	children := list()
	for _, t := range tokens {
		children.GetListValue().Values = append(children.GetListValue().Values, list(str(t), list()))
	}
	return list(list(list(), list(), list(list(stamp(at), str("00000000"), children))))
}

func beatRow(at cdc.Timestamp) *structpb.Value {
	return list(list(list(), list(list(stamp(at))), list()))
}

// rawChange is a data change record of table T with key Id and whatever else.
type rawChange struct {
	table, modType, capture string
	columns                 []string    // "name TYPE"; the first is the key
	mods                    [][3]string // keys, new, old
	tag                     string
}

func (c rawChange) row(at cdc.Timestamp) *structpb.Value {
	if c.table == "" {
		c.table = "T"
	}
	if c.capture == "" {
		c.capture = "NEW_ROW_AND_OLD_VALUES"
	}
	columns, mods := list(), list()
	for i, col := range c.columns {
		var name, code string
		fmt.Sscan(col, &name, &code)
		typ := `{"code":"` + code + `"}`
		if code == "STRINGS" {
			typ = `{"array_element_type":{"code":"STRING"},"code":"ARRAY"}`
		}
		columns.GetListValue().Values = append(columns.GetListValue().Values, list(str(name), str(typ), boolean(i == 0), integer(i+1)))
	}
	for _, m := range c.mods {
		mods.GetListValue().Values = append(mods.GetListValue().Values, list(str(m[0]), str(m[1]), str(m[2])))
	}
	millis := int((at - epoch) / 1e6)
	change := list(stamp(at), str("00000000"), str(fmt.Sprintf("txn%d", millis)), boolean(true), str(c.table), columns, mods,
		str(c.modType), str(c.capture), integer(1), integer(1), str(c.tag), boolean(false))
	return list(list(list(change), list(), list()))
}

var idName = []string{"Id INT64", "Name STRING", "Age INT64"}

// insert, update and remove are changes of a table with a key and two columns.
func insert(id, name, age string) rawChange {
	return rawChange{modType: "INSERT", columns: idName, mods: [][3]string{{`{"Id":"` + id + `"}`, `{"Age":` + age + `,"Name":` + name + `}`, `{}`}}}
}

func update(id, name, age, oldAge string) rawChange {
	return rawChange{modType: "UPDATE", columns: idName, mods: [][3]string{{`{"Id":"` + id + `"}`, `{"Age":` + age + `,"Name":` + name + `}`, `{"Age":` + oldAge + `}`}}}
}

func remove(id, name, age string) rawChange {
	return rawChange{modType: "DELETE", columns: idName, mods: [][3]string{{`{"Id":"` + id + `"}`, `{}`, `{"Age":` + age + `,"Name":` + name + `}`}}}
}

func columnFields(columns ...string) []*spannerpb.StructType_Field {
	var out []*spannerpb.StructType_Field
	for _, c := range columns {
		var name, code string
		fmt.Sscan(c, &name, &code)
		out = append(out, &spannerpb.StructType_Field{Name: name, Type: &spannerpb.Type{Code: spannerpb.TypeCode(spannerpb.TypeCode_value[code])}})
	}
	return out
}
