package sql

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"spanbulk/internal/emulator/value"
)

// Shorthands for signature tables.
var (
	stringT, bytesT, int64T = value.StringType, value.BytesType, value.Int64Type
	boolT, float64T         = value.BoolType, value.Float64Type
	numericT, dateT         = value.NumericType, value.DateType
	timestampT, jsonT       = value.TimestampType, value.JSONType
)

// maxText is how long a computed text may get: Spanner's limit on a value.
const maxText = 10 << 20

func types(t ...*value.Type) []*value.Type { return t }

// stringFunctions work on text; most have a twin for BYTES.
var stringFunctions = map[string][]signature{
	"UPPER":            textFunction(func(s string) string { return strings.ToUpper(s) }, asciiUpper),
	"LOWER":            textFunction(func(s string) string { return strings.ToLower(s) }, asciiLower),
	"REVERSE":          textFunction(reverseText, reverseBytes),
	"TRIM":             trimFunction(strings.TrimFunc, trimBoth),
	"LTRIM":            trimFunction(strings.TrimLeftFunc, trimLeft),
	"RTRIM":            trimFunction(strings.TrimRightFunc, trimRight),
	"LENGTH":           {{args: types(stringT), result: int64T, f: charLength}, {args: types(bytesT), result: int64T, f: byteLength}},
	"CHAR_LENGTH":      {{args: types(stringT), result: int64T, f: charLength}},
	"CHARACTER_LENGTH": {{args: types(stringT), result: int64T, f: charLength}},
	"BYTE_LENGTH":      {{args: types(stringT), result: int64T, f: byteLength}, {args: types(bytesT), result: int64T, f: byteLength}},
	"OCTET_LENGTH":     {{args: types(stringT), result: int64T, f: byteLength}, {args: types(bytesT), result: int64T, f: byteLength}},
	"STARTS_WITH":      textTest(strings.HasPrefix),
	"ENDS_WITH":        textTest(strings.HasSuffix),
	"CONCAT": {
		{args: types(stringT), variadic: true, result: stringT, f: concatStrings(value.String)},
		{args: types(bytesT), variadic: true, result: bytesT, f: concatStrings(value.Bytes)},
	},
	"SUBSTR":    substrFunction,
	"SUBSTRING": substrFunction,
	"STRPOS":    {{args: types(stringT, stringT), result: int64T, f: strpos}, {args: types(bytesT, bytesT), result: int64T, f: strposBytes}},
	"REPLACE": {
		{args: types(stringT, stringT, stringT), result: stringT, f: replace(value.String)},
		{args: types(bytesT, bytesT, bytesT), result: bytesT, f: replace(value.Bytes)},
	},
	"REPEAT": {
		{args: types(stringT, int64T), result: stringT, f: repeat(value.String)},
		{args: types(bytesT, int64T), result: bytesT, f: repeat(value.Bytes)},
	},
	"LPAD":                         {{args: types(stringT, int64T, stringT), optional: 1, result: stringT, f: pad(true)}},
	"RPAD":                         {{args: types(stringT, int64T, stringT), optional: 1, result: stringT, f: pad(false)}},
	"SPLIT":                        {{args: types(stringT, stringT), optional: 1, result: value.ArrayOf(stringT), f: split}},
	"LEFT":                         {{args: types(stringT, int64T), result: stringT, f: leftmost(true)}},
	"RIGHT":                        {{args: types(stringT, int64T), result: stringT, f: leftmost(false)}},
	"REGEXP_CONTAINS":              {{args: types(stringT, stringT), result: boolT, f: regexpContains}},
	"REGEXP_EXTRACT":               {{args: types(stringT, stringT), result: stringT, f: regexpExtract}},
	"REGEXP_EXTRACT_ALL":           {{args: types(stringT, stringT), result: value.ArrayOf(stringT), f: regexpExtractAll}},
	"REGEXP_REPLACE":               {{args: types(stringT, stringT, stringT), result: stringT, f: regexpReplace}},
	"TO_CODE_POINTS":               {{args: types(stringT), result: value.ArrayOf(int64T), f: toCodePoints}},
	"CODE_POINTS_TO_STRING":        {{args: types(value.ArrayOf(int64T)), result: stringT, f: fromCodePoints}},
	"SAFE_CONVERT_BYTES_TO_STRING": {{args: types(bytesT), result: stringT, f: safeToString}},
}

// textFunction has a form for STRING and one for BYTES.
func textFunction(text, bytes func(string) string) []signature {
	return []signature{
		{args: types(stringT), result: stringT, f: func(v []value.Value) (value.Value, error) { return value.String(text(v[0].AsString())), nil }},
		{args: types(bytesT), result: bytesT, f: func(v []value.Value) (value.Value, error) { return value.Bytes(bytes(v[0].AsString())), nil }},
	}
}

func textTest(test func(s, part string) bool) []signature {
	f := func(v []value.Value) (value.Value, error) {
		return value.Bool(test(v[0].AsString(), v[1].AsString())), nil
	}
	return []signature{{args: types(stringT, stringT), result: boolT, f: f}, {args: types(bytesT, bytesT), result: boolT, f: f}}
}

