package keyset_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"spanbulk/internal/keyset"
	"spanbulk/internal/schema"
)

func TestParseParam(t *testing.T) {
	tests := []struct{ kind, text, want, fail string }{
		{kind: "STRING", text: "null", want: `"null"`},
		{kind: "STRING", text: `say "hi"`, want: `"say \"hi\""`},
		{kind: "INT64", text: "null", want: `null`},
		{kind: "INT64", text: "007", want: `"7"`},
		{kind: "INT64", text: "seven", fail: "not a whole number in decimal digits"},
		{kind: "BOOL", text: "true", want: `true`},
		{kind: "BOOL", text: "yes", fail: "neither true nor false"},
		{kind: "FLOAT64", text: "1.5", want: `1.5`},
		{kind: "FLOAT64", text: "NaN", want: `"NaN"`},
		{kind: "FLOAT64", text: "fast", fail: `not a number, "NaN", "Infinity" or "-Infinity"`},
		{kind: "JSON", text: `{"a": 1}`, want: `"{\"a\": 1}"`},
		{kind: "JSON", text: `{`, fail: "not JSON"},
		{kind: "DATE", text: "2026-01-31", want: `"2026-01-31"`},
		{kind: "INTERVAL", text: "P1Y", want: `"P1Y"`},
		{kind: "INTERVAL", text: "P0Y", want: `"P0Y"`},
		{kind: "INTERVAL", text: "P1Y2M3DT4H5M6.789S", want: `"P1Y2M3DT4H5M6.789S"`},
		{kind: "INTERVAL", text: "P-10000Y-3660000DT-87840000H", want: `"P-10000Y-3660000DT-87840000H"`},
		{kind: "INTERVAL", text: "PT0.5S", want: `"PT0.5S"`},
		{kind: "INTERVAL", text: "P3W", want: `"P3W"`},
		{kind: "INTERVAL", text: "null", want: `null`},
		{kind: "ARRAY<INTERVAL>", text: `["P1D",null]`, want: `["P1D",null]`},
		{kind: "INTERVAL", text: "", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "P", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "PT", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "P1YT", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "1Y", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "P1D1Y", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "P1H", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "PT1D", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "p1y", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "P1Y ", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "1 day", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "P1.Y", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "INTERVAL", text: "P1Y\n", fail: "not an ISO 8601 duration such as P1Y2M3DT4H5M6.5S"},
		{kind: "NUMERIC", text: "+1e2", want: `"100"`},
		{kind: "DATE", text: "2026-1-5", want: `"2026-01-05"`},
		{kind: "TIMESTAMP", text: "2026-01-31 12:00:00+01:00", want: `"2026-01-31T11:00:00Z"`},
		{kind: "PROTO<music.Singer>", text: "CgFh", want: `"CgFh"`},
		{kind: "PROTO<music.Singer>", text: "CgF", fail: "not base64"},
		{kind: "ENUM<music.Genre>", text: "ROCK", fail: "not the number of an enum value"},
		{kind: "ARRAY<INT64>", text: `[1,null,"3"]`, want: `["1",null,"3"]`},
		{kind: "ARRAY<STRING>", text: `["a","b"]`, want: `["a","b"]`},
		{kind: "ARRAY<JSON>", text: `[{"a":1.50},"{}"]`, want: `["{\"a\":1.50}","{}"]`},
		{kind: "ARRAY<INT64>", text: `[1,"x"]`, fail: "element 2: not a whole number in decimal digits"},
		{kind: "ARRAY<INT64>", text: `1`, fail: "not a JSON array"},
		{kind: "STRUCT<a INT64>", text: `{}`, fail: "parameters of this type are not supported"},
	}
	for _, tt := range tests {
		kind, err := schema.GoogleSQL.ParseType(tt.kind)
		if err != nil {
			t.Fatal(err)
		}
		got, err := keyset.ParseParam(kind, tt.text)
		if tt.fail != "" {
			if err == nil || err.Error() != tt.fail {
				t.Errorf("%s %q: error %v, want %q", tt.kind, tt.text, err, tt.fail)
			}
			continue
		}
		raw, _ := protojson.Marshal(got)
		if text := strings.ReplaceAll(string(raw), ", ", ","); err != nil || text != tt.want {
			t.Errorf("%s %q = %s, %v, want %s", tt.kind, tt.text, text, err, tt.want)
		}
	}
}
