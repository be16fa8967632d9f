package tablefile_test

import (
	"bytes"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/tablefile"
)

func table(tb testing.TB) *catalog.Table {
	s, err := catalog.Empty().Apply("CREATE TABLE T (K INT64, S STRING(MAX), F FLOAT64, B BOOL, J JSON, A ARRAY<INT64>, N NUMERIC) PRIMARY KEY (K)")
	if err != nil {
		tb.Fatal(err)
	}
	t, _ := s.Table("T")
	return t
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]string{
		"dir/T.csv": "T", "T.ndjson.gz": "T", "a-0001.jsonl.zst": "a-0001", "manifest.json": "", "T.avro": "T", "T.parquet": "",
	} {
		if _, _, stem, ok := tablefile.FormatOf(name); stem != want || ok != (want != "") {
			t.Errorf("%s: stem %q, known %v", name, stem, ok)
		}
	}
}

// fuzzFormat checks that no input makes a reader panic, and that every record
// it gives is a list with a value for each column.
func fuzzFormat(f *testing.F, format tablefile.Format) {
	t0 := table(f)
	f.Fuzz(func(t *testing.T, text string) {
		for r, err := range tablefile.Records(strings.NewReader(text), format, "", t0) {
			if err != nil {
				if !strings.HasPrefix(err.Error(), "line ") {
					t.Fatalf("error names no line: %v", err)
				}
				return
			}
			var list structpb.ListValue
			if err := (proto.UnmarshalOptions{}).Unmarshal(r.Values, &list); err != nil && !strings.Contains(err.Error(), "UTF-8") {
				t.Fatalf("record is no ListValue: %v", err)
			} else if err == nil && len(list.GetValues()) != len(r.Columns) {
				t.Fatalf("%d values for %d columns", len(list.GetValues()), len(r.Columns))
			}
		}
	})
}

func FuzzCSV(f *testing.F) {
	f.Add("K,S,F,B,J,A,N\n1,\"a\"\"b\",1.5,true,{},\"[1,2]\",1\n,,,,,,\n")
	fuzzFormat(f, tablefile.CSV)
}

func FuzzNDJSON(f *testing.F) {
	f.Add(`{"K":1,"S":"a\u00e9","F":"NaN","B":false,"J":{"$json":null},"A":[1,null],"N":1.5}` + "\n")
	fuzzFormat(f, tablefile.NDJSON)
}

func FuzzAvro(f *testing.F) {
	var out bytes.Buffer
	s := avro.MustParse(`{"type":"record","name":"T","fields":[{"name":"K","type":"long"},{"name":"S","type":["null","string"]},{"name":"A","type":["null",{"type":"array","items":["null","long"]}]}]}`)
	w, err := ocf.NewWriter(&out, s)
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(w.Encode(map[string]any{"K": int64(1), "S": "x", "A": []any{int64(1), nil}}), w.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(out.String())
	t0 := table(f)
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for r, err := range tablefile.Records(strings.NewReader(text), tablefile.Avro, "", t0) {
			var list structpb.ListValue
			if err == nil && proto.Unmarshal(r.Values, &list) == nil && len(list.GetValues()) != len(r.Columns) {
				t.Fatalf("%d values for %d columns", len(list.GetValues()), len(r.Columns))
			}
			if n++; n > 1000 {
				return // records without fields take no bytes
			}
		}
	})
}

// A decimal that NUMERIC cannot hold is refused, not rounded.
func TestAvroDecimalTooFine(t *testing.T) {
	schema := avro.MustParse(`{"type":"record","name":"T","fields":[{"name":"N","type":{"type":"bytes","logicalType":"decimal","precision":38,"scale":12}}]}`)
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*big.Rat{big.NewRat(1, 8), big.NewRat(1, 10_000_000_000)} {
		if err := w.Encode(map[string]any{"N": n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, failure := 0, error(nil)
	for _, err := range tablefile.Records(&file, tablefile.Avro, "", table(t)) {
		if err != nil {
			failure = err
			break
		}
		rows++
	}
	if rows != 1 || failure == nil || !strings.Contains(failure.Error(), "record 2: field N") {
		t.Errorf("%d rows, error %v", rows, failure)
	}
}
