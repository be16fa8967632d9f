package sql

import (
	"math"
	"math/big"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// mathFunctions work on numbers.
var mathFunctions = map[string][]signature{
	"ABS":     numberFunction(absInt64, func(r *big.Rat) *big.Rat { return r.Abs(r) }, math.Abs),
	"SIGN":    numberFunction(signInt64, func(r *big.Rat) *big.Rat { return r.SetInt64(int64(r.Sign())) }, signFloat),
	"MOD":     modFunction,
	"DIV":     divFunction,
	"ROUND":   roundFunction(math.Round, roundRat),
	"TRUNC":   roundFunction(math.Trunc, truncRat),
	"CEIL":    wholeFunction(math.Ceil, ceilRat),
	"CEILING": wholeFunction(math.Ceil, ceilRat),
	"FLOOR":   wholeFunction(math.Floor, floorRat),
	"SQRT":    floatFunction(math.Sqrt),
	"EXP":     floatFunction(math.Exp),
	"LN":      floatFunction(math.Log),
	"LOG10":   floatFunction(math.Log10),
	"SIN":     floatFunction(math.Sin),
	"COS":     floatFunction(math.Cos),
	"TAN":     floatFunction(math.Tan),
	"ASIN":    floatFunction(math.Asin),
	"ACOS":    floatFunction(math.Acos),
	"ATAN":    floatFunction(math.Atan),
	"ATAN2":   floatFunction2(math.Atan2),
	"POW":     floatFunction2(math.Pow),
	"POWER":   floatFunction2(math.Pow),
	"LOG":     {{args: types(float64T, float64T), optional: 1, result: float64T, f: logarithm}},
	"IS_NAN":  {{args: types(float64T), result: boolT, f: func(v []value.Value) (value.Value, error) { return value.Bool(math.IsNaN(v[0].AsFloat64())), nil }}},
	"IS_INF":  {{args: types(float64T), result: boolT, f: func(v []value.Value) (value.Value, error) { return value.Bool(math.IsInf(v[0].AsFloat64(), 0)), nil }}},
	"IEEE_DIVIDE": {{args: types(float64T, float64T), result: float64T, f: func(v []value.Value) (value.Value, error) {
		return value.Float64(v[0].AsFloat64() / v[1].AsFloat64()), nil
	}}},
	"BIT_COUNT":     {{args: types(int64T), result: int64T, f: bitCount}},
	"BIT_REVERSE":   {{args: types(int64T, boolT), result: int64T, f: bitReverse}},
	"SAFE_ADD":      safeArithmetic(ast.OpAdd),
	"SAFE_SUBTRACT": safeArithmetic(ast.OpSub),
	"SAFE_MULTIPLY": safeArithmetic(ast.OpMul),
	"SAFE_DIVIDE":   safeArithmetic(ast.OpDiv)[1:],
}

func numberFunction(i func(int64) (int64, bool), n func(*big.Rat) *big.Rat, f func(float64) float64) []signature {
	return []signature{
		{args: types(int64T), result: int64T, f: func(v []value.Value) (value.Value, error) {
			out, ok := i(v[0].AsInt64())
			if !ok {
				return value.Value{}, outOfRange("int64 overflow: %d", v[0].AsInt64())
			}
			return value.Int64(out), nil
		}},
		{args: types(numericT), result: numericT, f: func(v []value.Value) (value.Value, error) { return value.Numeric(n(v[0].AsNumeric())) }},
		{args: types(float64T), result: float64T, f: func(v []value.Value) (value.Value, error) { return value.Float64(f(v[0].AsFloat64())), nil }},
	}
}

func absInt64(n int64) (int64, bool) { return max(n, -n), n != math.MinInt64 }

func signInt64(n int64) (int64, bool) {
	switch {
	case n > 0:
		return 1, true
	case n < 0:
		return -1, true
	}
	return 0, true
}

func signFloat(f float64) float64 {
	switch {
	case f > 0:
		return 1
	case f < 0:
		return -1
	}
	return f
}

var modFunction = []signature{
	{args: types(int64T, int64T), result: int64T, f: func(v []value.Value) (value.Value, error) {
		a, b := v[0].AsInt64(), v[1].AsInt64()
		switch b {
		case 0:
			return value.Value{}, outOfRange("division by zero: MOD(%d, %d)", a, b)
		case -1:
			return value.Int64(0), nil
		}
		return value.Int64(a % b), nil
	}},
	{args: types(numericT, numericT), result: numericT, f: func(v []value.Value) (value.Value, error) {
		a, b := v[0].AsNumeric(), v[1].AsNumeric()
		if b.Sign() == 0 {
			return value.Value{}, outOfRange("division by zero: MOD(%s, %s)", quoted(v[0]), quoted(v[1]))
		}
		q := truncRat(new(big.Rat).Quo(a, b), 0)
		return value.Numeric(a.Sub(a, q.Mul(q, b)))
	}},
}

var divFunction = []signature{
	{args: types(int64T, int64T), result: int64T, f: func(v []value.Value) (value.Value, error) {
		a, b := v[0].AsInt64(), v[1].AsInt64()
		if b == 0 {
			return value.Value{}, outOfRange("division by zero: DIV(%d, %d)", a, b)
		}
		if a == math.MinInt64 && b == -1 {
			return value.Value{}, outOfRange("int64 overflow: DIV(%d, %d)", a, b)
		}
		return value.Int64(a / b), nil
	}},
	{args: types(numericT, numericT), result: numericT, f: func(v []value.Value) (value.Value, error) {
		a, b := v[0].AsNumeric(), v[1].AsNumeric()
		if b.Sign() == 0 {
			return value.Value{}, outOfRange("division by zero: DIV(%s, %s)", quoted(v[0]), quoted(v[1]))
		}
		return value.Numeric(truncRat(a.Quo(a, b), 0))
	}},
}

// roundFunction is ROUND or TRUNC, with an optional number of digits.
func roundFunction(f func(float64) float64, r func(*big.Rat, int64) *big.Rat) []signature {
	return []signature{
		{args: types(float64T, int64T), optional: 1, result: float64T, f: func(v []value.Value) (value.Value, error) {
			x := v[0].AsFloat64()
			if n := digits(v); n != 0 && !math.IsNaN(x) && !math.IsInf(x, 0) {
				exact, _ := r(new(big.Rat).SetFloat64(x), n).Float64()
				return value.Float64(exact), nil
			}
			return value.Float64(f(x)), nil
		}},
		{args: types(numericT, int64T), optional: 1, result: numericT, f: func(v []value.Value) (value.Value, error) {
			out, err := value.Numeric(r(v[0].AsNumeric(), digits(v)))
			if err != nil {
				return value.Value{}, outOfRange("numeric overflow: rounding %s", quoted(v[0]))
			}
			return out, nil
		}},
	}
}

// digits is an optional second argument, bounded to where it still matters.
func digits(v []value.Value) int64 {
	if len(v) < 2 {
		return 0
	}
	return max(-400, min(400, v[1].AsInt64()))
}

func truncRat(r *big.Rat, digits int64) *big.Rat {
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(digits, -digits)), nil))
	if digits < 0 {
		scale.Inv(scale)
	}
	scaled := new(big.Rat).Mul(r, scale)
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	return scaled.Quo(new(big.Rat).SetInt(whole), scale)
}

