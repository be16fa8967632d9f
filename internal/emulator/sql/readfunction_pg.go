package sql

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// Names of the read functions in the PostgreSQL dialect, in the schema spanner.
// Which of the two there is depends on the stream's partition mode.
const (
	pgJSONPrefix  = "read_json_"
	pgProtoPrefix = "read_proto_bytes_"
)

// findPostgreSQLCall recognises SELECT * FROM spanner.read_json_s(...), the only
// statement of the PostgreSQL dialect that this package reads.
func findPostgreSQLCall(schema *catalog.Schema, text string) (*ReadFunctionCall, error) {
	tokens, ok := pgTokens(text)
	if !ok {
		return nil, nil
	}
	at := slices.IndexFunc(tokens, func(t pgToken) bool {
		return t.kind == pgName && (strings.HasPrefix(t.text, pgJSONPrefix) || strings.HasPrefix(t.text, pgProtoPrefix))
	})
	if at < 0 {
		return nil, nil
	}
	function := tokens[at].text
	stream, ok := pgStream(schema, function)
	if !ok {
		return nil, nil
	}
	p := &pgCall{tokens: tokens, function: function}
	call := &ReadFunctionCall{Stream: stream, Arguments: p.arguments}
	return call, p.parse()
}

// pgStream is the stream that a function reads.
func pgStream(schema *catalog.Schema, function string) (*catalog.ChangeStream, bool) {
	for _, s := range schema.ChangeStreams {
		prefix := pgJSONPrefix
		if s.PartitionMode() == catalog.MutableKeyRange {
			prefix = pgProtoPrefix
		}
		if strings.EqualFold(prefix+s.Name, function) {
			return s, true
		}
	}
	return nil, false
}

type pgTokenKind uint8

const (
	pgName pgTokenKind = iota
	pgText
	pgNumber
	pgParam
	pgSign
)

// pgToken is a token; text is a name with its quotes off, folded to lower case
// if it had none, the content of a string, the number of a parameter.
type pgToken struct {
	kind pgTokenKind
	text string
}

// pgTokens cuts a statement into tokens, a final semicolon left out.
func pgTokens(text string) ([]pgToken, bool) {
	var out []pgToken
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"' || c == '\'':
			content, n, ok := pgQuoted(text[i:])
			if !ok {
				return nil, false
			}
			kind := pgText
			if c == '"' {
				kind = pgName
			}
			out = append(out, pgToken{kind, content})
			i += n
		case c == '$' || c >= '0' && c <= '9':
			n := 1 + leading(text[i+1:], func(c byte) bool { return c >= '0' && c <= '9' })
			t := pgToken{pgNumber, text[i : i+n]}
			if c == '$' {
				t = pgToken{pgParam, text[i+1 : i+n]}
			}
			out = append(out, t)
			i += n
		case pgLetter(c):
			n := leading(text[i:], func(c byte) bool { return pgLetter(c) || c >= '0' && c <= '9' })
			out = append(out, pgToken{pgName, strings.ToLower(text[i : i+n])})
			i += n
		case c == ';' && strings.TrimSpace(text[i+1:]) == "":
			return out, true
		case strings.HasPrefix(text[i:], "::"):
			out = append(out, pgToken{pgSign, "::"})
			i += 2
		default:
			out = append(out, pgToken{pgSign, string(c)})
			i++
		}
	}
	return out, true
}

func pgLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func leading(text string, is func(byte) bool) int {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}

// pgQuoted reads text in quotes, which are doubled within it; n is its length.
func pgQuoted(text string) (content string, n int, ok bool) {
	quote := text[:1]
	for i := 1; i < len(text); i++ {
		if text[i:i+1] != quote {
			continue
		}
		if strings.HasPrefix(text[i+1:], quote) {
			i++
			continue
		}
		return strings.ReplaceAll(text[1:i], quote+quote, quote), i + 1, true
	}
	return "", 0, false
}

// pgCall is a call of a read function.
type pgCall struct {
	tokens   []pgToken
	at       int
	function string
	args     []pgToken
}

