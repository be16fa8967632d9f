package format_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
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

// TestGooglePGNumericWritten compares the bytes with those that Google's export
// makes: of a number as Java's BigDecimal takes it apart.
func TestGooglePGNumericWritten(t *testing.T) {
	rng := randtest.New(t)
	f := newAvro(t, format.AvroOptions{Google: true}, field("v", pgNumericType))
	texts := []string{"NaN", "0", "0.00", "-0.001", "127", "128", "-128", "-129", "255", "256", "1.50", "-1", "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999",
		"170141183460469231731687303715884105728", "-170141183460469231731687303715884105728", "-170141183460469231731687303715884105729",
		strings.Repeat("9", 131072) + "." + strings.Repeat("9", 16383), "-0." + strings.Repeat("0", 16382) + "1"}
	for range randtest.Rounds(300) {
		n := randomBig(rng)
		text := n.String()
		if scale := rng.IntN(60); scale > 0 {
			text = strings.Repeat("0", max(scale+1-len(text), 0)) + text
			text = text[:len(text)-scale] + "." + text[len(text)-scale:]
		}
		if n.Sign() > 0 && rng.IntN(2) == 0 {
			text = "-" + text
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		datum, err := f.NewEncoder().AppendRow(nil, encodeRow(t, str(text)))
		if err != nil {
			t.Fatalf("%.50s: %v", text, err)
		}
		if got, want := fmt.Sprintf("%x", datum), fmt.Sprintf("%x", googleDatum(text)); got != want {
			t.Fatalf("%.50s: got %.80s want %.80s", text, got, want)
		}
		checkReadBack(t, f, format.Options{Kind: format.Avro}, columnsOf(field("v", pgNumericType)), datum, encode(t, str(text)))
	}
	// Spanner has no negative zero, whose minus sign these bytes cannot hold.
	for _, text := range []string{"-0.0", "-0." + strings.Repeat("0", 40)} {
		datum, err := f.NewEncoder().AppendRow(nil, encodeRow(t, str(text)))
		if want := googleDatum(text[1:]); err != nil || !bytes.Equal(datum, want) {
			t.Errorf("%s: got %x, error %v, want %x", text, datum, err, want)
		}
	}
	for _, text := range []string{"", "-", "1e5", "nan", "Infinity", "1,5", "0." + strings.Repeat("0", 16384)} {
		testRefusal(t, f, wire.AppendString(nil, text), "column v (PG.NUMERIC): text is not a decimal number")
	}
}

// googleDatum is the datum of a nullable number.
func googleDatum(text string) []byte {
	if text == "NaN" {
		return []byte{2, 2, 1}
	}
	_, places, _ := strings.Cut(text, ".")
	n, _ := new(big.Int).SetString(strings.ReplaceAll(text, ".", ""), 10)
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(places)))
	size := n.BitLen()/8 + 1
	if n.Sign() < 0 {
		size = new(big.Int).Not(n).BitLen()/8 + 1
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	body = append(body, n.FillBytes(make([]byte, size))...)
	return append(binary.AppendVarint([]byte{2}, int64(len(body))), body...)
}

func randomBig(rng *rand.Rand) *big.Int {
	n := new(big.Int)
	for range 1 + rng.IntN(7) {
		n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(rng.Uint64()>>rng.IntN(64)))
	}
	return n
}
