package format_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/schema"
)

// TestRegularCSV: what comes of a record must not depend on the way it is read.
// In a chunk with bytes that are not UTF-8, all records are taken apart before
// their values are read; in others, values are read straight from the text.
func TestRegularCSV(t *testing.T) {
	rng := randtest.New(t)
	header := []string{"Id", "Part", "Bool", "Float", "Numeric", "Time", "Date", "Bytes", "Ints", "Json"}
	values := []string{
		"", "1", "-1", "0", "-0", "007", "12345678901", "9223372036854775807", "9223372036854775808", "1.5", "-0.25", "1.", ".5", "1e3", "0.0", "-0.000",
		"123456789.123456789", "1.0000000000", "true", "false", "TRUE", "truer", "NULL", "NaN", "2026-01-31", "2026-02-30", "2026-1-5", "2026-01-31T12:34:56Z",
		"2026-01-31T12:34:56.120Z", "2026-01-31T12:34:56.123456789Z", "2026-01-31T12:34:60Z", "AAAA", "AAA=", "AA==", "AB==", "A-_A", "abc", "a b\tc", "über", "two\nlines",
		`say "yes"`, "[1,2]", "[1,null,-3]", "[]", "[1,]", `{"a":"b"}`, `{"a":`, "null",
	}
	dialects := []format.CSVInput{{}, {}, {Null: "NULL"}, {Null: "0"}, {Null: "1.5"}, {Delimiter: "\t"}, {Delimiter: ";", Quote: "'"},
		{Delimiter: "-"}, {Delimiter: ":"}, {Delimiter: "0"}, {Delimiter: ".", Quote: "Z"}, {LazyQuotes: true}, {Ragged: true}}
	field := func(o format.CSVInput) string {
		text := values[rng.IntN(len(values))]
		delimiter, quote := firstOf(o.Delimiter, ","), firstOf(o.Quote, `"`)
		if rng.IntN(3) == 0 || strings.ContainsAny(text, delimiter+quote+"\n") && rng.IntN(10) > 0 {
			return quote + strings.ReplaceAll(text, quote, quote+quote) + quote + strings.Repeat("x", rng.IntN(40)/39)
		}
		return text
	}
	for range randtest.Rounds(400) {
		o := dialects[rng.IntN(len(dialects))]
		o.ReplaceInvalid = true
		delimiter, quote := firstOf(o.Delimiter, ","), firstOf(o.Quote, `"`)
		var text strings.Builder
		for range 1 + rng.IntN(20) {
			for i := range len(header) + rng.IntN(20)/19 {
				if i > 0 {
					text.WriteString(delimiter)
				}
				text.WriteString(field(o))
			}
			text.WriteString([]string{"\n", "\n", "\r\n", "\r", "\n\n"}[rng.IntN(5)])
		}
		names := quote + strings.Join(header, quote+delimiter+quote) + quote + "\n"
		records := text.String()[:text.Len()-rng.IntN(2)]
		read := func(part string) []decoded {
			input := names + "1" + strings.Repeat(delimiter+quote+part+quote, len(header)-1) + "\n" + records
			all, err := decodeAll(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{CSV: o}, format.SplitOptions{Kind: format.CSV, ChunkBytes: len(input) + 1}, []byte(input))
			if err != nil {
				t.Fatalf("%q: %v", input, err)
			}
			return all[1:]
		}
		direct, apart := read("a"), read("\xff")
		if len(direct) != len(apart) {
			t.Fatalf("%+v: %q are %d records read straight and %d taken apart", o, records, len(direct), len(apart))
		}
		for i := range direct {
			a, b := direct[i], apart[i]
			if a.text != b.text || a.Line != b.Line || outcome(a) != outcome(b) {
				t.Fatalf("%+v: record %d is %q: %s read straight, %q: %s taken apart", o, i, a.text, outcome(a), b.text, outcome(b))
			}
		}
	}
}

func firstOf(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// TestLinesOfTransformed: lines within a record count where a program makes
// others of it.
func TestLinesOfTransformed(t *testing.T) {
	o := format.DecodeOptions{Transform: func(dst, _ []byte) ([]byte, int, error) {
		return append(dst, "{\"Id\":1,\"Part\":\"a\"}\n"...), 1, nil
	}}
	records, err := decodeAll(t, refusalTable(schema.GoogleSQL), o, format.SplitOptions{Kind: format.CSV}, []byte("Id,Part\n1,\"a\n\nb\"\n2,c\n"))
	if err != nil || len(records) != 2 || records[0].Line != 2 || records[1].Line != 5 || !bytes.Equal(records[1].Values[0], records[0].Values[0]) {
		t.Errorf("error %v, records %+v", err, records)
	}
}

// TestPlaceBeforeTransform: a field that its column cannot have is refused before
// a program sees it, at the place it has without a program.
func TestPlaceBeforeTransform(t *testing.T) {
	input := []byte("Id,Part\n1,a\n\"x\",b\n\"x\"\"y\",b\n2,\"two\"\"\nlines\"\nx,b\n")
	read := func(o format.DecodeOptions) (places []string) {
		records, err := decodeAll(t, refusalTable(schema.GoogleSQL), o, format.SplitOptions{Kind: format.CSV}, input)
		if err != nil || len(records) != 5 {
			t.Fatalf("%d records, error %v", len(records), err)
		}
		for _, r := range records {
			if r.Err != nil {
				places = append(places, fmt.Sprintf("%d:%d: %v", r.Err.Line, r.Err.Byte, r.Err))
			}
		}
		return places
	}
	want := read(format.DecodeOptions{})
	got := read(format.DecodeOptions{Transform: func(dst, _ []byte) ([]byte, int, error) { return dst, 0, nil }})
	if !slices.Equal(got, want) || len(want) != 3 {
		t.Errorf("refused with a program: %q, without: %q", got, want)
	}
}