func (p *pgCall) take(kind pgTokenKind, text string) bool {
	if p.at == len(p.tokens) || p.tokens[p.at] != (pgToken{kind, text}) {
		return false
	}
	p.at++
	return true
}

// parse reads SELECT * FROM f(args); in place of the star may stand the
// function's name, which is that of the column.
func (p *pgCall) parse() error {
	ok := p.take(pgName, "select") && (p.take(pgSign, "*") || p.take(pgName, p.function)) && p.take(pgName, "from")
	if ok && p.take(pgName, "spanner") {
		ok = p.take(pgSign, ".")
	}
	if !ok || !p.take(pgName, p.function) || !p.take(pgSign, "(") {
		return p.combined()
	}
	for {
		if err := p.argument(); err != nil {
			return err
		}
		if p.take(pgSign, ")") {
			break
		}
		if !p.take(pgSign, ",") {
			return p.notConstant()
		}
	}
	if p.at != len(p.tokens) {
		return p.combined()
	}
	if n := len(p.args); n < 4 || n > 5 {
		return invalid("function spanner.%s does not take %d arguments: it takes (start_timestamp, end_timestamp, partition_token, heartbeat_milliseconds, [null])", p.function, n)
	}
	return nil
}

func (p *pgCall) combined() error {
	return status.Errorf(codes.Unimplemented, "Change stream TVF must not be combined with any other SQL statements. Use: SELECT * FROM spanner.%s(...).", p.function)
}

func (p *pgCall) notConstant() error {
	return invalid("Invalid argument of change stream TVF %s. Argument %d is not a literal or parameter.", p.function, max(len(p.args), 1))
}

// argument reads a literal or a parameter, with a cast or without.
func (p *pgCall) argument() error {
	sign := ""
	if p.take(pgSign, "-") {
		sign = "-"
	}
	if p.at == len(p.tokens) {
		return p.notConstant()
	}
	t := p.tokens[p.at]
	p.at++
	t.text = sign + t.text
	p.args = append(p.args, t)
	if t.kind == pgSign || t.kind == pgName && t.text != "null" || sign != "" && t.kind != pgNumber {
		return p.notConstant()
	}
	for p.take(pgSign, "::") {
		// Names of types may have several words: timestamp with time zone.
		for p.at < len(p.tokens) && p.tokens[p.at].kind == pgName {
			p.at++
		}
	}
	return nil
}

func (p *pgCall) arguments(params map[string]relation.Param) (ReadArguments, error) {
	var out ReadArguments
	for i, target := range []*value.Value{&out.Start, &out.End, &out.Token, &out.Heartbeat, &out.Options} {
		t := readParameters()[i].Type
		*target = value.Null(t)
		if i == len(p.args) {
			break
		}
		var err error
		if *target, err = pgValue(p.args[i], t, params); err != nil {
			return out, err
		}
	}
	return out, nil
}

func pgValue(arg pgToken, t *value.Type, params map[string]relation.Param) (value.Value, error) {
	switch arg.kind {
	case pgName:
		return value.Null(t), nil
	case pgParam:
		p, ok := params["p"+arg.text]
		if !ok {
			return value.Value{}, invalid("No parameter found for binding: $%s", arg.text)
		}
		v, err := value.FromWire(t, p.Wire)
		if err != nil {
			return value.Value{}, invalid("Invalid value for bind parameter p%s: Expected %s.", arg.text, t)
		}
		return v, nil
	}
	switch t.Code {
	case value.TimestampCode:
		if v, ok := pgTimestamp(arg.text); ok {
			return v, nil
		}
	case value.StringCode:
		return value.String(arg.text), nil
	case value.Int64Code:
		if n, err := strconv.ParseInt(arg.text, 10, 64); err == nil {
			return value.Int64(n), nil
		}
	case value.ArrayCode:
		return value.Array(t.Elem, nil), nil
	}
	return value.Value{}, invalid("invalid input syntax for type %s", t)
}

func pgTimestamp(text string) (value.Value, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07"} {
		if t, err := time.Parse(layout, text); err == nil {
			return value.Timestamp(t), true
		}
	}
	return value.Value{}, false
}
