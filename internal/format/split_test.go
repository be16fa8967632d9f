package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/schema"
)

// TestLargeRecords: a record above the bound is refused for its size without
// being held in memory, and the next one is read.
func TestLargeRecords(t *testing.T) {
	big := strings.Repeat("x", 5000)
	tests := []struct {
		kind  format.Kind
		input string
	}{
		{format.NDJSON, `{"Id":1,"Part":"a"}` + "\n" + `{"Id":2,"Part":"` + big + `"}` + "\n" + `{"Id":3,"Part":"c"}` + "\n"},
		{format.CSV, "Id,Part\n1,a\n2,\"" + big[:2000] + "\n\"\"\n,\"\",\"\"" + big + "\"\n3,c\n"},
		{format.CSV, "Id,Part\n1,a\n2," + big + "\n3,c\n"},
	}
	for _, c := range tests {
		o := format.DecodeOptions{MaxRecordBytes: 1000}
		records, err := decodeAll(t, refusalTable(schema.GoogleSQL), o, format.SplitOptions{Kind: c.kind, ChunkBytes: 100, MaxRecordBytes: 1000}, []byte(c.input))
		if err != nil || len(records) != 3 {
			t.Fatalf("%d records, error %v", len(records), err)
		}
		if got := outcome(records[1]); !strings.Contains(got, "the record is larger than 1000 bytes (--max-record-bytes)") || records[1].text != "" {
			t.Errorf("the large record, of which %d bytes pass for the whole: %s", len(records[1].text), got)
		}
		lines := int64(strings.Count(c.input, "\n"))
		if got, want := outcome(records[2]), fmt.Sprintf(`%d: insert-or-update Id="3" Part="c"`, lines); got != want {
			t.Errorf("behind the large record: %s, want %s", got, want)
		}
	}
}

// TestEagerSplitter hands records over as they come, in pieces that end
// anywhere, without waiting for a whole chunk.
func TestEagerSplitter(t *testing.T) {
	for _, kind := range []format.Kind{format.NDJSON, format.CSV} {
		in, out := io.Pipe()
		s := format.NewSplitter(in, format.SplitOptions{Kind: kind, Eager: true})
		next := make(chan string)
		go func() {
			defer close(next)
			for {
				var c format.Chunk
				if err := s.Next(&c); err != nil {
					return
				}
				next <- string(c.Data)
			}
		}()
		write := func(text string) {
			if _, err := out.Write([]byte(text)); err != nil {
				t.Error(err)
			}
		}
		if kind == format.CSV {
			write("Id,Pa")
			write("rt\n")
		}
		for _, record := range []string{"1\n", "2,b\n", "3\r\n"} {
			write(record[:1])
			write(record[1:])
			if got := <-next; got != record {
				t.Errorf("%s: got %q for %q", kind, got, record)
			}
		}
		out.Close()
		if got, open := <-next; open {
			t.Errorf("%s: got %q behind the end", kind, got)
		}
	}
}

// TestSplitterError hands over what came before the input broke.
func TestSplitterError(t *testing.T) {
	broken := errors.New("disk gone")
	s := format.NewSplitter(io.MultiReader(strings.NewReader("{}\n{}\n{"), &failingReader{broken}), format.SplitOptions{})
	var c format.Chunk
	if err := s.Next(&c); err != nil || string(c.Data) != "{}\n{}\n" || c.Last {
		t.Errorf("%q, %v", c.Data, err)
	}
	err := s.Next(&c)
	var e *format.InputError
	if !errors.Is(err, broken) || !errors.As(err, &e) || e.Line != 3 {
		t.Errorf("error %v", err)
	}
}

type failingReader struct{ err error }

func (r *failingReader) Read([]byte) (int, error) { return 0, r.err }

// TestDecompress takes several members, and tells damage and a cut.
func TestDecompress(t *testing.T) {
	for _, c := range []format.Compression{format.Gzip, format.Zstd} {
		f, err := format.New(benchColumns[:1], format.Options{Compression: c})
		if err != nil {
			t.Fatal(err)
		}
		file := encodeAll(t, f, 1, encodeRow(t, str("1")), encodeRow(t, str("2")))
		if got := string(plainOf(t, file, c)); got != "{\"OrderId\":1}\n{\"OrderId\":2}\n" {
			t.Errorf("%s: %q", c, got)
		}
		if got := string(plainOf(t, nil, c)); got != "" {
			t.Errorf("%s: an empty file gave %q", c, got)
		}
		read := func(file []byte) error {
			r, err := format.Decompress(bytes.NewReader(file), c)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			return err
		}
		for cut := 1; cut < len(file); cut++ {
			if err := read(file[:cut]); err != nil && !strings.Contains(err.Error(), string(c)+" stream") {
				t.Errorf("%s, cut at %d: %v", c, cut, err)
			}
		}
		if err := read(file[:len(file)-1]); err == nil || !strings.Contains(err.Error(), "the "+string(c)+" stream is cut off") {
			t.Errorf("%s, cut: %v", c, err)
		}
		if err := read([]byte("no such thing")); err == nil || !strings.Contains(err.Error(), "not a "+string(c)+" stream") {
			t.Errorf("%s, other bytes: %v", c, err)
		}
		if err := read(append(bytes.Clone(file), "behind"...)); err == nil {
			t.Errorf("%s: bytes behind the end were taken", c)
		}
	}
}

