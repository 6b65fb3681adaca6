package docstore

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is the type of an index's values.
type Kind int

const (
	// Text values are strings, ordered byte by byte.
	Text Kind = iota
	// Int values are integers, booleans (0 and 1) and time.Time (Unix milliseconds).
	Int
)

// Index declares what a query can ask for. The name is made of letters, digits and _; "id", "created" and "updated" are taken
// by the columns that every collection has and that conditions can use like indexes of kind Text, Int and Int (Unix
// milliseconds); of these only id has a database index.
type Index[T any] struct {
	Name   string
	Unique bool // no two documents share a value; documents without a value do not collide
	Multi  bool // a document may have several values
	Kind   Kind // Defaults to Text
	// Values computes a document's values: none or nil for «no value», and more than one only for Multi. It depends on the
	// document alone. Values of named types (type Status string) are taken for what they are made of.
	Values func(*T) []any
	// Version is raised when Values computes something else than before: Open then fills the index anew.
	Version int
}

// Names of the columns that every collection has, for conditions and Query.OrderBy.
const (
	ID      = "id"
	Created = "created"
	Updated = "updated"
)

// Long Text values: PostgreSQL limits what fits into an index, so of a value whose key is longer than maxKeyLength only the
// beginning is stored, with a digest of the whole. Eq, In and uniqueness stay exact. Ranges, prefixes and orders know only the
// beginning; see Exact.
const (
	maxKeyLength = 1000
	headLength   = maxKeyLength - len(digestMark) - 43 // the digest is a SHA-256 in base64url
	exactLength  = headLength - utf8.UTFMax            // a head is cut between characters
	digestMark   = escape + "\x03"                     // occurs in no escaped text
)

// Exact says whether Prefix, Gt, Ge, Lt and Le are exact for a text. For one of more than about 950 bytes they also let
// documents through whose values begin alike, so Not and DeleteWhere refuse them.
func Exact(text string) bool { return len(escaper.Replace(text)) <= exactLength }

// column is an index, or one of the columns that every collection has, without the type of the documents.
type column struct {
	name   string
	field  string // the SQL column, in the side table if there is one
	quoted string // field, quoted
	kind   Kind
	multi  bool
	side   string // the quoted side table of a Multi index
	raw    bool   // the column holds the text itself (id), not a key
}

var errInvalidUTF8 = errors.New("text is not valid UTF-8")

// wanted is the key that a condition asks for, nil when no document can have it.
func (c *column) wanted(value any) (any, error) {
	key, err := c.key(value)
	if errors.Is(err, errInvalidUTF8) {
		return nil, nil
	}
	if text, ok := key.(string); ok && c.raw && strings.Contains(text, "\x00") {
		return nil, nil // PostgreSQL refuses to be asked
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return key, nil
}

// key converts a value to what is stored in the index: int64 or string. Nil pointers and nil give nil.
func (c *column) key(value any) (any, error) {
	if c.kind == Int {
		return intKey(value)
	}
	text, ok, err := textValue(value)
	if err != nil || !ok {
		return nil, err
	}
	if c.raw {
		return text, nil
	}
	return textKey(text), nil
}

func intKey(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case time.Time:
		return v.UnixMilli(), nil
	}
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		return intKey(v.Elem().Interface())
	}
	switch {
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), nil
	case v.Kind() == reflect.Bool && v.Bool():
		return int64(1), nil
	case v.Kind() == reflect.Bool:
		return int64(0), nil
	}
	return nil, fmt.Errorf("%T is not a value of an Int index", value)
}

func textValue(value any) (text string, ok bool, err error) {
	text, isString := value.(string)
	if !isString {
		v := reflect.ValueOf(value)
		if value == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return "", false, nil
		}
		if v = reflect.Indirect(v); v.Kind() != reflect.String {
			return "", false, fmt.Errorf("%T is not a value of a Text index", value)
		}
		text = v.String()
	}
	if !utf8.ValidString(text) {
		return "", false, errInvalidUTF8
	}
	return text, true, nil
}

// PostgreSQL's text cannot hold NUL. Escaping it, and the escape character, keeps the order of texts and their prefixes.
const escape = "\x01"

var escaper = strings.NewReplacer("\x00", escape+"\x01", escape, escape+"\x02")

// textKey is what is stored for a text.
func textKey(text string) string {
	key := escaper.Replace(text)
	if len(key) <= maxKeyLength {
		return key
	}
	sum := sha256.Sum256([]byte(text))
	return cut(key, headLength) + digestMark + base64.RawURLEncoding.EncodeToString(sum[:])
}

// cut shortens a text to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// keyRange returns the bounds of the keys of all texts that begin with prefix: from is the first of them, and to the first
// text behind them, "" when there is none.
func keyRange(prefix string) (from, to string) {
	from = cut(escaper.Replace(prefix), exactLength)
	return from, successor(from)
}

// successor is the smallest valid UTF-8 text that is greater than all texts that begin with s.
func successor(s string) string {
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		switch r {
		case utf8.MaxRune:
			continue
		case 0xD7FF: // the surrogates follow, which UTF-8 leaves out
			r = 0xE000
		default:
			r++
		}
		return s + string(r)
	}
	return ""
}
