package cdc_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/cdc"
	"spanbulk/internal/wire"
)

func newDecoder(t testing.TB, f form) *cdc.Decoder {
	t.Helper()
	d, err := cdc.NewDecoder(f.columnType())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecoderRefusesColumn(t *testing.T) {
	if _, err := cdc.NewDecoder(&spannerpb.Type{Code: spannerpb.TypeCode_INT64}); err == nil {
		t.Error("an INT64 column was taken for a change stream's")
	}
}

func TestDecodeRefuses(t *testing.T) {
	change := func(fields ...*structpb.Value) *structpb.Value {
		return list(list(list(list(fields...)), list(), list()))
	}
	for name, tt := range map[string]struct {
		form  form
		value *structpb.Value
	}{
		"no list":            {googleSQL, str("x")},
		"two arrays":         {googleSQL, list(list(list(), list()))},
		"few fields":         {googleSQL, change(str("2026-01-01T00:00:00Z"))},
		"no timestamp":       {googleSQL, list(list(list(), list(list(str("soon"))), list()))},
		"number as text":     {googleSQL, list(list(list(), list(list(structpb.NewNumberValue(1))), list()))},
		"no JSON":            {postgreSQL, str("{")},
		"JSON and more":      {postgreSQL, str("{} {}")},
		"no commit":          {postgreSQL, str(`{"data_change_record":{}}`)},
		"no time":            {postgreSQL, str(`{"heartbeat_record":{}}`)},
		"mods are no array":  {postgreSQL, str(`{"data_change_record":{"commit_timestamp":"2026-01-01T00:00:00Z","mods":{}}}`)},
		"digits":             {postgreSQL, str(`{"data_change_record":{"commit_timestamp":"2026-01-01T00:00:00Z","number_of_records_in_transaction":"x"}}`)},
		"no base64":          {mutable, str("?")},
		"no protobuf":        {mutable, str(base64.StdEncoding.EncodeToString([]byte{0xff}))},
		"no heartbeat time":  {mutable, str(base64.StdEncoding.EncodeToString(marshal(&spannerpb.ChangeStreamRecord{Record: &spannerpb.ChangeStreamRecord_HeartbeatRecord_{HeartbeatRecord: &spannerpb.ChangeStreamRecord_HeartbeatRecord{}}})))},
		"value of no column": {mutable, str(base64.StdEncoding.EncodeToString(marshal(strayValue())))},
	} {
		t.Run(name, func(t *testing.T) {
			if err := newDecoder(t, tt.form).Decode(marshal(tt.value), func(*cdc.Record) error { return nil }); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

func strayValue() *spannerpb.ChangeStreamRecord {
	c := &change{at: epoch, modType: "DELETE"}
	rec := c.proto()
	rec.Mods[0].Keys[0].ColumnMetadataIndex = 9
	return &spannerpb.ChangeStreamRecord{Record: &spannerpb.ChangeStreamRecord_DataChangeRecord_{DataChangeRecord: rec}}
}

// fuzzDecode wants no bytes to do harm: what is taken for a record has parts
// that make a line of JSON.
func fuzzDecode(f *testing.F, form form) {
	w := newWorld(rand.New(rand.NewPCG(1, 2)), form, 30)
	for _, p := range w.order {
		for _, rec := range p.records[:min(len(p.records), 5)] {
			f.Add(marshal(form.value(rec)))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := newDecoder(t, form)
		err := d.Decode(wire.Value(b), func(r *cdc.Record) error {
			switch {
			case r.Kind == 0:
				t.Error("a record of no kind")
			case r.Kind == cdc.DataChange && r.Change.Commit == 0:
				t.Error("a change without a commit timestamp")
			}
			return nil
		})
		if _, text := wire.Value(b).Parse(); err == nil && form == postgreSQL && !json.Valid(text) {
			t.Errorf("taken for JSON: %q", text)
		}
	})
}

func FuzzDecodeStructs(f *testing.F) { fuzzDecode(f, googleSQL) }
func FuzzDecodeJSON(f *testing.F)    { fuzzDecode(f, postgreSQL) }
func FuzzDecodeProto(f *testing.F)   { fuzzDecode(f, mutable) }

// FuzzRows makes rows of any mods: what goes out is JSON, or nothing does.
func FuzzRows(f *testing.F) {
	f.Add("INT64", `{"Id":"1"}`, `{"V":"1"}`, `{}`)
	f.Add("JSON", `{"Id":"1"}`, `{"V":"{\"a\": 1}"}`, `{"V":null}`)
	f.Add("FLOAT64", `{"Id":"1"}`, `{"V":1.5e3}`, `{"V":"NaN"}`)
	f.Add("STRINGS", `{"Id":"\u0031"}`, `{"V":["\ud83c\udf0d",null]}`, `{"V":[]}`)
	f.Fuzz(func(t *testing.T, code, keys, newValues, oldValues string) {
		c := rawChange{modType: "UPDATE", columns: []string{"Id INT64", "V " + code}, mods: [][3]string{{keys, newValues, oldValues}}}
		if _, known := spannerpb.TypeCode_value[code]; !known && code != "STRINGS" {
			return
		}
		value, err := proto.Marshal(c.row(at(1)))
		if err != nil {
			return // not UTF-8
		}
		_ = value
		s := newScript(c)
		opt := s.options()
		opt.Mode = cdc.Full
		out := &collector{}
		if newTail(t, s, opt).Run(t.Context(), out) != nil {
			if len(out.lines()) > 0 {
				t.Error("an error, and yet a line")
			}
			return
		}
		for _, line := range out.lines() {
			if !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %s", line)
			}
		}
	})
}
