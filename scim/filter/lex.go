package filter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/internal/jsonlit"
)

// lexer splits the input into words (paths, operators, keywords), JSON literals and the four brackets. It works by position and has no
// token type: the grammar determines which token may follow.
type lexer struct {
	s    string
	pos  int
	kind scim.Type // the scimType of errors
	what string    // "filter" or "path", for error messages
}

// fail returns the error at the byte offset. The message counts characters from 1.
func (l *lexer) fail(at int, format string, args ...any) error {
	column := utf8.RuneCountInString(l.s[:min(at, len(l.s))]) + 1
	return scim.Errorf(http.StatusBadRequest, l.kind, "%s, at character %d of the %s",
		fmt.Sprintf(format, args...), column, l.what)
}

func (l *lexer) space() {
	for l.pos < len(l.s) && l.s[l.pos] == ' ' {
		l.pos++
	}
}

// peek returns the next byte, 0 at the end.
func (l *lexer) peek() byte {
	if l.pos < len(l.s) {
		return l.s[l.pos]
	}
	return 0
}

// take consumes the next byte and returns true if it is c.
func (l *lexer) take(c byte) bool {
	if l.peek() != c || l.pos >= len(l.s) {
		return false
	}
	l.pos++
	return true
}

// word reads up to the next space, bracket or quote; it may be empty.
func (l *lexer) word() string {
	rest := l.s[l.pos:]
	n := strings.IndexAny(rest, " ()[]\"")
	if n < 0 {
		n = len(rest)
	}
	l.pos += n
	return rest[:n]
}

// keyword consumes the word if it is next, ignoring case.
func (l *lexer) keyword(w string) bool {
	start := l.pos
	if scim.EqualName(l.word(), w) {
		return true
	}
	l.pos = start
	return false
}

// found describes the input at the position, for errors.
func (l *lexer) found() string {
	if l.pos >= len(l.s) {
		return "the end"
	}
	start := l.pos
	w := l.word()
	l.pos = start
	if w == "" {
		return fmt.Sprintf("%q", l.s[start:start+1])
	}
	return fmt.Sprintf("%q", w)
}

// literal reads a comparison value: a JSON string, number, true, false or null. If bare is set, it also accepts a word without quotes.
func (l *lexer) literal(bare bool) (any, error) {
	start := l.pos
	if l.peek() == '"' {
		v, end, err := jsonlit.String(l.s, start)
		if err != nil {
			return nil, l.fail(err.Pos, "%s", err.Msg)
		}
		if strings.IndexByte(v, 0) >= 0 {
			return nil, l.fail(start, "a string must not contain U+0000")
		}
		l.pos = end
		return v, l.boundary()
	}
	w := l.word()
	switch w {
	case "":
		return nil, l.fail(start, "a value is expected, not %s", l.found())
	case "true":
		return true, l.boundary()
	case "false":
		return false, l.boundary()
	case "null":
		return nil, l.boundary()
	}
	if end, err := jsonlit.Number(w, 0); err == nil && end == len(w) {
		return json.Number(w), l.boundary()
	}
	if bare && strings.IndexFunc(w, unicode.IsControl) < 0 {
		return w, l.boundary()
	}
	return nil, l.fail(start, "%q is not a JSON value; write strings in double quotes", w)
}

// boundary returns an error unless the value just read is followed by a space, a bracket or the end of the input.
func (l *lexer) boundary() error {
	switch c := l.peek(); {
	case l.pos >= len(l.s), c == ' ', c == ')', c == ']':
		return nil
	}
	return l.fail(l.pos, "a space is expected after the value, not %s", l.found())
}
