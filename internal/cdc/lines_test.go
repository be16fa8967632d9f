package cdc_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/cdc"
	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/transform"
)

// TestFormsAgree reads one history in every form that Spanner has for it: the
// lines are the same.
func TestFormsAgree(t *testing.T) {
	seed := randtest.New(t).Uint64()
	var want []string
	for _, f := range []form{googleSQL, postgreSQL} {
		w := newWorld(rand.New(rand.NewPCG(seed, 0)), f, 100)
		got := runTail(t, w, cdc.Options{Start: cdc.At(w.begin.Time()), End: w.now.Time(), MaxQueries: 1})
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("the lines of %v and GoogleSQL differ", f)
		}
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const insertLine = `{"commit_timestamp":"2026-01-01T00:00:00.001Z","record_sequence":"00000000","server_transaction_id":"txn1",` +
	`"is_last_record_in_transaction_in_partition":true,"table_name":"T","column_types":[` +
	`{"name":"Id","type":{"code":"INT64"},"is_primary_key":true,"ordinal_position":1},` +
	`{"name":"Name","type":{"code":"STRING"},"is_primary_key":false,"ordinal_position":2},` +
	`{"name":"Age","type":{"code":"INT64"},"is_primary_key":false,"ordinal_position":3}],` +
	`"mods":[{"keys":{"Id":"1"},"new_values":{"Age":"30","Name":"Ada"},"old_values":{}}],"mod_type":"INSERT",` +
	`"value_capture_type":"NEW_ROW_AND_OLD_VALUES","number_of_records_in_transaction":1,"number_of_partitions_in_transaction":1,` +
	`"transaction_tag":"app=\"x\"","is_system_transaction":false}`

func TestRecordLine(t *testing.T) {
	c := insert("1", `"Ada"`, `"30"`)
	c.tag = `app="x"`
	s := newScript(c)
	wantLines(t, runTail(t, s, s.options()), insertLine)
}

// TestValuesAreUntouched has texts in a record that a detour over Go values
// would change.
func TestValuesAreUntouched(t *testing.T) {
	for _, value := range []string{
		`"9223372036854775807"`, `"-99999999999999999999999999999.999999999"`, `3.140000104904175`, `1e400`, `null`, `""`,
		`"\u00e9\ud83c\udf0d"`, `{"a": 1.50,  "b":[1, 2]}`, `"{\"a\": 1.0}"`, `["1",null]`, "\"\u2028é你🌍\"",
	} {
		s := newScript(rawChange{modType: "INSERT", columns: []string{"Id INT64", "V JSON"}, mods: [][3]string{{`{"Id":"1"}`, `{"V":` + value + `}`, `{}`}}})
		got := runTail(t, s, s.options())
		if len(got) != 1 || !strings.Contains(got[0], `"new_values":{"V":`+value+`}`) {
			t.Errorf("%s became %s", value, got)
		}
	}
}

func TestRecordMetadata(t *testing.T) {
	s := newScript(insert("1", `null`, `"30"`))
	opt := s.options()
	opt.Metadata = []string{"commit-timestamp", "Mod_Type", "partition-token"}
	wantLines(t, runTail(t, s, opt), `{"commit_timestamp":"2026-01-01T00:00:00.001Z","column_types":[{"name":"Id","type":{"code":"INT64"},"is_primary_key":true,"ordinal_position":1},`+
		`{"name":"Name","type":{"code":"STRING"},"is_primary_key":false,"ordinal_position":2},{"name":"Age","type":{"code":"INT64"},"is_primary_key":false,"ordinal_position":3}],`+
		`"mods":[{"keys":{"Id":"1"},"new_values":{"Age":"30","Name":null},"old_values":{}}],"mod_type":"INSERT","partition_token":"p"}`)
}

func TestChangelog(t *testing.T) {
	changes := []rawChange{insert("1", `"Ada"`, `"30"`), update("1", `"Ada"`, `"31"`, `"30"`), remove("1", `"Ada"`, `null`)}
	tests := map[string]struct {
		change func(*cdc.Options)
		want   []string
	}{
		"full": {func(o *cdc.Options) { o.Mode = cdc.Full }, []string{
			`{"__op":"INSERT","Id":1,"Name":"Ada","Age":30}`,
			`{"__op":"UPDATE_BEFORE","Id":1,"Name":"Ada","Age":30}`,
			`{"__op":"UPDATE_AFTER","Id":1,"Name":"Ada","Age":31}`,
			`{"__op":"DELETE","Id":1,"Name":"Ada","Age":null}`,
		}},
		"upsert": {func(o *cdc.Options) { o.Mode = cdc.Upsert }, []string{
			`{"__op":"INSERT","Id":1,"Name":"Ada","Age":30}`,
			`{"__op":"UPDATE_AFTER","Id":1,"Name":"Ada","Age":31}`,
			`{"__op":"DELETE","Id":1}`,
		}},
		"upsert with metadata": {func(o *cdc.Options) {
			o.Mode, o.Metadata, o.MaxRecords = cdc.Upsert, []string{"all", "partition-token"}, 1
		}, []string{
			`{"__op":"INSERT","__commit_timestamp":"2026-01-01T00:00:00.001Z","__sequence":"00000000","__server_transaction_id":"txn1",` +
				`"__is_last_record_in_transaction_in_partition":true,"__table":"T","__mod_type":"INSERT","__value_capture_type":"NEW_ROW_AND_OLD_VALUES",` +
				`"__number_of_records_in_transaction":1,"__number_of_partitions_in_transaction":1,"__transaction_tag":"","__system_transaction":false,` +
				`"__mod_number":0,"__partition_token":"p","Id":1,"Name":"Ada","Age":30}`,
		}},
		"strings": {func(o *cdc.Options) {
			o.Mode, o.Values, o.MaxRecords = cdc.Upsert, format.ValueOptions{Int64: "string"}, 1
		}, []string{`{"__op":"INSERT","Id":"1","Name":"Ada","Age":"30"}`}},
		"columns": {func(o *cdc.Options) {
			o.Mode, o.Filters.ColumnInclude, o.MaxRecords = cdc.Full, []string{"T\\.Age"}, 2
		}, []string{`{"__op":"INSERT","Id":1,"Age":30}`, `{"__op":"UPDATE_BEFORE","Id":1,"Age":30}`, `{"__op":"UPDATE_AFTER","Id":1,"Age":31}`}},
		"text": {func(o *cdc.Options) { o.Mode, o.Text, o.MaxRecords = cdc.Upsert, true, 1 }, []string{
			`2026-01-01T00:00:00.001Z INSERT T {"__op":"INSERT","Id":1,"Name":"Ada","Age":30}`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript(changes...)
			opt := s.options()
			tt.change(&opt)
			wantLines(t, runTail(t, s, opt), tt.want...)
		})
	}
}

// TestRowTypes writes a row of every type that a mod can hold.
func TestRowTypes(t *testing.T) {
	c := rawChange{modType: "INSERT", columns: []string{"Id INT64", "B BOOL", "F FLOAT64", "G FLOAT32", "N NUMERIC", "J JSON", "A STRINGS", "Y BYTES", "T TIMESTAMP", "D DATE", "X FLOAT64", "Z JSON"},
		mods: [][3]string{{`{"Id":"1"}`, `{"A":["a",null,"\"q\""],"B":true,"D":"2026-01-31","F":0.1,"G":3.140000104904175,"J":"{\"a\": [1.50]}","N":"1.50","T":"2026-01-01T00:00:00Z","X":"NaN","Y":"AP8=","Z":"null"}`, `{}`}}}
	s := newScript(c)
	opt := s.options()
	opt.Mode = cdc.Full
	wantLines(t, runTail(t, s, opt), `{"__op":"INSERT","Id":1,"B":true,"F":0.1,"G":3.14,"N":"1.50","J":{"a": [1.50]},"A":["a",null,"\"q\""],"Y":"AP8=","T":"2026-01-01T00:00:00Z","D":"2026-01-31","X":"NaN","Z":{"$json":null}}`)
}

// TestRowsRefused wants an error that names the place and no value, and nothing
// of the record in the output.
func TestRowsRefused(t *testing.T) {
	secret := `"secret"`
	good := insert("1", `"Ada"`, `"30"`)
	missing := good
	missing.mods = append(slices.Clone(good.mods), [3]string{`{"Id":"7"}`, `{"Name":` + secret + `}`, `{}`})
	noKey := good
	noKey.mods = [][3]string{{`{}`, good.mods[0][1], `{}`}}
	otherCapture := good
	otherCapture.capture = "NEW_VALUES"
	oldMissing := remove("7", secret, `"1"`)
	oldMissing.mods[0][2] = `{"Name":` + secret + `}`
	unknown := good
	unknown.mods = [][3]string{{good.mods[0][0], `{"Age":"1","Name":"x","Other":` + secret + `}`, `{}`}}
	const place = `a change of table T (commit timestamp 2026-01-01T00:00:00.002Z, transaction txn2, sequence 00000000, mod `
	for name, tt := range map[string]struct {
		change rawChange
		mode   cdc.Mode
		want   string
	}{
		"new value left out": {missing, cdc.Upsert, place + "1): Spanner left out column Age of the INSERT row"},
		"key left out":       {noKey, cdc.Upsert, place + "0): Spanner left out column Id of the INSERT row"},
		"capture type":       {otherCapture, cdc.Upsert, place + "0): the record was captured as NEW_VALUES"},
		"full needs more":    {func() rawChange { c := good; c.capture = "NEW_ROW"; return c }(), cdc.Full, "captured as NEW_ROW"},
		"old value left out": {oldMissing, cdc.Full, place + "0): Spanner left out column Age of the DELETE row"},
		"unknown column":     {unknown, cdc.Full, place + "0): it has a value of column Other"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(good, tt.change, good)
			opt := s.options()
			opt.Mode = tt.mode
			var saved *cdc.SavedState
			opt.Save = func(s *cdc.SavedState) error { saved = s; return nil }
			out := &collector{}
			err := newTail(t, s, opt).Run(t.Context(), out)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			wantLines(t, out.lines(), `{"__op":"INSERT","Id":1,"Name":"Ada","Age":30}`)
			if saved == nil || saved.Watermark != epoch.Add(time.Millisecond) {
				t.Errorf("the state is at %v, want it behind the good record", saved.Watermark)
			}
		})
	}
}

