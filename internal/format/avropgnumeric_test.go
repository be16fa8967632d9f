package format_test

import (
	"testing"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
)

// TestGooglePGNumeric reads the form that Google's export of a PostgreSQL
// database has for numbers: no decimal as Avro has them, whatever the schema
// says.
func TestGooglePGNumeric(t *testing.T) {
	const header = `{"type":"record","name":"R","fields":[{"name":"Id","type":"long"},{"name":"Part","type":"string"},` +
		`{"name":"PgNumeric","type":["null",{"type":"bytes","logicalType":"decimal","precision":147455,"scale":16383}]}]}`
	for _, c := range []struct{ bytes, want string }{
		{"\x01", `PgNumeric="NaN"`},
		{"\x00\x00\x00\x00\x00\x00", `PgNumeric="0"`},
		{"\x00\x00\x00\x00\x02\x00\x96", `PgNumeric="1.50"`},
		{"\x00\x00\x00\x00\x03\xff", `PgNumeric="-0.001"`},
		{"\x00\x00\x00\x00\x12\x0d\xe0\xb6\xb3\xa7\x64\x00\x01", `PgNumeric="1.000000000000000001"`},
		{"\x00\xff\xff\xff\xfe\x05", `PgNumeric="500"`},
		{"", `1:0: column PgNumeric (PG.NUMERIC): not a decimal number`},
		{"\x02", `1:0: column PgNumeric (PG.NUMERIC): not a decimal number`},
		{"\x00\x00\x00\x00\x00", `1:0: column PgNumeric (PG.NUMERIC): not a decimal number`},
		{"\x00\x7f\xff\xff\xff\x05", `1:0: column PgNumeric (PG.NUMERIC): not a decimal number`},
		{"\x00\x80\x00\x00\x00\x05", `1:0: column PgNumeric (PG.NUMERIC): not a decimal number`},
	} {
		block := append([]byte{2, 2, 'a', 2, byte(2 * len(c.bytes))}, c.bytes...)
		want := `Id="1" Part="a" ` + c.want + "\n"
		if c.want[0] == '1' {
			want = c.want + "\n"
		}
		got := readAvroFile(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{}, container(header, "null", 1, block))
		if got != want {
			t.Errorf("%x: got %s want %s", c.bytes, got, want)
		}
	}
}
