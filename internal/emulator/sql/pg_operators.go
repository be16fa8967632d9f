package sql

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"spanbulk/internal/emulator/value"
)

// pgContainment are the operators between two jsonb, a jsonb and names, or two
// arrays.
func pgContainment() map[string]binder {
	contained := func(f func(a, b value.Value) (bool, error)) func(a, b value.Value) (bool, error) {
		return func(a, b value.Value) (bool, error) { return f(b, a) }
	}
	return map[string]binder{
		"PG.CONTAINS":     pgTest(value.PGJSONBType, pgJSONBContains, pgArrayContains),
		"PG.CONTAINED":    pgTest(value.PGJSONBType, contained(pgJSONBContains), contained(pgArrayContains)),
		"PG.OVERLAPS":     pgTest(nil, nil, pgArraysOverlap),
		"PG.HAS_KEY":      pgTest(stringT, pgHasKey, nil),
		"PG.HAS_ANY_KEY":  pgTest(value.ArrayOf(stringT), pgHasKeys(false), nil),
		"PG.HAS_ALL_KEYS": pgTest(value.ArrayOf(stringT), pgHasKeys(true), nil),
	}
}

// pgTest is an operator of a jsonb and a right, or of two arrays of one type;
// the one or the other may be missing.
func pgTest(right *value.Type, ofJSONB, ofArrays func(a, b value.Value) (bool, error)) binder {
	return func(s *scope, args []expr) (expr, error) {
		f, want := ofJSONB, types(value.PGJSONBType, right)
		if t := arrayType(args); t != nil && ofArrays != nil {
			f, want = ofArrays, types(t, t)
		}
		if f == nil {
			return nil, errMismatch
		}
		args, err := s.a.coerceEach(args, want...)
		if err != nil {
			return nil, err
		}
		return &strictExpr{args: args, t: boolT, f: func(v []value.Value) (value.Value, error) {
			ok, err := f(v[0], v[1])
			return value.Bool(ok), err
		}}, nil
	}
}

// arrayType is the type of the array among two arguments, of the one that is
// no literal if both are; nil if there is none to compare.
func arrayType(args []expr) *value.Type {
	var found *value.Type
	for _, x := range args {
		if isType(x, value.ArrayCode) && comparable(x.typ(), true) && (found == nil || !isLoose(x)) {
			found = x.typ()
		}
	}
	return found
}

// coerceEach coerces each expression to the type of its place.
func (a *analyzer) coerceEach(xs []expr, ts ...*value.Type) ([]expr, error) {
	if len(xs) != len(ts) {
		return nil, errMismatch
	}
	out := make([]expr, len(xs))
	for i, x := range xs {
		c, err := a.coerce(x, ts[i])
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// pgArrayContains tells whether every item of b is one of a's. A NULL is none.
func pgArrayContains(a, b value.Value) (bool, error) {
	for _, item := range b.List() {
		if !slices.ContainsFunc(a.List(), func(v value.Value) bool { return pgEqual(v, item) }) {
			return false, nil
		}
	}
	return true, nil
}

func pgArraysOverlap(a, b value.Value) (bool, error) {
	return slices.ContainsFunc(a.List(), func(x value.Value) bool {
		return slices.ContainsFunc(b.List(), func(y value.Value) bool { return pgEqual(x, y) })
	}), nil
}

func pgEqual(a, b value.Value) bool { return !a.IsNull() && !b.IsNull() && pgCompare(a, b) == 0 }

func pgJSON(v value.Value) (any, error) {
	d := json.NewDecoder(strings.NewReader(v.AsString()))
	d.UseNumber()
	var doc any
	err := d.Decode(&doc)
	return doc, err
}

// pgJSONBContains is a @> b. An array contains a scalar that it has, though
// only at the top.
func pgJSONBContains(a, b value.Value) (bool, error) {
	x, err := pgJSON(a)
	if err != nil {
		return false, err
	}
	y, err := pgJSON(b)
	if err != nil {
		return false, err
	}
	if list, ok := x.([]any); ok && isJSONScalar(y) {
		return slices.ContainsFunc(list, func(item any) bool { return jsonContains(item, y) }), nil
	}
	return jsonContains(x, y), nil
}

func isJSONScalar(doc any) bool {
	switch doc.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

func jsonContains(a, b any) bool {
	switch b := b.(type) {
	case map[string]any:
		object, ok := a.(map[string]any)
		for name, wanted := range b {
			member, has := object[name]
			ok = ok && has && jsonContains(member, wanted)
		}
		return ok
	case []any:
		list, ok := a.([]any)
		for _, wanted := range b {
			ok = ok && slices.ContainsFunc(list, func(item any) bool { return jsonContains(item, wanted) })
		}
		return ok
	case json.Number:
		n, ok := a.(json.Number)
		return ok && sameNumber(n, b)
	}
	return isJSONScalar(a) && a == b
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, ok := new(big.Rat).SetString(a.String())
	y, also := new(big.Rat).SetString(b.String())
	return ok && also && x.Cmp(y) == 0
}

// pgHasKey is j ? name: a member of an object, a string in an array, or the
// string itself.
func pgHasKey(j, name value.Value) (bool, error) {
	doc, err := pgJSON(j)
	return hasKey(doc, name.AsString()), err
}

func hasKey(doc any, name string) bool {
	switch doc := doc.(type) {
	case map[string]any:
		_, ok := doc[name]
		return ok
	case []any:
		return slices.Contains(doc, any(name))
	}
	return doc == any(name)
}

// pgHasKeys is j ?| names, and with all j ?& names.
func pgHasKeys(all bool) func(j, names value.Value) (bool, error) {
	return func(j, names value.Value) (bool, error) {
		doc, err := pgJSON(j)
		if err != nil {
			return false, err
		}
		for _, name := range names.List() {
			if !name.IsNull() && hasKey(doc, name.AsString()) != all {
				return !all, nil
			}
		}
		return all, nil
	}
}