func TestCaptureTypeIsCheckedFirst(t *testing.T) {
	s := newScript()
	s.stream.Options["value_capture_type"] = "NEW_ROW"
	opt := s.options()
	opt.Mode = cdc.Full
	err := newTail(t, s, opt).Run(t.Context(), &collector{})
	if err == nil || !strings.Contains(err.Error(), "it captures NEW_ROW") || len(s.asked()) > 0 {
		t.Errorf("got %v after %d queries", err, len(s.asked()))
	}
}

func TestFilters(t *testing.T) {
	other := insert("2", `"Bob"`, `"40"`)
	other.table = "TT"
	changes := []rawChange{insert("1", `"Ada"`, `"30"`), other, update("1", `"Ada"`, `"31"`, `"30"`)}
	keyOnly := rawChange{modType: "DELETE", capture: "NEW_ROW", columns: idName, mods: [][3]string{{`{"Id":"1"}`, `{}`, `{}`}}}
	tests := map[string]struct {
		filters                   cdc.Filters
		want                      string // mods of the lines
		byTable, skipped, columns int64
	}{
		"none":           {cdc.Filters{}, "T2 TT2 T3 T0", 0, 0, 0},
		"include":        {cdc.Filters{TableInclude: []string{"T"}}, "T2 T3 T0", 1, 0, 0},
		"other case":     {cdc.Filters{TableInclude: []string{"t"}}, "", 4, 0, 0},
		"any case":       {cdc.Filters{TableInclude: []string{"t"}, ColumnExclude: []string{`.*\.AGE`}, AnyCase: true}, "T1 T1 T0", 1, 0, 3},
		"exclude":        {cdc.Filters{TableExclude: []string{"T", "x"}}, "TT2", 3, 0, 0},
		"whole name":     {cdc.Filters{TableInclude: []string{"T|X"}}, "T2 T3 T0", 1, 0, 0},
		"columns":        {cdc.Filters{ColumnExclude: []string{`.*\.Age`}}, "T1 TT1 T1 T0", 0, 0, 4},
		"keys stay":      {cdc.Filters{ColumnExclude: []string{`.*`}}, "T0 TT0 T0 T0", 0, 0, 8},
		"skip empty":     {cdc.Filters{ColumnExclude: []string{`T\..*`}, SkipWithoutChange: true}, "TT2 T0", 0, 2, 6},
		"include column": {cdc.Filters{ColumnInclude: []string{`T\.Name`}}, "T1 TT0 T1 T0", 0, 0, 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript(append(slices.Clone(changes), keyOnly)...)
			opt := s.options()
			opt.Filters = tt.filters
			opt.Progress = new(cdc.Progress)
			var got []string
			for _, l := range runTail(t, s, opt) {
				_, mods, _ := strings.Cut(l, `"mods":`)
				mods, _, _ = strings.Cut(mods, `"mod_type"`)
				_, values, _ := strings.Cut(mods, `"new_values"`)
				table := "T"
				if strings.Contains(l, `"table_name":"TT"`) {
					table = "TT"
				}
				got = append(got, table+string('0'+byte(strings.Count(values, `":"`))))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
			p := opt.Progress
			if p.RecordsFilteredByTable.Load() != tt.byTable || p.RecordsSkippedWithoutChange.Load() != tt.skipped || p.ColumnOccurrencesFiltered.Load() != tt.columns {
				t.Errorf("counted %d by table, %d skipped, %d columns", p.RecordsFilteredByTable.Load(), p.RecordsSkippedWithoutChange.Load(), p.ColumnOccurrencesFiltered.Load())
			}
			if in, out := p.Records.Load(), p.RecordsWritten.Load()+p.RecordsFilteredByTable.Load()+p.RecordsSkippedWithoutChange.Load(); in != 4 || out != in {
				t.Errorf("%d records in, %d accounted for", in, out)
			}
		})
	}
}

