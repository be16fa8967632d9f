package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// table is the table that is exported: one column of each plain type.
const table = "Bench"

const ddl = `CREATE TABLE ` + table + ` (
  Id INT64 NOT NULL,
  Name STRING(MAX),
  Note STRING(MAX),
  Score FLOAT64,
  Active BOOL,
  Created TIMESTAMP,
  Amount NUMERIC,
  Payload BYTES(MAX),
  Attributes JSON,
  Codes ARRAY<INT64>,
) PRIMARY KEY (Id)`

var columns = []struct {
	name string
	code spannerpb.TypeCode
}{
	{"Id", spannerpb.TypeCode_INT64},
	{"Name", spannerpb.TypeCode_STRING},
	{"Note", spannerpb.TypeCode_STRING},
	{"Score", spannerpb.TypeCode_FLOAT64},
	{"Active", spannerpb.TypeCode_BOOL},
	{"Created", spannerpb.TypeCode_TIMESTAMP},
	{"Amount", spannerpb.TypeCode_NUMERIC},
	{"Payload", spannerpb.TypeCode_BYTES},
	{"Attributes", spannerpb.TypeCode_JSON},
	{"Codes", spannerpb.TypeCode_ARRAY},
}

func columnNames() []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names
}

func rowType() *spannerpb.StructType {
	t := &spannerpb.StructType{}
	for _, c := range columns {
		typ := &spannerpb.Type{Code: c.code}
		if c.code == spannerpb.TypeCode_ARRAY {
			typ.ArrayElementType = &spannerpb.Type{Code: spannerpb.TypeCode_INT64}
		}
		t.Fields = append(t.Fields, &spannerpb.StructType_Field{Name: c.name, Type: typ})
	}
	return t
}

// row is the id-th row. About one value in thirty is NULL.
func row(r *rand.Rand, id int) []*structpb.Value {
	text := structpb.NewStringValue
	codes := make([]*structpb.Value, 3)
	for i := range codes {
		codes[i] = text(strconv.Itoa(r.IntN(100_000)))
	}
	payload := make([]byte, 24)
	for i := range payload {
		payload[i] = byte(r.IntN(256))
	}
	created := time.Unix(1_700_000_000+int64(id), int64(r.IntN(1_000_000))*1000).UTC()
	values := []*structpb.Value{
		text(strconv.Itoa(id * 7919)),
		text(fmt.Sprintf("customer-%08d", r.IntN(100_000_000))),
		text([]string{"first order", "naïve résumé", `said "yes" twice`, "plain text of some length, as notes are"}[r.IntN(4)]),
		structpb.NewNumberValue(r.Float64() * 1000),
		structpb.NewBoolValue(r.IntN(2) == 0),
		text(created.Format(time.RFC3339Nano)),
		text(fmt.Sprintf("%d.%02d", r.IntN(100_000), r.IntN(100))),
		text(base64.StdEncoding.EncodeToString(payload)),
		text(fmt.Sprintf(`{"channel":"web","items":%d}`, r.IntN(20))),
		structpb.NewListValue(&structpb.ListValue{Values: codes}),
	}
	if r.IntN(3) == 0 {
		values[1+r.IntN(len(values)-1)] = structpb.NewNullValue()
	}
	return values
}

// messages encodes count rows, starting with id first, as the PartialResultSets
// of one stream: whole rows and a resume token in each, as the service sends.
func messages(r *rand.Rand, first, count, messageBytes int) ([][]byte, error) {
	var out [][]byte
	p := &spannerpb.PartialResultSet{Metadata: &spannerpb.ResultSetMetadata{RowType: rowType()}}
	size := 0
	flush := func() error {
		b, err := proto.Marshal(p)
		out = append(out, b)
		p, size = &spannerpb.PartialResultSet{}, 0
		return err
	}
	for i := range count {
		values := row(r, first+i)
		for _, v := range values {
			size += proto.Size(v) + 2
		}
		p.Values = append(p.Values, values...)
		if size >= messageBytes && i < count-1 {
			p.ResumeToken = fmt.Appendf(nil, "row %d", first+i)
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return out, flush()
}