func floorRat(r *big.Rat) *big.Rat {
	t := truncRat(r, 0)
	if t.Cmp(r) > 0 {
		t.Sub(t, big.NewRat(1, 1))
	}
	return t
}

func ceilRat(r *big.Rat) *big.Rat {
	t := truncRat(r, 0)
	if t.Cmp(r) < 0 {
		t.Add(t, big.NewRat(1, 1))
	}
	return t
}

func wholeFunction(f func(float64) float64, r func(*big.Rat) *big.Rat) []signature {
	return []signature{
		{args: types(float64T), result: float64T, f: func(v []value.Value) (value.Value, error) { return value.Float64(f(v[0].AsFloat64())), nil }},
		{args: types(numericT), result: numericT, f: func(v []value.Value) (value.Value, error) {
			out, err := value.Numeric(r(v[0].AsNumeric()))
			if err != nil {
				return value.Value{}, outOfRange("numeric overflow: rounding %s", quoted(v[0]))
			}
			return out, nil
		}},
	}
}

func floatFunction(f func(float64) float64) []signature {
	return []signature{{args: types(float64T), result: float64T, f: func(v []value.Value) (value.Value, error) {
		return checkedFloat(f(v[0].AsFloat64()), v)
	}}}
}

func floatFunction2(f func(a, b float64) float64) []signature {
	return []signature{{args: types(float64T, float64T), result: float64T, f: func(v []value.Value) (value.Value, error) {
		return checkedFloat(f(v[0].AsFloat64(), v[1].AsFloat64()), v)
	}}}
}

// checkedFloat refuses a result that is not finite though the arguments are.
func checkedFloat(f float64, args []value.Value) (value.Value, error) {
	finite := true
	for _, a := range args {
		finite = finite && !math.IsNaN(a.AsFloat64()) && !math.IsInf(a.AsFloat64(), 0)
	}
	if finite && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return value.Value{}, outOfRange("Floating point error in function")
	}
	return value.Float64(f), nil
}

func logarithm(v []value.Value) (value.Value, error) {
	f := math.Log(v[0].AsFloat64())
	if len(v) > 1 {
		f /= math.Log(v[1].AsFloat64())
	}
	return checkedFloat(f, v)
}

func bitCount(v []value.Value) (value.Value, error) {
	n, count := uint64(v[0].AsInt64()), int64(0)
	for ; n != 0; n &= n - 1 {
		count++
	}
	return value.Int64(count), nil
}

// bitReverse reverses the bits of an INT64; preserving the sign leaves the
// highest one in its place.
func bitReverse(v []value.Value) (value.Value, error) {
	n, out := uint64(v[0].AsInt64()), uint64(0)
	width := 64
	if v[1].AsBool() {
		width = 63
		out = n & (1 << 63)
	}
	for i := range width {
		if n&(1<<i) != 0 {
			out |= 1 << (width - 1 - i)
		}
	}
	return value.Int64(int64(out)), nil
}

// safeArithmetic is an operator that gives NULL instead of failing.
func safeArithmetic(op ast.BinaryOp) []signature {
	var out []signature
	for _, t := range types(int64T, float64T, numericT) {
		f := arithmeticOn(op, t)
		out = append(out, signature{args: types(t, t), result: t, f: func(v []value.Value) (value.Value, error) {
			r, err := f(v)
			if err != nil {
				return value.Null(t), nil
			}
			return r, nil
		}})
	}
	return out
}
