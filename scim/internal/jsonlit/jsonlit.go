// Package jsonlit reads the two JSON literals with a nontrivial grammar, strings and numbers (RFC 8259 sections 6 and 7). The JSON decoder
// and the filter grammar share it, so that both accept the same literals. It is not a JSON parser.
package jsonlit

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Error is a literal that violates the grammar. Pos is a byte offset in the input.
type Error struct {
	Pos int
	Msg string
}

// String reads the string literal that starts with the quote at s[pos]. It returns the value and the offset after the closing quote. The
// value shares memory with s if the literal has no escapes. s must be valid UTF-8.
func String(s string, pos int) (value string, end int, err *Error) {
	start := pos + 1
	for i := start; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[start:i], i + 1, nil
		case c == '\\':
			return escaped(s, start, i)
		case c < 0x20:
			return "", 0, &Error{i, "control character in a string"}
		}
	}
	return "", 0, &Error{len(s), "the string has no closing quote"}
}

// escaped continues String from the first backslash on, at s[i].
func escaped(s string, start, i int) (string, int, *Error) {
	var b strings.Builder
	b.WriteString(s[start:i])
	for i < len(s) {
		c := s[i]
		switch {
		case c == '"':
			return b.String(), i + 1, nil
		case c < 0x20:
			return "", 0, &Error{i, "control character in a string"}
		case c != '\\':
			from := i
			for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= 0x20 {
				i++
			}
			b.WriteString(s[from:i])
			continue
		}
		if i+1 >= len(s) {
			break
		}
		switch e := s[i+1]; e {
		case '"', '\\', '/':
			b.WriteByte(e)
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, n, ok := unicodeEscape(s[i:])
			if !ok {
				return "", 0, &Error{i, `bad \u escape in a string`}
			}
			b.WriteRune(r)
			i += n
			continue
		default:
			return "", 0, &Error{i, "unknown escape in a string"}
		}
		i += 2
	}
	return "", 0, &Error{len(s), "the string has no closing quote"}
}

// unicodeEscape reads \uXXXX, or two of them for a surrogate pair. It rejects half a pair, which is not a character.
func unicodeEscape(s string) (r rune, n int, ok bool) {
	r, ok = hex4(s)
	if !ok {
		return 0, 0, false
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, true
	}
	low, ok := hex4(s[6:])
	if !ok {
		return 0, 0, false
	}
	r = utf16.DecodeRune(r, low)
	return r, 12, r != utf8.RuneError
}

func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Number reads the number literal that starts at s[pos] and returns the offset after it.
func Number(s string, pos int) (end int, err *Error) {
	i := pos
	if i < len(s) && s[i] == '-' {
		i++
	}
	switch {
	case i < len(s) && s[i] == '0':
		i++
	case i < len(s) && digit(s[i]):
		i = digits(s, i)
	default:
		return 0, &Error{i, "bad number"}
	}
	if i < len(s) && s[i] == '.' {
		end := digits(s, i+1)
		if end == i+1 {
			return 0, &Error{end, "bad number"}
		}
		i = end
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		end := digits(s, i)
		if end == i {
			return 0, &Error{end, "bad number"}
		}
		i = end
	}
	return i, nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func digits(s string, i int) int {
	for i < len(s) && digit(s[i]) {
		i++
	}
	return i
}
