package sql

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// Scales of PostgreSQL's quotients.
const (
	pgMinSignificant = 16
	pgMaxScale       = 1000
)

// pgArithmetic is + - * / on PostgreSQL's numeric: sums have the greater scale
// of the two, products the sum of both, quotients 16 significant digits.
func pgArithmetic(op ast.BinaryOp) func([]value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		if v[0].IsPGNaN() || v[1].IsPGNaN() {
			return value.PGNumeric("NaN"), nil
		}
		x, sx := v[0].AsDecimal()
		y, sy := v[1].AsDecimal()
		scale := max(sx, sy)
		switch op {
		case ast.OpAdd:
			return pgDecimal(new(big.Int).Add(value.Rescale(x, sx, scale), value.Rescale(y, sy, scale)), scale)
		case ast.OpSub:
			return pgDecimal(new(big.Int).Sub(value.Rescale(x, sx, scale), value.Rescale(y, sy, scale)), scale)
		case ast.OpMul:
			return pgDecimal(new(big.Int).Mul(x, y), sx+sy)
		}
		if y.Sign() == 0 {
			return value.Value{}, outOfRange("division by zero")
		}
		return pgQuotient(v[0].AsNumeric(), v[1].AsNumeric(), sx, sy)
	}
}

func pgDecimal(unscaled *big.Int, scale int) (value.Value, error) {
	v, ok := value.PGDecimal(unscaled, scale)
	if !ok {
		return value.Value{}, outOfRange("value overflows numeric format")
	}
	return v, nil
}

// pgQuotient divides with as many digits behind the point as PostgreSQL takes:
// enough for 16 significant ones, and no fewer than the operands have.
func pgQuotient(x, y *big.Rat, sx, sy int) (value.Value, error) {
	scale := pgMinSignificant - pgQuotientWeight(x, y)*4
	scale = min(max(scale, sx, sy, 0), pgMaxScale)
	return pgRounded(new(big.Rat).Quo(x, y), scale)
}

// pgQuotientWeight estimates a quotient's leading position in base 10,000 as
// PostgreSQL does.
func pgQuotientWeight(x, y *big.Rat) int {
	wx, dx := pgLead(x)
	wy, dy := pgLead(y)
	weight := wx - wy
	if dx <= dy {
		weight--
	}
	return weight
}

// pgLead is the position of the first digit in base 10,000 that is not 0, and
// that digit.
func pgLead(r *big.Rat) (weight int, digit int64) {
	if r.Sign() == 0 {
		return 0, 0
	}
	abs := new(big.Rat).Abs(r)
	base := new(big.Rat).SetInt64(10_000)
	for one := big.NewRat(1, 1); abs.Cmp(base) >= 0 || abs.Cmp(one) < 0; {
		if abs.Cmp(base) >= 0 {
			abs.Quo(abs, base)
			weight++
		} else {
			abs.Mul(abs, base)
			weight--
		}
	}
	return weight, new(big.Int).Quo(abs.Num(), abs.Denom()).Int64()
}

// pgRounded is a number with scale digits behind the point, halves rounded
// away from zero.
func pgRounded(r *big.Rat, scale int) (value.Value, error) {
	r = roundRat(r, int64(scale))
	n := new(big.Int).Mul(r.Num(), value.Rescale(big.NewInt(1), 0, scale))
	return pgDecimal(n.Quo(n, r.Denom()), scale)
}

// toPGNumeric converts to PostgreSQL's numeric.
func toPGNumeric(from *value.Type) convert {
	switch from.Code {
	case value.Int64Code:
		return func(v value.Value) (value.Value, error) {
			return value.PGNumeric(strconv.FormatInt(v.AsInt64(), 10)), nil
		}
	case value.Float64Code, value.Float32Code:
		bits, digits := 64, 15
		if from.Code == value.Float32Code {
			bits, digits = 32, 6
		}
		return func(v value.Value) (value.Value, error) {
			if math.IsInf(v.AsFloat64(), 0) {
				return value.Value{}, outOfRange("cannot convert infinity to numeric")
			}
			return parsePGNumeric(strconv.FormatFloat(v.AsFloat64(), 'g', digits, bits))
		}
	case value.StringCode:
		return func(v value.Value) (value.Value, error) { return parsePGNumeric(strings.TrimSpace(v.AsString())) }
	}
	return nil
}

func parsePGNumeric(text string) (value.Value, error) {
	v, ok := value.ParsePGNumeric(text)
	if !ok {
		return value.Value{}, outOfRange("invalid input syntax for type numeric: %q", text)
	}
	return v, nil
}

// fromPGNumeric converts PostgreSQL's numeric to another number.
func fromPGNumeric(to *value.Type) convert {
	switch to.Code {
	case value.Int64Code:
		return func(v value.Value) (value.Value, error) {
			n := roundRat(v.AsNumeric(), 0).Num()
			if v.IsPGNaN() || !n.IsInt64() {
				return value.Value{}, outOfRange("bigint out of range")
			}
			return value.Int64(n.Int64()).WithType(to), nil
		}
	case value.Float64Code, value.Float32Code:
		finish := toFloat(value.Float64Type, to)
		return func(v value.Value) (value.Value, error) {
			f, err := strconv.ParseFloat(v.AsString(), 64)
			if err != nil {
				return value.Value{}, outOfRange("%q is out of range for type double precision", quoted(v))
			}
			return finish(value.Float64(f))
		}
	}
	return nil
}

// pgNumericFunctions come before the functions of these names in GoogleSQL.
var pgNumericFunctions = map[string][]signature{
	"ABS":     pgWhole(func(r *big.Rat) *big.Rat { return r.Abs(r) }, true),
	"SIGN":    pgWhole(func(r *big.Rat) *big.Rat { return r.SetInt64(int64(r.Sign())) }, false),
	"CEIL":    pgWhole(ceilRat, false),
	"CEILING": pgWhole(ceilRat, false),
	"FLOOR":   pgWhole(floorRat, false),
	"MOD":     {{args: types(value.PGNumericType, value.PGNumericType), result: value.PGNumericType, f: pgMod}},
}

// pgWhole is a function of one numeric that keeps its scale, or has none.
func pgWhole(f func(*big.Rat) *big.Rat, keepScale bool) []signature {
	return []signature{{args: types(value.PGNumericType), result: value.PGNumericType, f: func(v []value.Value) (value.Value, error) {
		if v[0].IsPGNaN() {
			return v[0], nil
		}
		scale := 0
		if keepScale {
			_, scale = v[0].AsDecimal()
		}
		return pgRounded(f(v[0].AsNumeric()), scale)
	}}}
}

func pgMod(v []value.Value) (value.Value, error) {
	if v[0].IsPGNaN() || v[1].IsPGNaN() {
		return value.PGNumeric("NaN"), nil
	}
	x, sx := v[0].AsDecimal()
	y, sy := v[1].AsDecimal()
	if y.Sign() == 0 {
		return value.Value{}, outOfRange("division by zero")
	}
	scale := max(sx, sy)
	return pgDecimal(new(big.Int).Rem(value.Rescale(x, sx, scale), value.Rescale(y, sy, scale)), scale)
}

// pgRound is ROUND and TRUNC with a number of digits.
func pgRound(r func(*big.Rat, int64) *big.Rat) func(v []value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		if v[0].IsPGNaN() {
			return v[0], nil
		}
		n := int64(0)
		if len(v) > 1 {
			n = max(-pgMaxScale, min(pgMaxScale, v[1].AsInt64()))
		}
		return pgRounded(r(v[0].AsNumeric(), n), int(max(n, 0)))
	}
}
