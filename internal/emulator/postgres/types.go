package postgres

import (
	"strconv"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"
)

// maxVarchar bounds the n of a column of varchar(n).
const maxVarchar = 2_621_440

// typeName is a type as written.
type typeName struct {
	// name is PostgreSQL's own: bigint, character varying.
	name string
	// length is the n of varchar(n); 0 is no limit.
	length int64
	// word is what PostgreSQL calls it within: int8, varchar.
	word     string
	array    bool
	pos, end token.Pos
}

// typeAliases are the names of types of one word.
func typeAlias(word string) (name string, ok bool) {
	switch word {
	case "bool", "boolean":
		return "boolean", true
	case "int8", "bigint", "int", "int4", "integer", "int2", "smallint":
		return "bigint", true
	case "float8", "float":
		return "double precision", true
	case "float4", "real":
		return "real", true
	case "varchar", "text":
		return "character varying", true
	case "bytea", "date", "jsonb", "uuid", "interval", "oid", "numeric":
		return word, true
	case "decimal", "dec":
		return "numeric", true
	case "timestamptz":
		return "timestamp with time zone", true
	case "serial", "bigserial", "serial4", "serial8":
		return "bigserial", true
	}
	return "", false
}

// typeName reads the name of a type.
func (p *parser) typeName() typeName {
	t := typeName{pos: p.tok().pos}
	word := p.tok()
	switch {
	case word.is(kindName, "spanner") && p.peek(1).is(kindSign, "."):
		p.next()
		p.next()
		t.word = p.anyName().Name
		t.name = "spanner." + t.word
	case p.takeWords("pg_catalog"):
		p.wantSign(".")
		word = p.tok()
		fallthrough
	default:
		p.plainType(&t, word)
	}
	p.noIntervalFields(t)
	t.array = p.takeWords("array")
	t.end = p.prevEnd()
	if p.takeSign("[") {
		if p.tok().kind == kindInteger {
			p.next()
		}
		p.wantSign("]")
		t.array, t.end = true, p.prevEnd()
	}
	if p.takeSign("[") {
		p.failAt(t.pos, "arrays of arrays are not supported")
	}
	return t
}

// noIntervalFields refuses what says which fields an interval has, as DAY does
// in INTERVAL '1' DAY: it is no alias.
func (p *parser) noIntervalFields(t typeName) {
	if t.name == "interval" && p.isWord("year", "month", "day", "hour", "minute", "second") {
		p.fail(unimplemented("INTERVAL with the field " + strings.ToUpper(p.tok().text)))
	}
}

func (p *parser) plainType(t *typeName, word lexeme) {
	t.word = internalTypeName(word.text)
	switch {
	case p.takeWords("double", "precision"):
		t.name = "double precision"
	case p.takeWords("character", "varying"):
		t.name = "character varying"
	case p.takeWords("timestamp", "with", "time", "zone"):
		t.name = "timestamp with time zone"
	default:
		name, ok := typeAlias(word.text)
		if word.kind == kindQuoted {
			ok = ok && isTypesOwnName(word.text)
		}
		if !ok || word.kind != kindName && word.kind != kindQuoted {
			p.failAt(word.pos, "type "+quoteForMessage(word.text)+" does not exist or is not supported")
			return
		}
		p.next()
		t.name = name
	}
	p.typeModifier(t, word.is(kindName, "float"))
	if t.name == "timestamp with time zone" {
		p.takeWords("with", "time", "zone")
	}
}

// typeModifier reads the (n) of varchar(n) and float(n).
func (p *parser) typeModifier(t *typeName, isFloat bool) {
	if !p.isSign("(") {
		return
	}
	at := p.next().pos
	n, err := strconv.ParseInt(p.tok().text, 10, 64)
	if p.tok().kind != kindInteger || err != nil {
		p.unexpected()
		return
	}
	p.next()
	if isFloat && n >= 1 && n <= 53 { // n bits
		if n <= 24 {
			t.name, t.word = "real", "float4"
		}
		p.wantSign(")")
		return
	}
	if t.name != "character varying" || n < 1 {
		p.failAt(at, "type modifier is not allowed for type "+quoteForMessage(t.name)+" or is out of range")
		return
	}
	t.length = n
	p.wantSign(")")
}

