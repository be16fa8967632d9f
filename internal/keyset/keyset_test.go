package keyset_test

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/keyset"
	"spanbulk/internal/schema"
)

func column(name string, code spannerpb.TypeCode) keyset.Column {
	return keyset.Column{Name: name, Type: &spannerpb.Type{Code: code}}
}

var singers = []keyset.Column{column("SingerId", spannerpb.TypeCode_INT64), column("Name", spannerpb.TypeCode_STRING)}

func descending(columns ...keyset.Column) []keyset.Column {
	for i := range columns {
		columns[i].Descending = true
	}
	return columns
}

// compact is m as JSON without the blanks that protojson puts in at random.
func compact(list *structpb.ListValue) string {
	raw, _ := protojson.Marshal(list)
	return strings.ReplaceAll(string(raw), ", ", ",")
}

func TestParseKey(t *testing.T) {
	tests := []struct {
		code       spannerpb.TypeCode
		text, want string
		fail       string
	}{
		{code: spannerpb.TypeCode_INT64, text: `[9007199254740993]`, want: `["9007199254740993"]`},
		{code: spannerpb.TypeCode_INT64, text: `["-5"]`, want: `["-5"]`},
		{code: spannerpb.TypeCode_INT64, text: `[null]`, want: `[null]`},
		{code: spannerpb.TypeCode_INT64, text: `[1.5]`, fail: "part 1, column c (INT64): not a whole number in decimal digits"},
		{code: spannerpb.TypeCode_INT64, text: `[9223372036854775808]`, fail: "part 1, column c (INT64): out of the range of 64 bits"},
		{code: spannerpb.TypeCode_INT64, text: `[true]`, fail: "part 1, column c (INT64): not a whole number in decimal digits"},
		{code: spannerpb.TypeCode_STRING, text: `["日本"]`, want: `["日本"]`},
		{code: spannerpb.TypeCode_STRING, text: `[1]`, fail: "part 1, column c (STRING): not a string"},
		{code: spannerpb.TypeCode_BOOL, text: `[true]`, want: `[true]`},
		{code: spannerpb.TypeCode_BOOL, text: `["true"]`, want: `[true]`},
		{code: spannerpb.TypeCode_FLOAT64, text: `[1e3]`, want: `[1000]`},
		{code: spannerpb.TypeCode_FLOAT64, text: `["-Infinity"]`, want: `["-Infinity"]`},
		{code: spannerpb.TypeCode_FLOAT64, text: `["x"]`, fail: `part 1, column c (FLOAT64): not a number, "NaN", "Infinity" or "-Infinity"`},
		{code: spannerpb.TypeCode_BYTES, text: `["_-8"]`, want: `["/+8="]`},
		{code: spannerpb.TypeCode_BYTES, text: `["?"]`, fail: "part 1, column c (BYTES): not base64"},
		{code: spannerpb.TypeCode_TIMESTAMP, text: `["2026-01-31T12:00:00.000000001+02:00"]`, want: `["2026-01-31T10:00:00.000000001Z"]`},
		{code: spannerpb.TypeCode_BYTES, text: `["QQ=="]`, want: `["QQ=="]`},
		{code: spannerpb.TypeCode_BYTES, text: `["QR=="]`, fail: "part 1, column c (BYTES): not base64"},
		{code: spannerpb.TypeCode_NUMERIC, text: `["1e2"]`, want: `["100"]`},
		{code: spannerpb.TypeCode_NUMERIC, text: `["+01.50"]`, want: `["1.5"]`},
		{code: spannerpb.TypeCode_INT64, text: `["+1"]`, want: `["1"]`},
		{code: spannerpb.TypeCode_DATE, text: `["2026-1-5"]`, want: `["2026-01-05"]`},
		{code: spannerpb.TypeCode_TIMESTAMP, text: `["2026-01-31 12:00:00z"]`, want: `["2026-01-31T12:00:00Z"]`},
		{code: spannerpb.TypeCode_TIMESTAMP, text: `[1]`, fail: "part 1, column c (TIMESTAMP): an all-digit timestamp does not say its unit; write RFC 3339 such as 2026-01-31T12:00:00Z"},
		{code: spannerpb.TypeCode_TIMESTAMP, text: `["2026-01-31"]`, fail: "part 1, column c (TIMESTAMP): not an RFC 3339 timestamp such as 2026-01-31T12:00:00Z"},
		{code: spannerpb.TypeCode_TIMESTAMP, text: `["2026-01-31T12:00:00.0000000001Z"]`, fail: "part 1, column c (TIMESTAMP): finer than a nanosecond"},
		{code: spannerpb.TypeCode_DATE, text: `["2024-02-29"]`, want: `["2024-02-29"]`},
		{code: spannerpb.TypeCode_DATE, text: `["2026-02-29"]`, fail: "part 1, column c (DATE): not a date such as 2026-01-31 that exists"},
		{code: spannerpb.TypeCode_NUMERIC, text: `[0.000000001]`, want: `["0.000000001"]`},
		{code: spannerpb.TypeCode_NUMERIC, text: `["0.0000000001"]`, fail: "part 1, column c (NUMERIC): more than 9 digits after the point, which NUMERIC cannot hold"},
		{code: spannerpb.TypeCode_UUID, text: `["123E4567-e89b-12d3-a456-426614174000"]`, want: `["123e4567-e89b-12d3-a456-426614174000"]`},
		{code: spannerpb.TypeCode_JSON, text: `["{}"]`, fail: "part 1, column c (JSON): no value of its type can be part of a key"},
		{code: spannerpb.TypeCode_INT64, text: `[1,2]`, fail: "the key has 1 parts (c), not 2"},
		{code: spannerpb.TypeCode_INT64, text: `[]`, fail: "the key has 1 parts (c), not 0"},
		{code: spannerpb.TypeCode_INT64, text: `1`, fail: "not a JSON array of key parts"},
		{code: spannerpb.TypeCode_INT64, text: `null`, fail: "not a JSON array of key parts"},
		{code: spannerpb.TypeCode_INT64, text: `[1] [2]`, fail: "more than one JSON array"},
	}
	for _, tt := range tests {
		got, err := keyset.ParseKey([]keyset.Column{column("c", tt.code)}, tt.text)
		switch {
		case tt.fail != "" && (err == nil || err.Error() != tt.fail):
			t.Errorf("%v %s: error %v, want %q", tt.code, tt.text, err, tt.fail)
		case tt.fail == "" && (err != nil || compact(got) != tt.want):
			t.Errorf("%v %s = %s, %v, want %s", tt.code, tt.text, compact(got), err, tt.want)
		}
	}
}

