package sql

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

func parseJSON(text string) (value.Value, error) {
	v, ok := value.ParseJSON(text)
	if !ok {
		return value.Value{}, outOfRange("syntax error while parsing JSON")
	}
	return v, nil
}

// jsonFunctions take JSON, and text that holds JSON where Spanner allows it.
var jsonFunctions = map[string][]signature{
	"PARSE_JSON": {{args: types(stringT), result: jsonT, f: func(v []value.Value) (value.Value, error) { return parseJSON(v[0].AsString()) }}},
	"JSON_TYPE":  {{args: types(jsonT), result: stringT, f: jsonType}},
	"JSON_QUERY": jsonPathFunction(stringT, func(found json.RawMessage) (value.Value, bool) { return value.JSON(string(found)), true }),
	"JSON_VALUE": jsonPathFunction(stringT, jsonScalarText),
	"JSON_QUERY_ARRAY": jsonPathFunction(value.ArrayOf(stringT), func(found json.RawMessage) (value.Value, bool) {
		return jsonElements(found, jsonT, func(e json.RawMessage) (value.Value, bool) { return value.JSON(string(e)), true })
	}),
	"JSON_VALUE_ARRAY": jsonPathFunction(value.ArrayOf(stringT), func(found json.RawMessage) (value.Value, bool) {
		return jsonElements(found, stringT, jsonScalarText)
	}),
}

// jsonBinders depend on the type of their argument.
var jsonBinders = map[string]binder{
	"TO_JSON_STRING": bindToJSONString,
	"TO_JSON":        bindToJSON,
	"BOOL":           func(s *scope, args []expr) (expr, error) { return bindJSONScalar(args, boolT) },
	"INT64":          func(s *scope, args []expr) (expr, error) { return bindJSONScalar(args, int64T) },
	"FLOAT64":        func(s *scope, args []expr) (expr, error) { return bindJSONScalar(args, float64T) },
}

// jsonPathFunction extracts by a JSONPath, `$` if there is none. What take
// makes of JSON input is text again for STRING input.
func jsonPathFunction(textResult *value.Type, take func(found json.RawMessage) (value.Value, bool)) []signature {
	probe, _ := take(json.RawMessage("[]"))
	jsonResult := textResult
	if probe.Type() != nil && !probe.Type().Equal(textResult) {
		jsonResult = probe.Type()
	}
	run := func(v []value.Value, t *value.Type, text string) (value.Value, error) {
		path := "$"
		if len(v) > 1 {
			path = v[1].AsString()
		}
		found, ok, err := jsonAt(json.RawMessage(text), path)
		if err != nil || !ok {
			return value.Null(t), err
		}
		out, ok := take(found)
		if !ok {
			return value.Null(t), nil
		}
		return jsonAsText(out, t), nil
	}
	return []signature{
		{args: types(jsonT, stringT), optional: 1, result: jsonResult, f: func(v []value.Value) (value.Value, error) {
			return run(v, jsonResult, v[0].AsString())
		}},
		{args: types(stringT, stringT), optional: 1, result: textResult, f: func(v []value.Value) (value.Value, error) {
			doc, ok := value.ParseJSON(v[0].AsString())
			if !ok {
				return value.Null(textResult), nil
			}
			return run(v, textResult, doc.AsString())
		}},
	}
}

// jsonAsText turns JSON, or an array of it, into STRINGs if t asks for them.
func jsonAsText(v value.Value, t *value.Type) value.Value {
	switch {
	case v.IsNull() || v.Type().Equal(t):
		return v
	case t.Code == value.StringCode:
		return value.String(v.AsString())
	}
	items := make([]value.Value, len(v.List()))
	for i, item := range v.List() {
		items[i] = jsonAsText(item, t.Elem)
	}
	return value.Array(t.Elem, items).WithType(t)
}

// jsonAt finds a path in canonical JSON. ok is false if it leads nowhere.
func jsonAt(doc json.RawMessage, path string) (found json.RawMessage, ok bool, err error) {
	steps, err := parsePath(path)
	if err != nil {
		return nil, false, err
	}
	for _, step := range steps {
		if doc, ok = jsonStep(doc, step); !ok {
			return nil, false, nil
		}
	}
	return doc, true, nil
}

