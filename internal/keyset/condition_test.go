package keyset_test

import (
	"strconv"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/keyset"
)

// showSet is a key set on one line.
func showSet(set *spannerpb.KeySet) string {
	var all []string
	for _, k := range set.GetKeys() {
		all = append(all, compact(k))
	}
	for _, r := range set.GetRanges() {
		all = append(all, show(r))
	}
	return strings.Join(all, " ")
}

func TestFromCondition(t *testing.T) {
	code := func(c spannerpb.TypeCode) []keyset.Column { return []keyset.Column{column("c", c)} }
	params := map[string]keyset.Param{
		"id":   {Type: &spannerpb.Type{Code: spannerpb.TypeCode_INT64}, Value: structpb.NewStringValue("7")},
		"none": {Type: &spannerpb.Type{Code: spannerpb.TypeCode_INT64}, Value: structpb.NewNullValue()},
		"f":    {Type: &spannerpb.Type{Code: spannerpb.TypeCode_FLOAT64}, Value: structpb.NewNumberValue(1e30)},
		"f32":  {Type: &spannerpb.Type{Code: spannerpb.TypeCode_FLOAT32}, Value: structpb.NewNumberValue(2.5)},
		"nan":  {Type: &spannerpb.Type{Code: spannerpb.TypeCode_FLOAT64}, Value: structpb.NewStringValue("NaN")},
	}
	tests := []struct {
		columns   []keyset.Column
		condition string
		want      string // empty if the condition is no key set
	}{
		// Equalities on all columns are keys, on the first ones ranges.
		{singers, `SingerId = 1 AND Name = "a"`, `["1","a"]`},
		{singers, `SingerId = 1`, `[["1"],["1"]]`},
		{singers, "((`singerid`) = (1))", `[["1"],["1"]]`},
		{singers, `0x1F = SingerId`, `[["31"],["31"]]`},
		{singers, `SingerId IN (2, 1, 02) AND Name = 'b'`, `["1","b"] ["2","b"]`},
		{singers, `SingerId IN (1, 2, 3) AND SingerId > 1`, `[["2"],["2"]] [["3"],["3"]]`},
		{singers, `SingerId IN (1, 2) AND SingerId IN (2, 3)`, `[["2"],["2"]]`},
		{singers, `SingerId = @ID`, `[["7"],["7"]]`},
		{singers, `SingerId = -9223372036854775808`, `[["-9223372036854775808"],["-9223372036854775808"]]`},

		// A range may follow; NULL is in none.
		{singers, `SingerId > 1`, `(["1"],[]]`},
		{singers, `1 < SingerId`, `(["1"],[]]`},
		{singers, `SingerId <= 5`, `([null],["5"]]`},
		{singers, `SingerId BETWEEN 1 AND 5`, `[["1"],["5"]]`},
		{singers, `SingerId >= 1 AND SingerId > 1 AND SingerId >= 0 AND SingerId < 9 AND SingerId <= 9`, `(["1"],["9"])`},
		{singers, `SingerId = 1 AND Name >= "b"`, `[["1","b"],["1"]]`},
		{singers, `Name < "b" AND SingerId IN (1, 2)`, `(["1",null],["1","b"]) (["2",null],["2","b"])`},
		{descending(column("c", spannerpb.TypeCode_INT64)), `c > 1`, `[[],["1"])`},
		{descending(column("c", spannerpb.TypeCode_INT64)), `c <= 1`, `[["1"],[null])`},

		// Each type has literals of its own.
		{code(spannerpb.TypeCode_BOOL), `c = TRUE`, `[true]`},
		{code(spannerpb.TypeCode_BYTES), `c = b"\xff"`, `["/w=="]`},
		{code(spannerpb.TypeCode_DATE), `c = DATE "2026-01-31"`, `["2026-01-31"]`},
		{code(spannerpb.TypeCode_DATE), `c = "2026-01-31"`, `["2026-01-31"]`},
		{code(spannerpb.TypeCode_DATE), `c = "2026-1-31"`, `["2026-01-31"]`},
		{code(spannerpb.TypeCode_FLOAT64), `c = .5`, `[0.5]`},
		{code(spannerpb.TypeCode_TIMESTAMP), `c < TIMESTAMP "2026-01-31T12:00:00+02:00"`, `([null],["2026-01-31T10:00:00Z"])`},
		{code(spannerpb.TypeCode_NUMERIC), `c = NUMERIC "1.5"`, `["1.5"]`},
		{code(spannerpb.TypeCode_NUMERIC), `c = 3`, `["3"]`},
		{code(spannerpb.TypeCode_FLOAT64), `c < 2`, `[["-Infinity"],[2])`},
		{code(spannerpb.TypeCode_FLOAT64), `c > @f`, `([1e+30],[]]`},

		// What a key set cannot say, or would say otherwise, stays SQL.
		{singers, `Name = "a"`, ``},
		{singers, `SingerId > 1 AND Name = "a"`, ``},
		{singers, `SingerId = 1 OR SingerId = 2`, ``},
		{singers, `SingerId = 1 AND Age = 3`, ``},
		{singers, `SingerId != 1`, ``},
		{singers, `NOT SingerId = 1`, ``},
		{singers, `SingerId NOT IN (1)`, ``},
		{singers, `SingerId NOT BETWEEN 1 AND 2`, ``},
		{singers, `SingerId IN UNNEST(@ids)`, ``},
		{singers, `SingerId + 1 = 2`, ``},
		{singers, `SingerId = Name`, ``},
		{singers, `SingerId = NULL`, ``},
		{singers, `SingerId = @none`, ``},
		{singers, `SingerId = @unknown`, ``},
		{singers, `SingerId = @f`, ``},
		{singers, `SingerId = "1"`, ``},
		{singers, `SingerId = 1.5`, ``},
		{singers, `SingerId = 9223372036854775808`, ``},
		{singers, `SingerId = 1 AND SingerId = 2`, ``},
		{singers, `SingerId > 2 AND SingerId < 2`, ``},
		{singers, `SingerId`, ``},
		{singers, `SingerId = `, ``},
		{singers, `TRUE`, ``},
		{nil, `TRUE`, ``},
		{code(spannerpb.TypeCode_FLOAT64), `c = @nan`, ``},
		{code(spannerpb.TypeCode_FLOAT32), `c = 1.1`, ``},
		{code(spannerpb.TypeCode_FLOAT32), `c < @f32`, `[["-Infinity"],[2.5])`},
		{descending(column("c", spannerpb.TypeCode_FLOAT32)), `c <= @f32`, `[[2.5],["-Infinity"]]`},
		{code(spannerpb.TypeCode_TIMESTAMP), `c < "2026-01-31 12:00:00"`, ``},
	}
	for _, tt := range tests {
		set, ok := keyset.FromCondition(tt.columns, tt.condition, params)
		if ok != (tt.want != "") || showSet(set) != tt.want && ok {
			t.Errorf("%s = %s, %v, want %q", tt.condition, showSet(set), ok, tt.want)
		}
	}
}