func show(r *spannerpb.KeyRange) string {
	open, start := "[", r.GetStartClosed()
	if start == nil {
		open, start = "(", r.GetStartOpen()
	}
	closing, end := "]", r.GetEndClosed()
	if end == nil {
		closing, end = ")", r.GetEndOpen()
	}
	return fmt.Sprintf("%s%s,%s%s", open, compact(start), compact(end), closing)
}

func TestParseRange(t *testing.T) {
	tests := []struct {
		columns          []keyset.Column
		text, want, fail string
	}{
		{columns: singers, text: `[[1],[10])`, want: `[["1"],["10"])`},
		{columns: singers, text: ` ( [1, "a"] , [1, "b"] ] `, want: `(["1","a"],["1","b"]]`},
		{columns: singers, text: `[[],[5])`, want: `[[],["5"])`},
		{columns: singers, text: `[[1,"z"],[1]]`, want: `[["1","z"],["1"]]`},
		{columns: singers, text: `[[null],[1]]`, want: `[[null],["1"]]`},
		{columns: descending(singers[0]), text: `[[10],[1]]`, want: `[["10"],["1"]]`},
		{columns: descending(singers[0]), text: `[[1],[10]]`, fail: "its end comes before its start in the order of the key (SingerId is descending)"},
		{columns: singers, text: `[[10],[9]]`, fail: "its end comes before its start in the order of the key"},
		{columns: singers, text: `[[1],[2]`, fail: "end: not a JSON array of key parts"},
		{columns: singers, text: `[[1] [2]]`, fail: "a range has two ends, each a JSON array, with a comma between them"},
		{columns: singers, text: `1,2`, fail: `not a range such as [[1],[10]) or (["a"],["b"]]`},
		{columns: singers, text: `[1,2]`, fail: "start: not a JSON array of key parts"},
		{columns: singers, text: `[[1],["x"]]`, fail: "end: part 1, column SingerId (INT64): not a whole number in decimal digits"},
		{columns: singers, text: `[[1,"a",2],[3]]`, fail: "start: the key has 2 parts (SingerId, Name), not 3"},
	}
	for _, tt := range tests {
		got, err := keyset.ParseRange(tt.columns, tt.text)
		switch {
		case tt.fail != "" && (err == nil || err.Error() != tt.fail):
			t.Errorf("%s: error %v, want %q", tt.text, err, tt.fail)
		case tt.fail == "" && (err != nil || show(got) != tt.want):
			t.Errorf("%s = %s, %v, want %s", tt.text, show(got), err, tt.want)
		}
	}
}