func TestOneTableOfRows(t *testing.T) {
	other := insert("2", `"Bob"`, `"40"`)
	other.table = "TT"
	s := newScript(other, insert("1", `"Ada"`, `"30"`))
	opt := s.options()
	opt.Mode, opt.Filters.Table = cdc.Upsert, "T"
	wantLines(t, runTail(t, s, opt), `{"__op":"INSERT","Id":1,"Name":"Ada","Age":30}`)
}

func TestJQ(t *testing.T) {
	program, err := transform.Compile(`select(.mods[0].keys.Id != "2") | .table_name, .mods[0].keys`)
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(insert("1", `"Ada"`, `"30"`), insert("2", `"Bob"`, `"40"`), insert("3", `"Eve"`, `"50"`))
	opt := s.options()
	opt.Transform = func(f format.Format) format.Format { return program.Format(t.Context(), f, nil) }
	opt.Progress = new(cdc.Progress)
	wantLines(t, runTail(t, s, opt), `"T"`, `{"Id":"1"}`, `"T"`, `{"Id":"3"}`)
	if n := opt.Progress.RecordsSkipped.Load(); n != 1 {
		t.Errorf("%d records skipped, want 1", n)
	}
}

func TestText(t *testing.T) {
	s := newScript(insert("1", `"Ada"`, `"30"`), update("1", `"Ada"`, `"31"`, `"30"`))
	s.rows["p"] = append(s.rows["p"], beatRow(epoch.Add(time.Second)))
	opt := s.options()
	opt.Text, opt.Heartbeats, opt.PartitionEvents, opt.Watermarks = true, true, true, true
	wantLines(t, runTail(t, s, opt),
		`2026-01-01T00:00:00Z CHILD_PARTITIONS (initial query) child p`,
		`2026-01-01T00:00:00.001Z INSERT T {"Id":"1"} new {"Age":"30","Name":"Ada"}`,
		`2026-01-01T00:00:00.002Z UPDATE T {"Id":"1"} new {"Age":"31","Name":"Ada"} old {"Age":"30"}`,
		`2026-01-01T00:00:01Z HEARTBEAT p`,
		`2026-01-01T01:00:00Z WATERMARK`)
}

