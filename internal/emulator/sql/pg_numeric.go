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
		return pgQuotient(v[0], v[1])
	}
}

func pgNegate(v value.Value) (value.Value, error) {
	if v.IsPGNaN() {
		return v, nil
	}
	n, scale := v.AsDecimal()
	return pgDecimal(n.Neg(n), scale)
}

func pgDecimal(unscaled *big.Int, scale int) (value.Value, error) {
	v, ok := value.PGDecimal(unscaled, scale)
	if !ok {
		return value.Value{}, outOfRange("value overflows numeric format")
	}
	return v, nil
}

// pgQuotient divides, with as many digits behind the point as PostgreSQL takes:
// enough for 16 significant ones, and no fewer than the operands have.
func pgQuotient(x, y value.Value) (value.Value, error) {
	xn, sx := x.AsDecimal()
	yn, sy := y.AsDecimal()
	if yn.Sign() == 0 {
		return value.Value{}, outOfRange("division by zero")
	}
	scale := pgMinSignificant - 4*pgQuotientWeight(x.AsString(), y.AsString())
	scale = min(max(scale, sx, sy, 0), pgMaxScale)
	if shift := scale + sy - sx; shift >= 0 {
		xn = value.Rescale(xn, 0, shift)
	} else {
		yn = value.Rescale(yn, 0, -shift)
	}
	return pgDecimal(divRound(xn, yn), scale)
}

// divRound is x / y as a whole number, halves away from zero.
func divRound(x, y *big.Int) *big.Int {
	q, rest := new(big.Int).QuoRem(x, y, new(big.Int))
	if rest.Lsh(rest, 1).CmpAbs(y) >= 0 {
		q.Add(q, big.NewInt(int64(x.Sign()*y.Sign())))
	}
	return q
}

// pgQuotientWeight estimates a quotient's leading position in base 10,000 as
// PostgreSQL does.
func pgQuotientWeight(x, y string) int {
	wx, dx := pgLead(x)
	wy, dy := pgLead(y)
	if dx <= dy {
		return wx - wy - 1
	}
	return wx - wy
}

// pgLead is the position of the first digit in base 10,000 that is not 0, and
// that digit.
func pgLead(text string) (weight int, digit int64) {
	whole, frac, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if whole != "0" {
		weight = (len(whole) - 1) / 4
		digit, _ = strconv.ParseInt(whole[:len(whole)-4*weight], 10, 64)
		return weight, digit
	}
	for weight = -1; len(frac) > 0; weight-- {
		group := frac[:min(4, len(frac))]
		frac = frac[len(group):]
		group += strings.Repeat("0", 4-len(group))
		if digit, _ = strconv.ParseInt(group, 10, 64); digit != 0 {
			return weight, digit
		}
	}
	return 0, 0
}

// rounding says what becomes of a number n whose last digits, below unit, are
// to go: a multiple of unit.
type rounding func(n, unit *big.Int) *big.Int

func roundHalfUp(n, unit *big.Int) *big.Int { return divRound(n, unit) }
func roundToZero(n, unit *big.Int) *big.Int { return new(big.Int).Quo(n, unit) }
func roundDown(n, unit *big.Int) *big.Int   { return new(big.Int).Div(n, unit) }
func roundUp(n, unit *big.Int) *big.Int {
	up := new(big.Int).Div(new(big.Int).Neg(n), unit)
	return up.Neg(up)
}

// pgRounded is a number with digits digits behind the point, or zeros before
// it if negative.
func pgRounded(v value.Value, digits int, round rounding) (value.Value, error) {
	if v.IsPGNaN() {
		return v, nil
	}
	n, scale := v.AsDecimal()
	if digits >= scale {
		return pgDecimal(value.Rescale(n, scale, digits), digits)
	}
	unit := value.Rescale(big.NewInt(1), 0, scale-digits)
	n = round(n, unit)
	if digits < 0 {
		return pgDecimal(value.Rescale(n, 0, -digits), 0)
	}
	return pgDecimal(n, digits)
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
			whole, err := pgRounded(v, 0, roundHalfUp)
			if err != nil {
				return value.Value{}, err
			}
			n, err := strconv.ParseInt(whole.AsString(), 10, 64)
			if err != nil {
				return value.Value{}, outOfRange("bigint out of range")
			}
			return value.Int64(n).WithType(to), nil
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
	"ABS": {{args: types(value.PGNumericType), result: value.PGNumericType, f: pgUnary(pgAbs)}},
	"MOD": {{args: types(value.PGNumericType, value.PGNumericType), result: value.PGNumericType, f: pgMod}},
}

// pgUnary leaves NaN as it is.
func pgUnary(f func(v value.Value) (value.Value, error)) func(v []value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		if v[0].IsPGNaN() {
			return v[0], nil
		}
		return f(v[0])
	}
}

func pgAbs(v value.Value) (value.Value, error) {
	return value.PGNumeric(strings.TrimPrefix(v.AsString(), "-")), nil
}

func pgSign(v value.Value) (value.Value, error) {
	n, _ := v.AsDecimal()
	return value.PGNumeric(strconv.Itoa(n.Sign())), nil
}

func pgWhole(round rounding) func(v []value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) { return pgRounded(v[0], 0, round) }
}

func pgMod(v []value.Value) (value.Value, error) {
	return pgDivided(v, func(x, y *big.Int, scale int) (value.Value, error) { return pgDecimal(new(big.Int).Rem(x, y), scale) })
}

// pgDiv is the whole part of a quotient.
func pgDiv(v []value.Value) (value.Value, error) {
	return pgDivided(v, func(x, y *big.Int, _ int) (value.Value, error) { return pgDecimal(new(big.Int).Quo(x, y), 0) })
}

// pgDivided gives f two numbers of one scale, the second not 0.
func pgDivided(v []value.Value, f func(x, y *big.Int, scale int) (value.Value, error)) (value.Value, error) {
	if v[0].IsPGNaN() || v[1].IsPGNaN() {
		return value.PGNumeric("NaN"), nil
	}
	x, sx := v[0].AsDecimal()
	y, sy := v[1].AsDecimal()
	if y.Sign() == 0 {
		return value.Value{}, outOfRange("division by zero")
	}
	scale := max(sx, sy)
	return f(value.Rescale(x, sx, scale), value.Rescale(y, sy, scale), scale)
}

// pgRound is ROUND and TRUNC with a number of digits.
func pgRound(round rounding) func(v []value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		n := int64(0)
		if len(v) > 1 {
			n = max(-pgMaxScale, min(pgMaxScale, v[1].AsInt64()))
		}
		return pgRounded(v[0], int(n), round)
	}
}
