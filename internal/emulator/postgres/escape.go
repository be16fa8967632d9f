package postgres

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escapedString reads the quoted part of E'...'.
func (l *lexer) escapedString() (lexeme, error) {
	var out strings.Builder
	for i := l.at + 1; i < len(l.text); {
		switch c := l.text[i]; {
		case c == '\'' && strings.HasPrefix(l.text[i+1:], "'"):
			out.WriteByte('\'')
			i += 2
		case c == '\'':
			l.at = i + 1
			if !utf8.ValidString(out.String()) {
				return lexeme{}, l.fail(l.at, "invalid byte sequence for encoding \"UTF8\"")
			}
			return lexeme{kind: kindText, text: out.String()}, nil
		case c == '\\':
			n := escape(&out, l.text[i+1:])
			if n < 0 {
				return lexeme{}, l.fail(i, "invalid escape in string")
			}
			i += 1 + n
		default:
			out.WriteByte(c)
			i++
		}
	}
	return lexeme{}, l.fail(l.at, "unterminated quoted string")
}

// escape writes what the text after a backslash stands for and returns its
// length; -1 if it stands for nothing.
func escape(out *strings.Builder, text string) int {
	if text == "" {
		return -1
	}
	switch c := text[0]; c {
	case 'b', 'f', 'n', 'r', 't':
		out.WriteByte(map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c])
		return 1
	case 'x':
		return escapedCode(out, text[1:], 1, 2, 16, 1)
	case 'u':
		if n := surrogatePair(out, text); n > 0 {
			return n
		}
		return escapedCode(out, text[1:], 4, 4, 16, 1)
	case 'U':
		return escapedCode(out, text[1:], 8, 8, 16, 1)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return escapedCode(out, text, 1, 3, 8, 0)
	}
	_, n := utf8.DecodeRuneInString(text)
	out.WriteString(text[:n])
	return n
}

// surrogatePair writes the character that a \uD83D\uDE00 stands for, the
// text being behind its first backslash, and returns its length; 0 if it is
// none.
func surrogatePair(out *strings.Builder, text string) int {
	const length = len(`uD83D\uDE00`)
	if len(text) < length || text[5:7] != `\u` {
		return 0
	}
	high, err := strconv.ParseUint(text[1:5], 16, 32)
	low, err2 := strconv.ParseUint(text[7:length], 16, 32)
	r := utf16.DecodeRune(rune(high), rune(low))
	if err != nil || err2 != nil || r == utf8.RuneError {
		return 0
	}
	out.WriteRune(r)
	return length
}

// escapedCode writes the byte or, for four digits and more, the character that
// min to max digits name. The length includes skipped bytes before the digits.
func escapedCode(out *strings.Builder, text string, minDigits, maxDigits, base, skipped int) int {
	n := 0
	for n < len(text) && n < maxDigits {
		if _, err := strconv.ParseUint(text[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	code, err := strconv.ParseUint(text[:n], base, 32)
	if n < minDigits || err != nil || code == 0 {
		return -1
	}
	if minDigits >= 4 {
		if !utf8.ValidRune(rune(code)) {
			return -1
		}
		out.WriteRune(rune(code))
	} else {
		out.WriteByte(byte(code))
	}
	return skipped + n
}
