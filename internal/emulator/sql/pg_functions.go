package sql

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/postgres"
	"spanbulk/internal/emulator/value"
)

// pgSignatures are the functions that mean something else in PostgreSQL; the
// parser names them PG.f.
var pgSignatures = map[string][]signature{
	"PG.SUBSTR": {
		{args: types(stringT, int64T, int64T), optional: 1, result: stringT, f: pgSubstr},
		{args: types(bytesT, int64T, int64T), optional: 1, result: bytesT, f: pgSubstrBytes},
	},
	"PG.LEFT":  {{args: types(stringT, int64T), result: stringT, f: pgLeft}},
	"PG.RIGHT": {{args: types(stringT, int64T), result: stringT, f: pgRight}},
	"PG.BTRIM": pgTrim(strings.Trim),
	"PG.LTRIM": pgTrim(strings.TrimLeft),
	"PG.RTRIM": pgTrim(strings.TrimRight),
	"PG.ROUND": pgRounding(math.RoundToEven, pgRound(roundHalfUp), 1),
	"PG.TRUNC": pgRounding(math.Trunc, pgRound(roundToZero), 1),
	"CEIL":     pgRounding(math.Ceil, pgWhole(roundUp), 0),
	"CEILING":  pgRounding(math.Ceil, pgWhole(roundUp), 0),
	"FLOOR":    pgRounding(math.Floor, pgWhole(roundDown), 0),
	"SIGN":     pgRounding(signFloat, pgUnary(pgSign), 0),
	"DIV":      {{args: types(value.PGNumericType, value.PGNumericType), result: value.PGNumericType, f: pgDiv}},
	"PG.JSONB_MEMBER": {
		{args: types(value.PGJSONBType, stringT), result: value.PGJSONBType, f: pgMember(false)},
		{args: types(value.PGJSONBType, int64T), result: value.PGJSONBType, f: pgMember(false)},
	},
	"PG.JSONB_MEMBER_TEXT": {
		{args: types(value.PGJSONBType, stringT), result: stringT, f: pgMember(true)},
		{args: types(value.PGJSONBType, int64T), result: stringT, f: pgMember(true)},
	},
	"PG.MATCHES":      {{args: types(stringT, stringT), result: boolT, f: regexpContains}},
	"PG.JSONB_TYPEOF": {{args: types(value.PGJSONBType), result: stringT, f: jsonType}},
}

// pgBinders are those of them that depend on the types of their arguments.
var pgBinders = mergeTables(pgContainment(), map[string]binder{
	"PG.GREATEST":   pgMost(1),
	"PG.LEAST":      pgMost(-1),
	"PG.DATE_TRUNC": pgDateTrunc,
	"PG.DISTINCT":   pgDistinct,
	"PG.EXTRACT":    pgExtract,
})

// pgFunction gives a function of GoogleSQL the meaning it has in PostgreSQL.
func pgFunction(name string, bind binder, sigs []signature) (binder, bool, []signature, bool) {
	if b, ok := pgBinders[name]; ok {
		bind = b
	}
	if own, ok := pgSignatures[name]; ok {
		return bind, bind != nil, own, true
	}
	shared := slices.DeleteFunc(slices.Clone(sigs), func(g signature) bool { return slices.Contains(g.args, numericT) })
	sigs = slices.Concat(pgNumericFunctions[name], shared)
	return bind, bind != nil, sigs, len(sigs) > 0
}

// pgUnserved tells of functions that Spanner's PostgreSQL dialect has and this
// package has not.
func pgUnserved(name string) bool {
	name, ok := strings.CutPrefix(name, postgres.UnknownFunction)
	if !ok {
		return false
	}
	for _, prefix := range []string{"JSONB_", "REGEXP_", "JUSTIFY_", "TOKEN", "SPANNER."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "TO_CHAR", "TO_DATE", "TO_NUMBER", "TO_JSONB", "MAKE_INTERVAL", "QUOTE_IDENT", "ARRAY_CAT":
		return true
	}
	return false
}