func asciiUpper(s string) string {
	return mapBytes(s, func(c byte) byte {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		return c
	})
}

func asciiLower(s string) string {
	return mapBytes(s, func(c byte) byte {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	})
}

func mapBytes(s string, f func(byte) byte) string {
	out := []byte(s)
	for i, c := range out {
		out[i] = f(c)
	}
	return string(out)
}

func reverseText(s string) string {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		_, n := utf8.DecodeLastRuneInString(s)
		out, s = append(out, s[len(s)-n:]...), s[:len(s)-n]
	}
	return string(out)
}

func reverseBytes(s string) string {
	out := make([]byte, len(s))
	for i := range len(s) {
		out[len(s)-1-i] = s[i]
	}
	return string(out)
}

// trimFunction trims white space, or the characters of a second argument.
func trimFunction(space func(string, func(rune) bool) string, set func(s string, in func(string) bool, bytes bool) string) []signature {
	trim := func(v []value.Value) string {
		if len(v) == 1 {
			return space(v[0].AsString(), unicode.IsSpace)
		}
		chars := v[1].AsString()
		return set(v[0].AsString(), func(c string) bool { return strings.Contains(chars, c) }, v[0].Type().Code == value.BytesCode)
	}
	return []signature{
		{args: types(stringT, stringT), optional: 1, result: stringT, f: func(v []value.Value) (value.Value, error) { return value.String(trim(v)), nil }},
		{args: types(bytesT, bytesT), result: bytesT, f: func(v []value.Value) (value.Value, error) { return value.Bytes(trim(v)), nil }},
	}
}

func trimLeft(s string, in func(string) bool, bytes bool) string {
	for s != "" {
		n := charLen(s, bytes)
		if !in(s[:n]) {
			break
		}
		s = s[n:]
	}
	return s
}

func trimRight(s string, in func(string) bool, bytes bool) string {
	for s != "" {
		n := 1
		if !bytes {
			_, n = utf8.DecodeLastRuneInString(s)
		}
		if !in(s[len(s)-n:]) {
			break
		}
		s = s[:len(s)-n]
	}
	return s
}

func trimBoth(s string, in func(string) bool, bytes bool) string {
	return trimRight(trimLeft(s, in, bytes), in, bytes)
}

func charLength(v []value.Value) (value.Value, error) {
	return value.Int64(int64(utf8.RuneCountInString(v[0].AsString()))), nil
}

func byteLength(v []value.Value) (value.Value, error) {
	return value.Int64(int64(len(v[0].AsString()))), nil
}

func concatStrings(mk func(string) value.Value) func([]value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		var b strings.Builder
		for _, x := range v {
			if b.Len()+len(x.AsString()) > maxText {
				return value.Value{}, outOfRange("The result of a concatenation is larger than %d bytes", maxText)
			}
			b.WriteString(x.AsString())
		}
		return mk(b.String()), nil
	}
}

var substrFunction = []signature{
	{args: types(stringT, int64T, int64T), optional: 1, result: stringT, f: substr},
	{args: types(bytesT, int64T, int64T), optional: 1, result: bytesT, f: substrBytes},
}

// window is the part of n characters that SUBSTR means: positions count from
// 1, or from the end if negative.
func window(n int, v []value.Value) (from, to int, err error) {
	start, length := v[1].AsInt64(), int64(n)
	if len(v) > 2 {
		if length = v[2].AsInt64(); length < 0 {
			return 0, 0, outOfRange("Third argument in SUBSTR() cannot be negative")
		}
	}
	switch {
	case start > int64(n):
		return n, n, nil
	case start > 0:
		start--
	case start < 0:
		start = max(0, start+int64(n))
	}
	return int(start), int(min(int64(n), start+min(length, int64(n)))), nil
}

func substr(v []value.Value) (value.Value, error) {
	chars := []rune(v[0].AsString())
	from, to, err := window(len(chars), v)
	return value.String(string(chars[from:to])), err
}

func substrBytes(v []value.Value) (value.Value, error) {
	s := v[0].AsString()
	from, to, err := window(len(s), v)
	return value.Bytes(s[from:to]), err
}

func strpos(v []value.Value) (value.Value, error) {
	s := v[0].AsString()
	i := strings.Index(s, v[1].AsString())
	if i < 0 {
		return value.Int64(0), nil
	}
	return value.Int64(int64(utf8.RuneCountInString(s[:i])) + 1), nil
}

func strposBytes(v []value.Value) (value.Value, error) {
	return value.Int64(int64(strings.Index(v[0].AsString(), v[1].AsString())) + 1), nil
}

func replace(mk func(string) value.Value) func([]value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		s, old, by := v[0].AsString(), v[1].AsString(), v[2].AsString()
		if old == "" {
			return v[0], nil
		}
		if len(by) > len(old) && strings.Count(s, old)*(len(by)-len(old))+len(s) > maxText {
			return value.Value{}, outOfRange("The result of REPLACE is larger than %d bytes", maxText)
		}
		return mk(strings.ReplaceAll(s, old, by)), nil
	}
}

