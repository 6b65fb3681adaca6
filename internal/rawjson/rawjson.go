// Package rawjson finds values in JSON text that was valid when it was stored, without decoding or checking it. On other text the results
// are meaningless, but no function panics or reads outside of the text.
package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Members iterates over the members of an object. Use it as
//
//	for m := rawjson.Object(text); m.Next(); {
//	}
type Members struct {
	// Name is the name of the current member, between its quotes, with its escapes.
	Name []byte
	// Value is the text of its value.
	Value []byte
	// Begin and End are the offsets of the member, from the quote of its name to the end of its value.
	Begin, End int

	text []byte
	pos  int // of the next member, or negative after the end
	ok   bool
}

// Object returns the members of the object in text.
func Object(text []byte) Members {
	m := Members{text: text, pos: -1}
	if i := space(text, 0); i < len(text) && text[i] == '{' {
		m.pos = space(text, i+1)
		m.ok = at(text, m.pos) == '}'
	}
	return m
}

// Next moves to the next member. It returns false at the end of the object and at text that is not JSON.
func (m *Members) Next() bool {
	if m.pos < 0 || at(m.text, m.pos) != '"' {
		return false
	}
	m.ok = false
	name := stringEnd(m.text, m.pos)
	if name < 0 {
		return m.fail()
	}
	colon := space(m.text, name)
	if at(m.text, colon) != ':' {
		return m.fail()
	}
	value := space(m.text, colon+1)
	end := End(m.text, value)
	if end < 0 {
		return m.fail()
	}
	m.Begin, m.End, m.Name, m.Value = m.pos, end, m.text[m.pos+1:name-1], m.text[value:end]
	switch next := space(m.text, end); at(m.text, next) {
	case ',':
		m.pos = space(m.text, next+1)
	case '}':
		m.pos, m.ok = -1, true
	default:
		m.pos = -1
	}
	return true
}

func (m *Members) fail() bool {
	m.pos = -1
	return false
}

// Complete reports, after Next returned false, whether the end of the object was reached.
func (m *Members) Complete() bool { return m.ok }

// End returns the offset after the value that starts at text[pos], or a negative number if the value is missing or incomplete.
func End(text []byte, pos int) int {
	switch at(text, pos) {
	case 0:
		return -1
	case '"':
		return stringEnd(text, pos)
	case '{', '[':
		return containerEnd(text, pos)
	}
	for end := pos; end < len(text); end++ {
		switch text[end] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			if end == pos {
				return -1
			}
			return end
		}
	}
	return len(text)
}

// nearby is the length up to which a string is searched in words, which is faster than a call for short strings.
const nearby = 32

// Words of eight equal bytes.
const (
	lows        = 0x0101010101010101
	highs       = 0x8080808080808080
	quotes      = lows * '"'
	backslashes = lows * '\\'
)

// zeros has the high bit of each byte of x that is zero. Bits above the lowest one that is set are not exact.
func zeros(x uint64) uint64 { return (x - lows) &^ x & highs }

// stringEnd returns the offset after the string that starts with the quote at text[pos], or a negative number if its end is missing.
func stringEnd(text []byte, pos int) int {
	i := pos + 1
	for near := min(pos+nearby, len(text)-8); i <= near; i += 8 {
		word := binary.LittleEndian.Uint64(text[i:])
		if found := zeros(word^quotes) | zeros(word^backslashes); found != 0 {
			if i += bits.TrailingZeros64(found) / 8; text[i] == '"' {
				return i + 1
			}
			break
		}
	}
	// A quote ends the string unless an odd number of backslashes precedes it, so that the characters before it need no inspection.
	for ; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		back := i
		for back > pos+1 && text[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return i + 1
		}
	}
	return -1
}

// containerEnd returns the offset after the object or array that starts at text[pos], or a negative number if its end is missing.
func containerEnd(text []byte, pos int) int {
	depth := 0
	for i := pos; i < len(text); i++ {
		switch text[i] {
		case '"':
			end := stringEnd(text, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func space(text []byte, pos int) int {
	for pos < len(text) {
		switch text[pos] {
		case ' ', '\t', '\n', '\r':
			pos++
		default:
			return pos
		}
	}
	return pos
}

// at returns the byte at the offset, or 0 after the end.
func at(text []byte, pos int) byte {
	if pos < len(text) {
		return text[pos]
	}
	return 0
}

// Plain returns the contents of a string without escapes, given with its quotes. For other values it returns false.
func Plain(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// CutLast splits the text of an object before its last member, if that has the name and a string as its value: {"a":1,"name":"x"} is cut
// to {"a":1 and "x". The text must not contain white space outside of strings. CutLast reads the text from its end, and only that member: a
// quote inside of a string always follows a backslash.
func CutLast(text []byte, name string) (before, value []byte, ok bool) {
	end := len(text)
	if end < 2 || text[end-1] != '"' {
		return nil, nil, false
	}
	for begin := end - 2; begin >= 0; begin-- {
		if begin = bytes.LastIndexByte(text[:begin+1], '"'); begin < 0 {
			break
		}
		if begin > 0 && text[begin-1] == '\\' {
			continue // part of the string: the opening quote follows a colon
		}
		key := begin - len(name) - len(`,"":`)
		if key < 0 || text[key] != ',' || text[key+1] != '"' || string(text[key+2:begin-2]) != name || text[begin-2] != '"' ||
			text[begin-1] != ':' {
			return nil, nil, false
		}
		return text[:key], text[begin:end], true
	}
	return nil, nil, false
}