// Lists multiply; what would be too many keys is left to Spanner.
func TestFromConditionIsBounded(t *testing.T) {
	numbers := make([]string, 200)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	list := "(" + strings.Join(numbers, ", ") + ")"
	columns := []keyset.Column{column("a", spannerpb.TypeCode_INT64), column("b", spannerpb.TypeCode_INT64)}
	if set, ok := keyset.FromCondition(columns, "a IN "+list, nil); !ok || len(set.GetRanges()) != 200 {
		t.Errorf("one list became %d ranges, %v", len(set.GetRanges()), ok)
	}
	if _, ok := keyset.FromCondition(columns, "a IN "+list+" AND b IN "+list, nil); ok {
		t.Error("the product of two lists was taken")
	}
}

func FuzzFromCondition(f *testing.F) {
	for _, s := range []string{`SingerId = 1 AND Name > "a"`, `SingerId IN (1,2)`, `SingerId BETWEEN -1 AND @p`, "`Name` = b'x'", "0\"\\0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, condition string) {
		set, ok := keyset.FromCondition(singers, condition, nil)
		if ok && len(set.GetKeys())+len(set.GetRanges()) == 0 {
			t.Errorf("%q became an empty key set", condition)
		}
		for _, r := range set.GetRanges() {
			if _, err := keyset.ParseRange(singers, show(r)); ok && err != nil {
				t.Errorf("%q became the range %s: %v", condition, show(r), err)
			}
		}
	})
}