func TestEvents(t *testing.T) {
	s := newScript(insert("1", `"Ada"`, `"30"`))
	s.rows["p"] = []*structpb.Value{beatRow(epoch.Add(time.Second))}
	opt := s.options()
	opt.Heartbeats, opt.PartitionEvents, opt.Watermarks = true, true, true
	wantLines(t, runTail(t, s, opt),
		`{"child_partitions_record":{"start_timestamp":"2026-01-01T00:00:00Z","record_sequence":"00000000","child_partitions":[{"token":"p","parent_partition_tokens":[]}],"partition_token":""}}`,
		`{"heartbeat_record":{"timestamp":"2026-01-01T00:00:01Z","partition_token":"p"}}`,
		`{"watermark_record":{"timestamp":"2026-01-01T01:00:00Z"}}`)
}

func TestCSV(t *testing.T) {
	s := newScript(insert("1", `"Ada, \"Countess\""`, `null`), update("1", `""`, `"31"`, `null`))
	opt := s.options()
	opt.Mode, opt.Filters.Table, opt.Columns = cdc.Full, "T", columnFields("Id INT64", "Age INT64", "Name STRING")
	opt.File = format.Options{Kind: format.CSV}
	wantLines(t, runTail(t, s, opt), "__op,Id,Age,Name", `INSERT,1,,"Ada, ""Countess"""`, `UPDATE_BEFORE,1,,""`, `UPDATE_AFTER,1,31,""`)

	opt = s.options()
	opt.Mode, opt.Filters.Table, opt.Columns = cdc.Full, "T", columnFields("Id INT64", "Age INT64")
	opt.File = format.Options{Kind: format.CSV}
	err := newTail(t, s, opt).Run(t.Context(), &collector{})
	if err == nil || !strings.Contains(err.Error(), "it has column Name, which the output has not") {
		t.Errorf("a column too many: %v", err)
	}
}
