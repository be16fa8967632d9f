package sql

import (
	"strings"

	"spanbulk/internal/emulator/value"
)

// arrayBinders are functions whose types follow an array's elements.
var arrayBinders = map[string]binder{
	"ARRAY_LENGTH": func(s *scope, args []expr) (expr, error) {
		return arrayFunction(s, args, int64T, func(v []value.Value) (value.Value, error) { return value.Int64(int64(len(v[0].List()))), nil })
	},
	"ARRAY_REVERSE":   bindArrayReverse,
	"ARRAY_CONCAT":    bindArrayConcat,
	"ARRAY_TO_STRING": bindArrayToString,
	"ARRAY_INCLUDES":  bindArrayIncludes,
	"ARRAY_IS_DISTINCT": func(s *scope, args []expr) (expr, error) {
		return arrayFunction(s, args, boolT, arrayIsDistinct)
	},
	"ARRAY_FIRST":    func(s *scope, args []expr) (expr, error) { return arrayEnd(s, args, true) },
	"ARRAY_LAST":     func(s *scope, args []expr) (expr, error) { return arrayEnd(s, args, false) },
	"ARRAY_MIN":      func(s *scope, args []expr) (expr, error) { return arrayExtreme(s, args, -1) },
	"ARRAY_MAX":      func(s *scope, args []expr) (expr, error) { return arrayExtreme(s, args, 1) },
	"GENERATE_ARRAY": bindGenerateArray,
}

// anArray settles an argument that has to be an array.
func (s *scope) anArray(args []expr, i int) (*value.Type, error) {
	if i >= len(args) {
		return nil, errMismatch
	}
	x, err := s.a.settle(args[i])
	if err != nil {
		return nil, err
	}
	args[i] = x
	if x.typ().Code != value.ArrayCode {
		return nil, errMismatch
	}
	return x.typ(), nil
}

func arrayFunction(s *scope, args []expr, t *value.Type, f func([]value.Value) (value.Value, error)) (expr, error) {
	if len(args) != 1 {
		return nil, errMismatch
	}
	if _, err := s.anArray(args, 0); err != nil {
		return nil, err
	}
	return &strictExpr{args: args, t: t, f: f}, nil
}

func bindArrayReverse(s *scope, args []expr) (expr, error) {
	t, err := s.anArray(args, 0)
	if err != nil {
		return nil, err
	}
	return arrayFunction(s, args, t, func(v []value.Value) (value.Value, error) {
		list := v[0].List()
		out := make([]value.Value, len(list))
		for i, x := range list {
			out[len(list)-1-i] = x
		}
		return value.Array(t.Elem, out).WithType(t), nil
	})
}

func bindArrayConcat(s *scope, args []expr) (expr, error) {
	args, t, err := s.oneType(args)
	if err != nil {
		return nil, err
	}
	if t.Code != value.ArrayCode {
		return nil, errMismatch
	}
	return &strictExpr{args: args, t: t, f: concatArrays(t)}, nil
}

func concatArrays(t *value.Type) func([]value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		out := []value.Value{}
		for _, x := range v {
			if out = append(out, x.List()...); len(out) > maxGenerated {
				return value.Value{}, outOfRange("Arrays cannot have more than %d elements", maxGenerated)
			}
		}
		return value.Array(t.Elem, out).WithType(t), nil
	}
}