// pathStep is a member name or an array position.
type pathStep struct {
	name  string
	index int
}

func jsonStep(doc json.RawMessage, step pathStep) (json.RawMessage, bool) {
	if step.index >= 0 {
		var list []json.RawMessage
		if len(doc) == 0 || doc[0] != '[' || json.Unmarshal(doc, &list) != nil || step.index >= len(list) {
			return nil, false
		}
		return list[step.index], true
	}
	var members map[string]json.RawMessage
	if len(doc) == 0 || doc[0] != '{' || json.Unmarshal(doc, &members) != nil {
		return nil, false
	}
	found, ok := members[step.name]
	return found, ok
}

// parsePath reads $.name, $["name"], $['name'] and $[0].
func parsePath(path string) ([]pathStep, error) {
	bad := outOfRange("JSONPath is not valid: %s", path)
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, bad
	}
	var steps []pathStep
	for rest != "" {
		var step pathStep
		if step, rest, ok = cutStep(rest); !ok {
			return nil, bad
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func cutStep(s string) (step pathStep, rest string, ok bool) {
	if s[0] == '.' {
		return cutMember(s[1:])
	}
	if len(s) < 3 || s[0] != '[' {
		return step, "", false
	}
	if quote := s[1]; quote == '"' || quote == '\'' {
		name, rest, ok := strings.Cut(s[2:], string(quote)+"]")
		return pathStep{name: name, index: -1}, rest, ok
	}
	text, rest, ok := strings.Cut(s[1:], "]")
	index, err := strconv.ParseUint(text, 10, 31)
	return pathStep{index: int(index)}, rest, ok && err == nil
}

func cutMember(s string) (step pathStep, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		name, rest, ok := strings.Cut(s[1:], `"`)
		return pathStep{name: name, index: -1}, rest, ok
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	return pathStep{name: s[:end], index: -1}, s[end:], end > 0
}

// jsonScalarText is a scalar as text; objects, arrays and null have none.
func jsonScalarText(found json.RawMessage) (value.Value, bool) {
	switch found[0] {
	case '{', '[', 'n':
		return value.Null(stringT), false
	case '"':
		var text string
		if json.Unmarshal(found, &text) != nil {
			return value.Null(stringT), false
		}
		return value.String(text), true
	}
	return value.String(string(found)), true
}

// jsonElements is an array's elements, each made a value of type t.
func jsonElements(found json.RawMessage, t *value.Type, take func(json.RawMessage) (value.Value, bool)) (value.Value, bool) {
	var list []json.RawMessage
	if len(found) == 0 || found[0] != '[' || json.Unmarshal(found, &list) != nil {
		return value.Null(value.ArrayOf(t)), false
	}
	items := make([]value.Value, len(list))
	for i, e := range list {
		v, ok := take(e)
		if !ok {
			v = value.Null(t)
		}
		items[i] = v
	}
	return value.Array(t, items), true
}

func jsonType(v []value.Value) (value.Value, error) {
	name := "number"
	switch v[0].AsString()[0] {
	case '{':
		name = "object"
	case '[':
		name = "array"
	case '"':
		name = "string"
	case 't', 'f':
		name = "boolean"
	case 'n':
		name = "null"
	}
	return value.String(name), nil
}

// jsonMember is json.name and json['name']: NULL where there is no such member.
func jsonMember(x expr, name string) expr {
	return jsonStepExpr(x, pathStep{name: name, index: -1})
}

func jsonStepExpr(x expr, step pathStep) expr {
	f := func(v []value.Value) (value.Value, error) {
		found, ok := jsonStep(json.RawMessage(v[0].AsString()), step)
		if !ok {
			return value.Null(jsonT), nil
		}
		return value.JSON(string(found)), nil
	}
	return &strictExpr{args: []expr{x}, t: jsonT, f: f}
}

func (s *scope) jsonSubscript(n *ast.IndexExpr, x, index expr) (expr, error) {
	v, ok := constant(index)
	if !ok || v.IsNull() {
		return nil, s.a.invalidAt(n, "A JSON subscript must be a literal or a parameter")
	}
	switch v.Type().Code {
	case value.StringCode:
		return jsonMember(x, v.AsString()), nil
	case value.Int64Code:
		if v.AsInt64() >= 0 && v.AsInt64() <= math.MaxInt32 {
			return jsonStepExpr(x, pathStep{index: int(v.AsInt64())}), nil
		}
		return &literal{v: value.Null(jsonT)}, nil
	}
	return nil, s.a.invalidAt(n, "A JSON subscript must be INT64 or STRING")
}

func bindJSONScalar(args []expr, t *value.Type) (expr, error) {
	if len(args) != 1 || !isType(args[0], value.JSONCode) {
		return nil, errMismatch
	}
	return jsonScalar(args[0], t), nil
}

// jsonScalar is STRING(json) and the like: an error unless the JSON is that.
func jsonScalar(x expr, t *value.Type) expr {
	return &strictExpr{args: []expr{x}, t: t, f: func(v []value.Value) (value.Value, error) {
		out, ok := jsonAs(v[0].AsString(), t)
		if !ok {
			return value.Value{}, outOfRange("The provided JSON input is not a %s", strings.ToLower(t.String()))
		}
		return out, nil
	}}
}

func jsonAs(text string, t *value.Type) (value.Value, bool) {
	switch {
	case t == stringT && text[0] == '"':
		return jsonScalarText(json.RawMessage(text))
	case t == boolT && (text == "true" || text == "false"):
		return value.Bool(text == "true"), true
	case t == float64T && (text[0] == '-' || text[0] >= '0' && text[0] <= '9'):
		f, err := strconv.ParseFloat(text, 64)
		return value.Float64(f), err == nil
	case t == int64T && (text[0] == '-' || text[0] >= '0' && text[0] <= '9'):
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return value.Int64(n), true
		}
		f, err := strconv.ParseFloat(text, 64)
		return value.Int64(int64(f)), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<63
	}
	return value.Value{}, false
}

// toJSONExpr is TO_JSON and TO_JSON_STRING; SQL NULL becomes JSON null.
type toJSONExpr struct {
	x expr
	t *value.Type
}

func (x *toJSONExpr) typ() *value.Type { return x.t }

func (x *toJSONExpr) eval(e *env) (value.Value, error) {
	v, err := x.x.eval(e)
	if err != nil {
		return value.Value{}, err
	}
	text := string(appendJSON(nil, v))
	if x.t.Code == value.StringCode {
		return value.String(text), nil
	}
	return parseJSON(text)
}

func bindToJSONString(s *scope, args []expr) (expr, error) { return s.toJSON(args, stringT) }
func bindToJSON(s *scope, args []expr) (expr, error)       { return s.toJSON(args, jsonT) }

func (s *scope) toJSON(args []expr, t *value.Type) (expr, error) {
	if len(args) != 1 {
		return nil, errMismatch
	}
	x, err := s.a.settle(args[0])
	return &toJSONExpr{x, t}, err
}

// appendJSON spells a value as JSON: INT64 beyond what a double holds, NUMERIC
// and times as strings.
func appendJSON(dst []byte, v value.Value) []byte {
	if v.IsNull() {
		return append(dst, "null"...)
	}
	switch v.Type().Code {
	case value.BoolCode, value.JSONCode:
		return v.AppendText(dst)
	case value.Int64Code:
		const exact = 1 << 53
		if n := v.AsInt64(); n <= exact && n >= -exact {
			return strconv.AppendInt(dst, n, 10)
		}
	case value.Float64Code, value.Float32Code:
		if f := v.AsFloat64(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return append(dst, floatText(v)...)
		}
		return appendJSONText(dst, nonFiniteText(v.AsFloat64()))
	case value.ArrayCode:
		dst = append(dst, '[')
		for i, item := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, item)
		}
		return append(dst, ']')
	case value.StructCode:
		return appendJSONStruct(dst, v)
	}
	return appendJSONText(dst, string(v.AppendText(nil)))
}

func nonFiniteText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return "NaN"
}

func appendJSONStruct(dst []byte, v value.Value) []byte {
	dst = append(dst, '{')
	for i, item := range v.List() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONText(dst, v.Type().Fields[i].Name), ':')
		dst = appendJSON(dst, item)
	}
	return append(dst, '}')
}

func appendJSONText(dst []byte, text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return append(dst, `""`...)
	}
	return append(dst, bytes.TrimRight(b.Bytes(), "\n")...)
}
