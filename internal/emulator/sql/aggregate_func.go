package sql

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// aggregateFunctions bind a call to its function: they check the arguments and
// set the result type and what gathers the rows. They return errMismatch for
// arguments that do not fit.
var aggregateFunctions = map[string]func(a *analyzer, agg *aggregate) error{
	"COUNT":       bindCount,
	"COUNTIF":     bindCountIf,
	"SUM":         bindSum,
	"AVG":         bindAvg,
	"MIN":         bindExtreme(-1),
	"MAX":         bindExtreme(1),
	"ANY_VALUE":   bindAnyValue,
	"ARRAY_AGG":   bindArrayAgg,
	"STRING_AGG":  bindStringAgg,
	"LOGICAL_AND": bindLogical(false),
	"LOGICAL_OR":  bindLogical(true),
	"BIT_AND":     bindBits(ast.OpBitAnd),
	"BIT_OR":      bindBits(ast.OpBitOr),
	"BIT_XOR":     bindBits(ast.OpBitXor),
}

// one settles the only argument of a call.
func (agg *aggregate) one(a *analyzer) (*value.Type, error) {
	if len(agg.args) != 1 {
		return nil, errMismatch
	}
	args, err := a.settleAll(agg.args)
	if err != nil {
		return nil, err
	}
	agg.args = args
	return args[0].typ(), nil
}

// oneOf coerces the only argument of a call.
func (agg *aggregate) oneOf(a *analyzer, t *value.Type) error {
	if len(agg.args) != 1 {
		return errMismatch
	}
	args, err := a.coerceAll(agg.args, t)
	agg.args = args
	return err
}

// counter is COUNT.
type counter struct{ n int64 }

func (c *counter) add([]value.Value, []value.Value) error  { c.n++; return nil }
func (c *counter) result(*value.Type) (value.Value, error) { return value.Int64(c.n), nil }

func bindCount(a *analyzer, agg *aggregate) error {
	_, err := agg.one(a)
	agg.t, agg.start = value.Int64Type, func() accumulator { return new(counter) }
	return err
}

// trueCounter is COUNTIF.
type trueCounter struct{ counter }

func (c *trueCounter) add(args, _ []value.Value) error {
	if args[0].AsBool() {
		c.n++
	}
	return nil
}

func bindCountIf(a *analyzer, agg *aggregate) error {
	agg.t, agg.start = value.Int64Type, func() accumulator { return new(trueCounter) }
	return agg.oneOf(a, value.BoolType)
}

// fold combines the rows' values two by two; NULL without rows.
type fold struct {
	v       value.Value
	combine func(a, b value.Value) (value.Value, error)
}

func (f *fold) add(args, _ []value.Value) error {
	if f.v.IsNull() {
		f.v = args[0]
		return nil
	}
	v, err := f.combine(f.v, args[0])
	f.v = v
	return err
}

func (f *fold) result(t *value.Type) (value.Value, error) {
	if f.v.IsNull() {
		return value.Null(t), nil
	}
	return f.v, nil
}

func startFold(combine func(a, b value.Value) (value.Value, error)) func() accumulator {
	return func() accumulator { return &fold{combine: combine} }
}

func bindSum(a *analyzer, agg *aggregate) error {
	t, err := agg.one(a)
	if err != nil {
		return err
	}
	switch {
	case a.pg && t.Code == value.Int64Code:
		t = value.PGNumericType
	case t.Code == value.Float32Code:
		t = value.Float64Type
	}
	if err := agg.oneOf(a, t); err != nil {
		return err
	}
	f := arithmeticOn(ast.OpAdd, t)
	if f == nil {
		return errMismatch
	}
	agg.t = t
	agg.start = startFold(func(a, b value.Value) (value.Value, error) { return f([]value.Value{a, b}) })
	return nil
}

// mean is AVG of FLOAT64, or of NUMERIC, exactly.
type mean struct {
	n     int64
	sum   float64
	exact *big.Rat
	// decimal is the sum of PostgreSQL's numerics.
	decimal value.Value
}

func (m *mean) add(args, _ []value.Value) error {
	m.n++
	var err error
	switch t := args[0].Type(); {
	case t.IsPGNumeric() && m.n == 1:
		m.decimal = args[0]
	case t.IsPGNumeric():
		m.decimal, err = pgArithmetic(ast.OpAdd)([]value.Value{m.decimal, args[0]})
	case t.Code == value.NumericCode:
		m.exact.Add(m.exact, args[0].AsNumeric())
	default:
		m.sum += args[0].AsFloat64()
	}
	return err
}

func (m *mean) result(t *value.Type) (value.Value, error) {
	switch {
	case m.n == 0:
		return value.Null(t), nil
	case t.IsPGNumeric():
		if m.decimal.IsPGNaN() {
			return m.decimal, nil
		}
		return pgQuotient(m.decimal, value.PGNumeric(strconv.FormatInt(m.n, 10)))
	case t.Code == value.NumericCode:
		return roundNumeric(new(big.Rat).Quo(m.exact, new(big.Rat).SetInt64(m.n)))
	}
	return value.Float64(m.sum / float64(m.n)), nil
}