// TestTransform runs a program on the JSON of records of all formats.
func TestTransform(t *testing.T) {
	columns := columnsOf(field("Id", int64Type), field("Part", stringType), field("Bool", boolType), field("Json", jsonType), field("Ints", arrayOf(int64Type)), field("Extra", stringType))
	row := encodeRow(t, str("1"), str("a"), boolean(true), str(`null`), list(str("1"), null), str("x"))
	const want = `{"Id":1,"Part":"a","Bool":true,"Json":{"$json":null},"Ints":[1,null],"Extra":"x"}`
	for _, kind := range []format.Kind{format.NDJSON, format.CSV, format.Avro} {
		f, err := format.New(columns, format.Options{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		o := format.DecodeOptions{Transform: func(dst, record []byte) ([]byte, int, error) {
			seen = append(seen, string(record))
			if len(seen) == 2 {
				return dst, 0, nil
			}
			return append(dst, "{\"Id\":7,\"Part\":\"b\"}\n{\"Id\":\"x\",\"Part\":\"b\"}\n"...), 2, nil
		}}
		records, err := decodeAll(t, refusalTable(schema.GoogleSQL), o, format.SplitOptions{Kind: kind}, encodeAll(t, f, 9, row, row))
		if err != nil || len(records) != 3 || len(seen) != 2 {
			t.Fatalf("%s: %d records of %d, error %v", kind, len(records), len(seen), err)
		}
		if seen[0] != want {
			t.Errorf("%s: the program saw %s, want %s", kind, seen[0], want)
		}
		if !strings.Contains(outcome(records[0]), `insert-or-update Id="7" Part="b"`) || records[1].Err == nil || !records[2].Skip || records[0].text != `{"Id":7,"Part":"b"}` || !records[0].Made || records[2].Made {
			t.Errorf("%s: %s; %s; %s", kind, outcome(records[0]), outcome(records[1]), outcome(records[2]))
		}
		o.Transform = func(dst, _ []byte) ([]byte, int, error) { return dst, 0, &format.RecordError{Reason: "no"} }
		if records, err := decodeAll(t, refusalTable(schema.GoogleSQL), o, format.SplitOptions{Kind: kind}, encodeAll(t, f, 9, row, row)); err != nil || len(records) != 2 || records[1].Err == nil || records[1].Made {
			t.Errorf("%s: %d records, error %v", kind, len(records), err)
		}
		failing := errors.New("no")
		o.Transform = func(dst, _ []byte) ([]byte, int, error) { return dst, 0, failing }
		if _, err := decodeAll(t, refusalTable(schema.GoogleSQL), o, format.SplitOptions{Kind: kind}, encodeAll(t, f, 9, row)); !errors.Is(err, failing) {
			t.Errorf("%s: error %v", kind, err)
		}
	}
}

// TestSingleChunk reads a record that was kept with its context.
func TestSingleChunk(t *testing.T) {
	columns := columnsOf(field("Id", int64Type), field("Part", stringType))
	for _, kind := range []format.Kind{format.NDJSON, format.CSV, format.Avro} {
		f, err := format.New(columns, format.Options{Kind: kind, Avro: format.AvroOptions{Codec: format.AvroSnappy}})
		if err != nil {
			t.Fatal(err)
		}
		file := encodeAll(t, f, 9, encodeRow(t, str("1"), str("a")), encodeRow(t, str("2"), str("b\n\"")))
		var c format.Chunk
		if err := format.NewSplitter(bytes.NewReader(file), format.SplitOptions{Kind: kind}).Next(&c); err != nil {
			t.Fatal(err)
		}
		o := &format.DecodeOptions{}
		d, err := format.NewDecoder(o)
		if err != nil {
			t.Fatal(err)
		}
		target := refusalTable(schema.GoogleSQL)
		var raws [][]byte
		if err := d.Decode(target, &c, func(r *format.Record) error { raws = append(raws, bytes.Clone(r.Raw)); return nil }); err != nil {
			t.Fatal(err)
		}
		layout, err := format.ParseLayout(kind, c.Layout.Context(), o.CSV)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		err = d.Decode(target, format.SingleChunk(kind, layout, raws[1], 42), func(r *format.Record) error { got = outcome(decoded{Record: *r}); return nil })
		if want := `42: insert-or-update Id="2" Part="b\n\""`; err != nil || got != want {
			t.Errorf("%s: %s, error %v; want %s", kind, got, err, want)
		}
	}
}

// TestCSVChunks: where chunks end must not show. The alphabet is what ends
// records and fields, and what a scan of words could take for it.
func TestCSVChunks(t *testing.T) {
	const alphabet = `"""""",,` + "\n\n\r*#ab"
	rng := randtest.New(t)
	target := refusalTable(schema.GoogleSQL)
	for range 2000 {
		input := []byte("Id,Part\n")
		for range rng.IntN(200) {
			input = append(input, alphabet[rng.IntN(len(alphabet))])
		}
		o := format.DecodeOptions{CSV: format.CSVInput{LazyQuotes: rng.IntN(2) == 0, Ragged: true}}
		whole, _ := decodeAll(t, target, o, format.SplitOptions{Kind: format.CSV, ChunkBytes: len(input) + 1}, input)
		split := format.SplitOptions{Kind: format.CSV, ChunkBytes: 1 + rng.IntN(40), Eager: rng.IntN(2) == 0}
		parts, _ := decodeAll(t, target, o, split, input)
		if len(whole) != len(parts) {
			t.Fatalf("%q: %d records in one chunk, %d with %+v", input, len(whole), len(parts), split)
		}
		for i := range whole {
			if whole[i].text != parts[i].text || outcome(whole[i]) != outcome(parts[i]) {
				t.Fatalf("%q: record %d is %q: %s in one chunk, %q: %s with %+v", input, i,
					whole[i].text, outcome(whole[i]), parts[i].text, outcome(parts[i]), split)
			}
		}
	}
}

// TestLargeRecordChunks: a record that is passed over ends where it would if it
// were read, however its bytes come in.
func TestLargeRecordChunks(t *testing.T) {
	rng := randtest.New(t)
	for range 200 {
		record := "2,\"" + strings.Repeat(`x""y,`+"\n", 300+rng.IntN(50)) + "\"\n"
		input := []byte("Id,Part\n1,a\n" + record + "3,c\n")
		o := format.DecodeOptions{MaxRecordBytes: 1000}
		split := format.SplitOptions{Kind: format.CSV, ChunkBytes: 1 + rng.IntN(300), MaxRecordBytes: 1000, Eager: rng.IntN(2) == 0}
		records, err := decodeAll(t, refusalTable(schema.GoogleSQL), o, split, input)
		if err != nil || len(records) != 3 || records[1].Err == nil || records[2].text != "3,c" {
			t.Fatalf("%d records, error %v, with %+v", len(records), err, split)
		}
	}
}

// TestLargeRecordsCut: records far above the size of a chunk come whole and in
// order, whatever the sizes of those around them, and chunks handed on earlier
// keep what they hold.
func TestLargeRecordsCut(t *testing.T) {
	for _, kind := range []format.Kind{format.NDJSON, format.CSV} {
		text := make([]byte, 0, 17<<20)
		for i, size := range []int{10, 5 << 20, 10, 300 << 10, 6 << 20, 20, 4<<20 - 1, 3} {
			if kind == format.CSV {
				size = randtest.Size(size) // what is above 4 MiB is the same to both
			}
			text = fmt.Appendf(text, "{\"n\":%d,\"s\":\"", i)
			text = append(text, bytes.Repeat([]byte{byte('a' + i)}, size)...)
			text = append(append(text, "\"}\n"...), strings.Repeat("{\"n\":0}\n", i*i*1000)...)
		}
		s := format.NewSplitter(bytes.NewReader(text), format.SplitOptions{Kind: kind, CSV: format.CSVInput{NoHeader: true, Quote: "'"}})
		var chunks []format.Chunk
		for {
			var c format.Chunk
			err := s.Next(&c)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, c)
		}
		rest, line := text, int64(1)
		for _, c := range chunks {
			if at := int64(len(text) - len(rest)); at != c.Offset || c.Line != line {
				t.Errorf("%s: a chunk begins at %d, line %d, behind %d bytes and %d lines", kind, c.Offset, c.Line, at, line-1)
			}
			var same bool
			if rest, same = bytes.CutPrefix(rest, c.Data); !same {
				t.Fatalf("%s: the chunk of %d bytes at line %d is not what came in", kind, len(c.Data), line)
			}
			line += int64(bytes.Count(c.Data, []byte{'\n'}))
		}
		if len(rest) > 0 {
			t.Errorf("%s: the last %d bytes of %d did not come out", kind, len(rest), len(text))
		}
	}
}
