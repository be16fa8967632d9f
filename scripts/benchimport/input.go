package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/scripts/internal/bench"
)

// writeInputs writes the same rows as NDJSON and as CSV.
func writeInputs(ndjson, csvPath string, rows int) error {
	jsonFile, err := os.Create(ndjson)
	if err != nil {
		return err
	}
	defer jsonFile.Close()
	csvFile, err := os.Create(csvPath)
	if err != nil {
		return err
	}
	defer csvFile.Close()
	lines := bufio.NewWriterSize(jsonFile, 1<<20)
	table := csv.NewWriter(csvFile)
	if err := table.Write(bench.ColumnNames()); err != nil {
		return err
	}
	columns := bench.Columns()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		values := bench.Row(r, i)
		line, err := json.Marshal(record(columns, values))
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
		if err := table.Write(fields(columns, values)); err != nil {
			return err
		}
	}
	table.Flush()
	if err := table.Error(); err != nil {
		return err
	}
	return lines.Flush()
}

func record(columns []bench.Column, values []*structpb.Value) map[string]any {
	out := make(map[string]any, len(columns))
	for i, c := range columns {
		out[c.Name] = jsonValue(c.Code, values[i])
	}
	return out
}

func jsonValue(code spannerpb.TypeCode, v *structpb.Value) any {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if code == spannerpb.TypeCode_INT64 || code == spannerpb.TypeCode_JSON {
			return json.RawMessage(k.StringValue)
		}
		return k.StringValue
	case *structpb.Value_ListValue:
		elements := make([]any, len(k.ListValue.GetValues()))
		for i, e := range k.ListValue.GetValues() {
			elements[i] = jsonValue(spannerpb.TypeCode_INT64, e)
		}
		return elements
	default:
		return v.AsInterface()
	}
}

func fields(columns []bench.Column, values []*structpb.Value) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		switch k := values[i].GetKind().(type) {
		case *structpb.Value_NullValue:
		case *structpb.Value_StringValue:
			out[i] = k.StringValue
		case *structpb.Value_BoolValue:
			out[i] = strconv.FormatBool(k.BoolValue)
		case *structpb.Value_NumberValue:
			out[i] = strconv.FormatFloat(k.NumberValue, 'g', -1, 64)
		default:
			// Marshalling numbers cannot fail.
			text, _ := json.Marshal(jsonValue(c.Code, values[i]))
			out[i] = string(text)
		}
	}
	return out
}