// functionText is a function's name for a message.
func (a *analyzer) functionText(name string) string {
	if !a.pg {
		return name
	}
	if unknown, ok := strings.CutPrefix(name, postgres.UnknownFunction); ok {
		return strings.ToLower(unknown)
	}
	return strings.ToLower(strings.TrimPrefix(name, "PG."))
}

// noPGFunction says as PostgreSQL does that there is no such function or
// operator.
func (a *analyzer) noPGFunction(n *ast.CallExpr, name string, args []expr) error {
	if sign, ok := postgres.OperatorSign(name); ok && len(args) == 2 {
		return a.invalidAt(n, "operator does not exist: %s %s %s", args[0], sign, args[1])
	}
	return a.invalidAt(n, "function %s(%s) does not exist", a.functionText(name), args)
}

// pgRounding is a function of double precision, which a bigint becomes, too,
// and of numeric with up to digits more arguments.
func pgRounding(float func(float64) float64, exact func(v []value.Value) (value.Value, error), digits int) []signature {
	return []signature{
		{args: types(float64T), result: float64T, f: func(v []value.Value) (value.Value, error) { return value.Float64(float(v[0].AsFloat64())), nil }},
		{args: types(value.PGNumericType, int64T)[:1+digits], optional: digits, result: value.PGNumericType, f: exact},
	}
}

// pgWindow is the part of n characters from position v[1], which counts from 1
// and may lie before the text, on for v[2] characters.
func pgWindow(n int, v []value.Value) (from, to int, err error) {
	start, end := v[1].AsInt64(), int64(math.MaxInt64)
	if len(v) > 2 {
		length := v[2].AsInt64()
		if length < 0 {
			return 0, 0, outOfRange("negative substring length not allowed")
		}
		if start <= 0 || length < math.MaxInt64-start {
			end = start + length
		}
	}
	clamp := func(i int64) int { return int(max(0, min(int64(n), i))) }
	from, to = clamp(max(start, 1)-1), clamp(max(end, 1)-1)
	return from, max(from, to), nil
}

func pgSubstr(v []value.Value) (value.Value, error) {
	chars := []rune(v[0].AsString())
	from, to, err := pgWindow(len(chars), v)
	return value.String(string(chars[from:to])), err
}

func pgSubstrBytes(v []value.Value) (value.Value, error) {
	from, to, err := pgWindow(len(v[0].AsString()), v)
	return value.Bytes(v[0].AsString()[from:to]), err
}

// pgCount is the number of characters that n means: all but -n if negative.
func pgCount(length int, n int64) int {
	if n < 0 {
		return int(max(0, int64(length)+max(n, -int64(length))))
	}
	return int(min(int64(length), n))
}

func pgLeft(v []value.Value) (value.Value, error) {
	chars := []rune(v[0].AsString())
	return value.String(string(chars[:pgCount(len(chars), v[1].AsInt64())])), nil
}

func pgRight(v []value.Value) (value.Value, error) {
	chars := []rune(v[0].AsString())
	return value.String(string(chars[len(chars)-pgCount(len(chars), v[1].AsInt64()):])), nil
}

// pgTrim cuts the given characters off, blanks if none are given.
func pgTrim(trim func(s, cutset string) string) []signature {
	return []signature{{args: types(stringT, stringT), optional: 1, result: stringT, f: func(v []value.Value) (value.Value, error) {
		cutset := " "
		if len(v) > 1 {
			cutset = v[1].AsString()
		}
		return value.String(trim(v[0].AsString(), cutset)), nil
	}}}
}

// pgMost is GREATEST and LEAST, which pass over NULLs.
func pgMost(sign int) binder {
	return func(s *scope, args []expr) (expr, error) {
		args, t, err := s.oneType(args)
		if err != nil {
			return nil, err
		}
		if !comparable(t, false) {
			return nil, errMismatch
		}
		return &pgMostExpr{args: args, t: t, sign: sign}, nil
	}
}

type pgMostExpr struct {
	args []expr
	t    *value.Type
	sign int
}

func (x *pgMostExpr) typ() *value.Type { return x.t }

