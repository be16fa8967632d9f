package bench

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// Table is the table that rows are read from or written to: one column of each
// plain type.
const Table = "Bench"

// DDL makes the table.
const DDL = `CREATE TABLE ` + Table + ` (
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

// Column is a column of the table.
type Column struct {
	Name string
	Code spannerpb.TypeCode
}

// Columns are the columns of the table, in order.
func Columns() []Column {
	return []Column{
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
}

// ColumnNames are their names.
func ColumnNames() []string {
	var names []string
	for _, c := range Columns() {
		names = append(names, c.Name)
	}
	return names
}

// Row is the id-th row. About one value in thirty is NULL.
func Row(r *rand.Rand, id int) []*structpb.Value {
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
