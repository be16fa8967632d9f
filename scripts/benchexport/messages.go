package main

import (
	"fmt"
	"math/rand/v2"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"

	"spanbulk/scripts/internal/bench"
)

func rowType() *spannerpb.StructType {
	t := &spannerpb.StructType{}
	for _, c := range bench.Columns() {
		typ := &spannerpb.Type{Code: c.Code}
		if c.Code == spannerpb.TypeCode_ARRAY {
			typ.ArrayElementType = &spannerpb.Type{Code: spannerpb.TypeCode_INT64}
		}
		t.Fields = append(t.Fields, &spannerpb.StructType_Field{Name: c.Name, Type: typ})
	}
	return t
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
		values := bench.Row(r, first+i)
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