// bindArrayToString joins STRING or BYTES, leaving NULLs out unless the third
// argument says what stands for them.
func bindArrayToString(s *scope, args []expr) (expr, error) {
	if len(args) < 2 || len(args) > 3 {
		return nil, errMismatch
	}
	t := stringT
	if args[0].typ() != nil && args[0].typ().Equal(value.ArrayOf(bytesT)) {
		t = bytesT
	}
	for i := range args {
		want := t
		if i == 0 {
			want = value.ArrayOf(t)
		}
		x, err := s.a.coerce(args[i], want)
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	return &strictExpr{args: args, t: t, f: arrayToString}, nil
}

func arrayToString(v []value.Value) (value.Value, error) {
	var parts []string
	for _, x := range v[0].List() {
		switch {
		case !x.IsNull():
			parts = append(parts, x.AsString())
		case len(v) > 2:
			parts = append(parts, v[2].AsString())
		}
	}
	text := strings.Join(parts, v[1].AsString())
	if v[0].Type().Elem.Code == value.BytesCode {
		return value.Bytes(text), nil
	}
	return value.String(text), nil
}

func bindArrayIncludes(s *scope, args []expr) (expr, error) {
	if len(args) != 2 {
		return nil, errMismatch
	}
	x, array, err := s.matchElement(args[1], args[0])
	if err != nil {
		return nil, err
	}
	f := func(v []value.Value) (value.Value, error) {
		for _, item := range v[0].List() {
			if equal(item, v[1]) {
				return value.Bool(true), nil
			}
		}
		return value.Bool(false), nil
	}
	return &strictExpr{args: []expr{array, x}, t: boolT, f: f}, nil
}

func arrayIsDistinct(v []value.Value) (value.Value, error) {
	seen := make(map[string]bool)
	for _, x := range v[0].List() {
		k := hashText(x)
		if seen[k] {
			return value.Bool(false), nil
		}
		seen[k] = true
	}
	return value.Bool(true), nil
}

func arrayEnd(s *scope, args []expr, first bool) (expr, error) {
	t, err := s.anArray(args, 0)
	if err != nil {
		return nil, err
	}
	return arrayFunction(s, args, t.Elem, func(v []value.Value) (value.Value, error) {
		list := v[0].List()
		switch {
		case len(list) == 0:
			return value.Value{}, outOfRange("ARRAY_FIRST and ARRAY_LAST cannot get an element of an empty array")
		case first:
			return list[0], nil
		}
		return list[len(list)-1], nil
	})
}

func arrayExtreme(s *scope, args []expr, sign int) (expr, error) {
	t, err := s.anArray(args, 0)
	if err != nil {
		return nil, err
	}
	if !comparable(t.Elem, false) {
		return nil, errMismatch
	}
	return arrayFunction(s, args, t.Elem, func(v []value.Value) (value.Value, error) {
		most := value.Null(t.Elem)
		for _, x := range v[0].List() {
			switch {
			case x.IsNull():
			case most.IsNull():
				most = x
			default:
				most = extreme(sign, most, x)
			}
		}
		return most, nil
	})
}

// maxGenerated bounds the arrays that functions make.
const maxGenerated = 1_000_000

func bindGenerateArray(s *scope, args []expr) (expr, error) {
	if len(args) < 2 || len(args) > 3 {
		return nil, errMismatch
	}
	args, t, err := s.oneType(args)
	if err != nil {
		return nil, err
	}
	add := arithmeticOn("+", t)
	if add == nil {
		return nil, errMismatch
	}
	if len(args) == 2 {
		step, err := s.a.coerce(&literal{v: value.Int64(1), loose: true}, t)
		if err != nil {
			return nil, err
		}
		args = append(args, step)
	}
	f := func(v []value.Value) (value.Value, error) { return generateArray(t, add, v) }
	return &strictExpr{args: args, t: value.ArrayOf(t), f: f}, nil
}

func generateArray(t *value.Type, add func([]value.Value) (value.Value, error), v []value.Value) (value.Value, error) {
	zero := value.Int64(0)
	if widen := conversion(int64T, t, nil); widen != nil {
		zero, _ = widen(zero)
	}
	direction := value.Compare(v[2], zero)
	if direction == 0 || isNaN(v[2]) {
		return value.Value{}, outOfRange("Sequence step cannot be 0.")
	}
	out := []value.Value{}
	for x := v[0]; value.Compare(x, v[1])*direction <= 0; {
		if len(out) == maxGenerated {
			return value.Value{}, outOfRange("Generated arrays cannot have more than %d elements", maxGenerated)
		}
		out = append(out, x)
		next, err := add([]value.Value{x, v[2]})
		if err != nil || value.Compare(next, x) == 0 {
			break
		}
		x = next
	}
	return value.Array(t, out), nil
}