// TestRangeOrder tells the order of NULL and NaN in both dialects.
func TestRangeOrder(t *testing.T) {
	const null, nan, number = `null`, `"NaN"`, `1`
	float := func(descending, nullHighest, nanHighest bool) keyset.Column {
		c := column("c", spannerpb.TypeCode_FLOAT64)
		c.Descending, c.NullHighest = descending, nullHighest
		if nanHighest {
			c.Dialect = schema.PostgreSQL
		}
		return c
	}
	tests := []struct {
		name   string
		column keyset.Column
		order  [3]string
		hint   string
	}{
		{"GoogleSQL", float(false, false, false), [3]string{null, nan, number}, " (c has NULL first)"},
		{"GoogleSQL DESC", float(true, false, false), [3]string{number, nan, null}, " (c has NULL last)"},
		{"PostgreSQL", float(false, true, true), [3]string{number, nan, null}, " (c has NULL last)"},
		{"PostgreSQL DESC", float(true, true, true), [3]string{null, nan, number}, " (c has NULL first)"},
		{"PostgreSQL NULLS FIRST", float(false, false, true), [3]string{null, number, nan}, " (c has NULL first)"},
		{"PostgreSQL DESC NULLS LAST", float(true, false, true), [3]string{nan, number, null}, " (c has NULL last)"},
	}
	for _, tt := range tests {
		for i, start := range tt.order {
			for j, end := range tt.order {
				_, err := keyset.ParseRange([]keyset.Column{tt.column}, "[["+start+"],["+end+"]]")
				if (err != nil) != (i > j) {
					t.Errorf("%s: [[%s],[%s]]: error %v", tt.name, start, end, err)
				}
				isNull := start == null || end == null
				if err != nil && isNull && !strings.HasSuffix(err.Error(), "in the order of the key"+tt.hint) {
					t.Errorf("%s: [[%s],[%s]]: %v, want %s", tt.name, start, end, err, tt.hint)
				}
			}
		}
	}
}

func TestParsePrefix(t *testing.T) {
	got, err := keyset.ParsePrefix(singers, `[7]`)
	if err != nil || show(got) != `[["7"],["7"]]` {
		t.Errorf("got %s, %v", show(got), err)
	}
	if _, err := keyset.ParsePrefix(singers, `[]`); err == nil || err.Error() != "a prefix has at least one part" {
		t.Errorf("an empty prefix: %v", err)
	}
}

func FuzzParseRange(f *testing.F) {
	for _, s := range []string{`[[1],[10])`, `([1,"a"],[2]]`, `[[],[]]`, `[[null,"x"],[null]]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := keyset.ParseRange(singers, text)
		if err != nil {
			return
		}
		again, err := keyset.ParseRange(singers, show(r))
		if err != nil || show(again) != show(r) {
			t.Errorf("%q -> %s -> %s, %v", text, show(r), show(again), err)
		}
	})
}