func repeat(mk func(string) value.Value) func([]value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		s, n := v[0].AsString(), v[1].AsInt64()
		switch {
		case n < 0:
			return value.Value{}, outOfRange("Second argument in REPEAT cannot be negative")
		case s == "":
			return mk(""), nil
		case n > maxText || int64(len(s))*n > maxText:
			return value.Value{}, outOfRange("The result of REPEAT is larger than %d bytes", maxText)
		}
		return mk(strings.Repeat(s, int(n))), nil
	}
}

func pad(left bool) func([]value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		chars, n, fill := []rune(v[0].AsString()), v[1].AsInt64(), []rune(" ")
		if len(v) > 2 {
			fill = []rune(v[2].AsString())
		}
		if n < 0 || n > maxText || len(fill) == 0 {
			return value.Value{}, outOfRange("The length and the pattern of LPAD and RPAD must not be negative, too large or empty")
		}
		if int64(len(chars)) >= n {
			return value.String(string(chars[:n])), nil
		}
		padding := make([]rune, 0, n)
		for i := 0; int64(len(padding)+len(chars)) < n; i++ {
			padding = append(padding, fill[i%len(fill)])
		}
		if left {
			return value.String(string(padding) + string(chars)), nil
		}
		return value.String(string(chars) + string(padding)), nil
	}
}

func split(v []value.Value) (value.Value, error) {
	sep := ","
	if len(v) > 1 {
		sep = v[1].AsString()
	}
	parts := []value.Value{}
	for _, p := range strings.Split(v[0].AsString(), sep) {
		parts = append(parts, value.String(p))
	}
	if len(parts) == 0 {
		parts = append(parts, value.String(""))
	}
	return value.Array(stringT, parts), nil
}

func leftmost(left bool) func([]value.Value) (value.Value, error) {
	return func(v []value.Value) (value.Value, error) {
		chars, n := []rune(v[0].AsString()), v[1].AsInt64()
		if n < 0 {
			return value.Value{}, outOfRange("Second argument in LEFT and RIGHT cannot be negative")
		}
		n = min(n, int64(len(chars)))
		if left {
			return value.String(string(chars[:n])), nil
		}
		return value.String(string(chars[int64(len(chars))-n:])), nil
	}
}

func compileRegexp(v value.Value) (*regexp.Regexp, error) {
	re, err := regexp.Compile(v.AsString())
	if err != nil {
		return nil, outOfRange("Cannot parse regular expression: %v", err)
	}
	return re, nil
}

func regexpContains(v []value.Value) (value.Value, error) {
	re, err := compileRegexp(v[1])
	if err != nil {
		return value.Value{}, err
	}
	return value.Bool(re.MatchString(v[0].AsString())), nil
}

// submatch picks the one capturing group, or without one the whole match.
func submatch(re *regexp.Regexp) (int, error) {
	if re.NumSubexp() > 1 {
		return 0, outOfRange("Regular expressions passed into extraction functions must not have more than 1 capturing group")
	}
	return re.NumSubexp(), nil
}

func regexpExtract(v []value.Value) (value.Value, error) {
	all, err := extractAll(v, 1)
	if err != nil || len(all) == 0 {
		return value.Null(stringT), err
	}
	return all[0], nil
}

func regexpExtractAll(v []value.Value) (value.Value, error) {
	all, err := extractAll(v, -1)
	return value.Array(stringT, all), err
}

func extractAll(v []value.Value, n int) ([]value.Value, error) {
	re, err := compileRegexp(v[1])
	if err != nil {
		return nil, err
	}
	group, err := submatch(re)
	if err != nil {
		return nil, err
	}
	out := []value.Value{}
	for _, m := range re.FindAllStringSubmatch(v[0].AsString(), n) {
		out = append(out, value.String(m[group]))
	}
	return out, nil
}

func regexpReplace(v []value.Value) (value.Value, error) {
	re, err := compileRegexp(v[1])
	if err != nil {
		return value.Value{}, err
	}
	// GoogleSQL writes groups as \1, Go as ${1}.
	by := strings.ReplaceAll(v[2].AsString(), "$", "$$")
	by = regexp.MustCompile(`\\(\d)`).ReplaceAllString(by, "$${$1}")
	by = strings.ReplaceAll(by, `\\`, `\`)
	return value.String(re.ReplaceAllString(v[0].AsString(), by)), nil
}

func toCodePoints(v []value.Value) (value.Value, error) {
	out := []value.Value{}
	for _, r := range v[0].AsString() {
		out = append(out, value.Int64(int64(r)))
	}
	return value.Array(int64T, out), nil
}

func fromCodePoints(v []value.Value) (value.Value, error) {
	var b strings.Builder
	for _, p := range v[0].List() {
		if p.IsNull() {
			return value.Null(stringT), nil
		}
		n := p.AsInt64()
		if n < 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			return value.Value{}, outOfRange("Invalid codepoint %d", n)
		}
		b.WriteRune(rune(n))
	}
	return value.String(b.String()), nil
}

func safeToString(v []value.Value) (value.Value, error) {
	return value.String(strings.ToValidUTF8(v[0].AsString(), "\uFFFD")), nil
}