func (x *pgMostExpr) eval(e *env) (value.Value, error) {
	most := value.Null(x.t)
	for _, arg := range x.args {
		v, err := arg.eval(e)
		if err != nil {
			return value.Value{}, err
		}
		if !v.IsNull() && (most.IsNull() || x.sign*pgCompare(v, most) > 0) {
			most = v
		}
	}
	return most, nil
}

// pgDistinct is IS DISTINCT FROM: unequal, NULL being equal to NULL alone.
func pgDistinct(s *scope, args []expr) (expr, error) {
	args, t, err := s.oneType(args)
	if err == nil && (len(args) != 2 || !comparable(t, true)) {
		err = errMismatch
	}
	if err != nil {
		return nil, err
	}
	return &distinctExpr{args[0], args[1]}, nil
}

type distinctExpr struct{ l, r expr }

func (x *distinctExpr) typ() *value.Type { return value.BoolType }

func (x *distinctExpr) eval(e *env) (value.Value, error) {
	v, err := evalAll(e, []expr{x.l, x.r})
	if err != nil {
		return value.Value{}, err
	}
	if v[0].IsNull() || v[1].IsNull() {
		return value.Bool(v[0].IsNull() != v[1].IsNull()), nil
	}
	return pgComparison(ast.OpNotEqual, v[0], v[1]), nil
}

// pgMember is the member or element of a jsonb; as text, a string without its
// quotes.
func pgMember(asText bool) func(v []value.Value) (value.Value, error) {
	t := value.PGJSONBType
	if asText {
		t = stringT
	}
	return func(v []value.Value) (value.Value, error) {
		found, ok := pgStep(json.RawMessage(v[0].AsString()), v[1])
		if !ok || asText && string(found) == "null" {
			return value.Null(t), nil
		}
		var text string
		if asText && json.Unmarshal(found, &text) == nil {
			return value.String(text), nil
		}
		spelt, _ := value.ParseJSONB(string(found))
		if asText {
			return value.String(spelt.AsString()), nil
		}
		return spelt, nil
	}
}

func pgStep(doc json.RawMessage, at value.Value) (json.RawMessage, bool) {
	if at.Type().Code == value.StringCode {
		return jsonStep(doc, pathStep{name: at.AsString(), index: -1})
	}
	n := at.AsInt64()
	if n < 0 {
		var list []json.RawMessage
		if json.Unmarshal(doc, &list) != nil || -n > int64(len(list)) {
			return nil, false
		}
		n += int64(len(list))
	}
	return jsonStep(doc, pathStep{index: int(min(n, math.MaxInt32))})
}

// pgDateTrunc is date_trunc('unit', timestamptz), in the database's zone.
func pgDateTrunc(s *scope, args []expr) (expr, error) {
	if len(args) != 2 {
		return nil, errMismatch
	}
	unit, err := s.a.coerce(args[0], stringT)
	if err != nil {
		return nil, err
	}
	at := args[1]
	if isType(at, value.DateCode) {
		at = &castExpr{x: at, t: timestampT, conv: s.a.conversion(dateT, timestampT)}
	}
	if at, err = s.a.coerce(at, timestampT); err != nil {
		return nil, err
	}
	loc := s.a.loc
	f := func(v []value.Value) (value.Value, error) { return pgTruncated(v[0].AsString(), v[1].AsTime().In(loc)) }
	return &strictExpr{args: []expr{unit, at}, t: timestampT, f: f}, nil
}

func pgTruncated(unit string, t time.Time) (value.Value, error) {
	y, m, d := t.Date()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, t.Location()) }
	switch strings.ToLower(unit) {
	case "year":
		t = day(y, 1, 1)
	case "quarter":
		t = day(y, m-(m-1)%3, 1)
	case "month":
		t = day(y, m, 1)
	case "week":
		t = day(y, m, d-(int(t.Weekday())+6)%7)
	case "day":
		t = day(y, m, d)
	case "hour":
		t = time.Date(y, m, d, t.Hour(), 0, 0, 0, t.Location())
	case "minute":
		t = t.Truncate(time.Minute)
	case "second":
		t = t.Truncate(time.Second)
	default:
		return value.Value{}, outOfRange("unit %q is not recognized or not supported for type timestamp with time zone", unit)
	}
	return timestampOf(t)
}