func bindAvg(a *analyzer, agg *aggregate) error {
	t, err := agg.one(a)
	if err != nil {
		return err
	}
	switch {
	case a.pg && t.Code == value.Int64Code:
		t = value.PGNumericType
	case t.Code != value.NumericCode:
		t = value.Float64Type
	}
	agg.t, agg.start = t, func() accumulator { return &mean{exact: new(big.Rat)} }
	return agg.oneOf(a, t)
}

// bindExtreme is MIN (-1) and MAX (1). A NaN makes either NaN.
func bindExtreme(sign int) func(*analyzer, *aggregate) error {
	return func(a *analyzer, agg *aggregate) error {
		t, err := agg.one(a)
		if err != nil {
			return err
		}
		if !comparable(t, false) {
			return errMismatch
		}
		pick := extreme
		if a.pg {
			pick = pgExtreme
		}
		agg.t = t
		agg.start = startFold(func(a, b value.Value) (value.Value, error) { return pick(sign, a, b), nil })
		return nil
	}
}

// extreme is the greater (sign 1) or lesser (-1) of two values that are not
// NULL, NaN if one is.
func extreme(sign int, a, b value.Value) value.Value {
	switch {
	case isNaN(a):
		return a
	case isNaN(b) || sign*value.Compare(a, b) < 0:
		return b
	}
	return a
}

// pgExtreme is extreme for PostgreSQL, where NaN is the greatest number.
func pgExtreme(sign int, a, b value.Value) value.Value {
	if sign*pgCompare(a, b) < 0 {
		return b
	}
	return a
}

// firstValue is ANY_VALUE.
type firstValue struct {
	v    value.Value
	some bool
}

func (f *firstValue) add(args, _ []value.Value) error {
	if !f.some {
		f.v, f.some = args[0], true
	}
	return nil
}

func (f *firstValue) result(t *value.Type) (value.Value, error) {
	if !f.some {
		return value.Null(t), nil
	}
	return f.v, nil
}

func bindAnyValue(a *analyzer, agg *aggregate) error {
	t, err := agg.one(a)
	agg.t, agg.keepNulls = t, true
	agg.start = func() accumulator { return new(firstValue) }
	return err
}

// list is ARRAY_AGG; NULL without rows.
type list struct{ items []value.Value }

func (l *list) add(args, _ []value.Value) error {
	l.items = append(l.items, args[0])
	return nil
}

func (l *list) result(t *value.Type) (value.Value, error) {
	if l.items == nil {
		return value.Null(t), nil
	}
	return value.Array(t.Elem, l.items).WithType(t), nil
}

func bindArrayAgg(a *analyzer, agg *aggregate) error {
	t, err := agg.one(a)
	if err != nil {
		return err
	}
	if t.Code == value.ArrayCode {
		return errMismatch
	}
	agg.t, agg.keepNulls = value.ArrayOf(t), true
	agg.start = func() accumulator { return new(list) }
	return nil
}

// joined is STRING_AGG.
type joined struct {
	text  strings.Builder
	some  bool
	bytes bool
}

func (j *joined) add(args, _ []value.Value) error {
	if j.some {
		if len(args) > 1 {
			j.text.WriteString(args[1].AsString())
		} else {
			j.text.WriteByte(',')
		}
	}
	j.some = true
	j.text.WriteString(args[0].AsString())
	if j.text.Len() > maxText {
		return outOfRange("The result of STRING_AGG is larger than %d bytes", maxText)
	}
	return nil
}

func (j *joined) result(t *value.Type) (value.Value, error) {
	switch {
	case !j.some:
		return value.Null(t), nil
	case j.bytes:
		return value.Bytes(j.text.String()), nil
	}
	return value.String(j.text.String()), nil
}

func bindStringAgg(a *analyzer, agg *aggregate) error {
	if len(agg.args) < 1 || len(agg.args) > 2 {
		return errMismatch
	}
	t := agg.args[0].typ()
	if t == nil || t.Code != value.BytesCode {
		t = value.StringType
	}
	args, err := a.coerceAll(agg.args, t)
	agg.args, agg.t = args, t
	agg.start = func() accumulator { return &joined{bytes: t.Code == value.BytesCode} }
	return err
}

func bindLogical(or bool) func(*analyzer, *aggregate) error {
	return func(a *analyzer, agg *aggregate) error {
		agg.t = value.BoolType
		agg.start = startFold(func(a, b value.Value) (value.Value, error) {
			if a.AsBool() == or {
				return a, nil
			}
			return b, nil
		})
		return agg.oneOf(a, value.BoolType)
	}
}

func bindBits(op ast.BinaryOp) func(*analyzer, *aggregate) error {
	return func(a *analyzer, agg *aggregate) error {
		agg.t = value.Int64Type
		agg.start = startFold(func(a, b value.Value) (value.Value, error) {
			return int64Bitwise(op, a.AsInt64(), b.AsInt64())
		})
		return agg.oneOf(a, value.Int64Type)
	}
}