// scalarName is the GoogleSQL name of a type that GoogleSQL has, too.
func scalarName(name string) (ast.ScalarTypeName, bool) {
	switch name {
	case "boolean":
		return ast.BoolTypeName, true
	case "bigint", "bigserial":
		return ast.Int64TypeName, true
	case "double precision":
		return ast.Float64TypeName, true
	case "real":
		return ast.Float32TypeName, true
	case "character varying":
		return ast.StringTypeName, true
	case "bytea":
		return ast.BytesTypeName, true
	case "date":
		return ast.DateTypeName, true
	case "timestamp with time zone", "spanner.commit_timestamp":
		return ast.TimestampTypeName, true
	case "interval":
		return ast.IntervalTypeName, true
	case "spanner.tokenlist":
		return ast.TokenListTypeName, true
	}
	return "", false
}

// namedType is a type that GoogleSQL's grammar takes for a name: UUID and
// those that PostgreSQL alone has.
func (t typeName) namedType() (*ast.NamedType, bool) {
	word := func(name string) *ast.Ident { return &ast.Ident{NamePos: t.pos, NameEnd: t.end, Name: name} }
	switch t.name {
	case "uuid":
		return &ast.NamedType{Path: []*ast.Ident{word("UUID")}}, true
	case "numeric":
		return &ast.NamedType{Path: []*ast.Ident{word("PG"), word("NUMERIC")}}, true
	case "jsonb":
		return &ast.NamedType{Path: []*ast.Ident{word("PG"), word("JSONB")}}, true
	case "oid":
		return &ast.NamedType{Path: []*ast.Ident{word("PG"), word("OID")}}, true
	}
	return nil, false
}

// castType is the type in a CAST.
func (p *parser) castType(t typeName) ast.Type {
	var out ast.Type
	if named, ok := t.namedType(); ok {
		out = named
	} else if name, ok := scalarName(t.name); ok {
		out = &ast.SimpleType{NamePos: t.pos, Name: name}
	} else {
		p.failAt(t.pos, "type "+quoteForMessage(t.name)+" does not exist or is not supported")
		return &ast.SimpleType{}
	}
	if t.array {
		return &ast.ArrayType{Array: t.pos, Gt: t.end - 1, Item: out}
	}
	return out
}

// schemaType is the type of a column.
func (p *parser) schemaType(t typeName) ast.SchemaType {
	var out ast.SchemaType
	named, isNamed := t.namedType()
	name, isScalar := scalarName(t.name)
	switch {
	case t.name == "oid", t.name == "interval", t.name == "bigserial" && t.array, t.name == "spanner.commit_timestamp" && t.array:
		p.failAt(t.pos, "type "+quoteForMessage(t.name)+" is not supported for columns")
		return &ast.ScalarSchemaType{}
	case isNamed:
		out = named
	case !isScalar:
		p.failAt(t.pos, "type "+quoteForMessage(t.name)+" does not exist or is not supported")
		return &ast.ScalarSchemaType{}
	case t.length > maxVarchar:
		p.refused("Maximum length for <varchar> fields is " + strconv.Itoa(maxVarchar) + ".")
		return &ast.ScalarSchemaType{}
	case name == ast.StringTypeName || name == ast.BytesTypeName:
		sized := &ast.SizedSchemaType{NamePos: t.pos, Rparen: t.end - 1, Name: name, Max: t.length == 0}
		if !sized.Max {
			sized.Size = &ast.IntLiteral{ValuePos: t.pos, ValueEnd: t.end, Base: 10, Value: strconv.FormatInt(t.length, 10)}
		}
		out = sized
	default:
		out = &ast.ScalarSchemaType{NamePos: t.pos, Name: name}
	}
	if t.array {
		return &ast.ArraySchemaType{Array: t.pos, Gt: t.end - 1, Rparen: token.InvalidPos, Item: out}
	}
	return out
}
