package postgres

import (
	"strings"
	"unicode/utf8"

	"github.com/cloudspannerecosystem/memefish/token"
)

// blanks are what PostgreSQL passes over; other blanks of Unicode are letters.
const blanks = " \t\r\n\f\v"

type kind uint8

const (
	kindEnd kind = iota
	kindName
	kindQuoted
	kindText
	kindInteger
	kindDecimal
	kindParam
	kindSign
)

// lexeme is a token. Its text is a name as PostgreSQL folds it, the content of
// a string, the digits of a number or parameter, or a sign.
type lexeme struct {
	kind     kind
	text     string
	pos, end token.Pos
	// hint is the content of a /*@ ... */ before the token.
	hint string
}

// lexer cuts a text into lexemes.
type lexer struct {
	text string
	at   int
	hint string
	out  []lexeme
}

// lex cuts a statement, without its final semicolon.
func lex(text string) ([]lexeme, error) {
	l := &lexer{text: text}
	for {
		if err := l.blanks(); err != nil {
			return nil, err
		}
		if l.at == len(text) {
			break
		}
		start := l.at
		t, err := l.lexeme()
		if err != nil {
			return nil, err
		}
		t.pos, t.end, t.hint = token.Pos(start), token.Pos(l.at), l.hint
		l.hint = ""
		l.out = append(l.out, t)
	}
	for n := len(l.out); n > 0 && l.out[n-1].is(kindSign, ";"); n-- {
		l.out = l.out[:n-1]
	}
	end := token.Pos(len(text))
	if n := len(l.out); n > 0 {
		end = l.out[n-1].end
	}
	return append(l.out, lexeme{kind: kindEnd, pos: end, end: end}), nil
}

func (t lexeme) is(k kind, text string) bool { return t.kind == k && t.text == text }

// blanks passes over blanks and comments, keeping a hint.
func (l *lexer) blanks() error {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(blanks, rest[0]) >= 0:
			l.at++
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.at += n
		case strings.HasPrefix(rest, "/*"):
			n := commentEnd(rest)
			if n < 0 {
				return l.fail(l.at, "unterminated /* comment")
			}
			if rest[2] == '@' {
				l.hint = rest[3 : n-2]
			}
			l.at += n
		default:
			return nil
		}
	}
	return nil
}

// commentEnd is the length of the comment, which may hold others, that text
// starts with; -1 if it does not end.
func commentEnd(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func (l *lexer) lexeme() (lexeme, error) {
	rest := l.text[l.at:]
	switch c := rest[0]; {
	case c == '"':
		return l.quotedName()
	case c == '\'':
		return l.string(false)
	case (c == 'e' || c == 'E') && len(rest) > 1 && rest[1] == '\'':
		l.at++
		return l.string(true)
	case c == '$' && len(rest) > 1 && isDigit(rest[1]):
		n := 1 + leading(rest[1:], isDigit)
		l.at += n
		return lexeme{kind: kindParam, text: rest[1:n]}, nil
	case c == '$':
		return l.dollarString()
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number()
	case isLetter(c):
		n := leading(rest, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '$' })
		l.at += n
		return lexeme{kind: kindName, text: fold(rest[:n])}, nil
	}
	return l.sign()
}

// fold is what an unquoted name means: PostgreSQL folds ASCII letters alone in
// a database of more than one byte to the character.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func leading(text string, is func(byte) bool) int {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}

func (l *lexer) quotedName() (lexeme, error) {
	name, n := doubled(l.text[l.at:])
	switch {
	case n < 0:
		return lexeme{}, l.fail(l.at, "unterminated quoted identifier")
	case name == "":
		return lexeme{}, l.fail(l.at, "zero-length delimited identifier")
	}
	l.at += n
	return lexeme{kind: kindQuoted, text: name}, nil
}

// doubled reads text in quotes that are doubled within it, and its length; -1
// if it does not end.
func doubled(text string) (string, int) {
	quote := text[:1]
	for i := 1; i < len(text); i++ {
		if text[i:i+1] != quote {
			continue
		}
		if strings.HasPrefix(text[i+1:], quote) {
			i++
			continue
		}
		return strings.ReplaceAll(text[1:i], quote+quote, quote), i + 1
	}
	return "", -1
}

func (l *lexer) string(escapes bool) (lexeme, error) {
	if escapes {
		return l.escapedString()
	}
	text, n := doubled(l.text[l.at:])
	if n < 0 {
		return lexeme{}, l.fail(l.at, "unterminated quoted string")
	}
	l.at += n
	return lexeme{kind: kindText, text: text}, nil
}

// dollarString reads $$text$$ and $tag$text$tag$.
func (l *lexer) dollarString() (lexeme, error) {
	rest := l.text[l.at:]
	n := 1 + leading(rest[1:], func(c byte) bool { return isLetter(c) || isDigit(c) })
	if n < len(rest) && rest[n] == '$' {
		tag := rest[:n+1]
		if text, _, ok := strings.Cut(rest[len(tag):], tag); ok {
			l.at += 2*len(tag) + len(text)
			return lexeme{kind: kindText, text: text}, nil
		}
		return lexeme{}, l.fail(l.at, "unterminated dollar-quoted string")
	}
	return lexeme{}, l.fail(l.at, `syntax error at or near "$"`)
}

func (l *lexer) number() (lexeme, error) {
	rest := l.text[l.at:]
	n := leading(rest, isDigit)
	k := kindInteger
	if n < len(rest) && rest[n] == '.' {
		k = kindDecimal
		n++
		n += leading(rest[n:], isDigit)
	}
	if m := exponent(rest[n:]); m > 0 {
		k = kindDecimal
		n += m
	}
	if n < len(rest) && isLetter(rest[n]) {
		return lexeme{}, l.fail(l.at, "trailing junk after numeric literal")
	}
	l.at += n
	return lexeme{kind: k, text: rest[:n]}, nil
}

// exponent is the length of the e+10 that text starts with, or 0.
func exponent(text string) int {
	if text == "" || text[0]|0x20 != 'e' {
		return 0
	}
	n := 1
	if n < len(text) && (text[n] == '+' || text[n] == '-') {
		n++
	}
	digits := leading(text[n:], isDigit)
	if digits == 0 {
		return 0
	}
	return n + digits
}

func (l *lexer) sign() (lexeme, error) {
	rest := l.text[l.at:]
	n := operatorLength(rest)
	switch {
	case n > 0:
	case strings.HasPrefix(rest, "::"):
		n = 2
	case strings.IndexByte("()[],.;:", rest[0]) >= 0:
		n = 1
	default:
		_, size := utf8.DecodeRuneInString(rest)
		return lexeme{}, l.fail(l.at, "syntax error at or near "+quoteForMessage(rest[:size]))
	}
	l.at += n
	return lexeme{kind: kindSign, text: rest[:n]}, nil
}

// operatorLength is the length of the operator that text starts with: as many
// characters of operators as come, but no comment, and no + or - at the end
// unless a character stands before that makes it no arithmetic.
func operatorLength(text string) int {
	n := leading(text, func(c byte) bool { return strings.IndexByte("+-*/<>=~!@#%^&|`?", c) >= 0 })
	for _, comment := range []string{"--", "/*"} {
		if i := strings.Index(text[:n], comment); i >= 0 {
			n = i
		}
	}
	for n > 1 && (text[n-1] == '+' || text[n-1] == '-') && !strings.ContainsAny(text[:n-1], "~!@#%^&|`?") {
		n--
	}
	return n
}

func (l *lexer) fail(at int, message string) error {
	return syntaxError(l.text, token.Pos(at), message)
}
