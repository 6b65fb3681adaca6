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

// Index declares a value that queries can use. The name consists of letters, digits and _. The names "id", "created" and "updated" are
// reserved for the columns that every collection has. Conditions can use these columns like indexes of kind Text, Int and Int (Unix
// milliseconds); of the three only id has a database index.
type Index[T any] struct {
	Name   string
	Unique bool // no two documents share a value; documents without a value do not collide
	Multi  bool // a document may have several values
	Kind   Kind // default: Text
	// Values computes a document's values: none or nil for no value, and more than one only for Multi. It depends on the document alone.
	// Values of named types (type Status string) are treated as their underlying type.
	Values func(*T) []any
	// Same reports whether Values returns equal results for two documents, at a lower cost. It may return false for equal results. Default:
	// the results are computed and compared.
	Same func(a, b *T) bool
	// Version must be increased when the result of Values changes: Open then fills the index again.
	Version int
}

// Names of the columns that every collection has, for conditions and Query.OrderBy.
const (
	ID      = "id"
	Created = "created"
	Updated = "updated"
)

// Long Text values: PostgreSQL limits the size of index entries. Of a value whose key is longer than maxKeyLength, only the beginning and a
// digest of the whole value are stored. Eq, In and uniqueness stay exact. Ranges, prefixes and orders use only the beginning; see Exact.
const (
	maxKeyLength = 1000
	headLength   = maxKeyLength - len(digestMark) - 43 // the digest is a SHA-256 in base64url
	// The function cut may remove up to utf8.UTFMax-1 bytes, so that the beginning ends between two characters.
	exactLength = headLength - utf8.UTFMax
	digestMark  = escape + "\x03" // does not occur in escaped text
)

// Exact reports whether Prefix, Gt, Ge, Lt and Le are exact for a string. For a string of more than about 950 bytes, these conditions also
// select documents whose values have the same beginning, so Not and DeleteWhere reject these conditions.
func Exact(text string) bool { return len(escaper.Replace(text)) <= exactLength }

// column is an index, or one of the columns that every collection has, without the type of the documents.
type column struct {
	name   string
	field  string // the SQL column, in the side table if one exists
	quoted string // field, quoted
	kind   Kind
	multi  bool
	side   string // the quoted side table of a Multi index
	raw    bool   // the column holds the text itself (id), not a key
}

var errInvalidUTF8 = errors.New("text is not valid UTF-8")

// operand returns the key for the value of a condition, or nil if no document can have this value.
func (c *column) operand(value any) (any, error) {
	key, err := c.key(value)
	if errors.Is(err, errInvalidUTF8) {
		return nil, nil
	}
	if text, ok := key.(string); ok && c.raw && strings.Contains(text, "\x00") {
		return nil, nil // no id contains NUL, and PostgreSQL rejects a query with NUL
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return key, nil
}

// key converts a value to its stored form: int64 or string. A nil value or pointer gives nil.
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
	key := textKey(text)
	if unchanged, ok := value.(string); ok && key == unchanged {
		return value, nil // without another allocation
	}
	return key, nil
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

// PostgreSQL's text cannot contain NUL. Escaping NUL and the escape character preserves the order of strings and their prefixes.
const escape = "\x01"

var escaper = strings.NewReplacer("\x00", escape+"\x01", escape, escape+"\x02")

func escaped(text string) string {
	if strings.IndexByte(text, 0) < 0 && strings.IndexByte(text, escape[0]) < 0 {
		return text // faster than the escaper
	}
	return escaper.Replace(text)
}

// textKey returns the stored form of a string.
func textKey(text string) string {
	key := escaped(text)
	if len(key) <= maxKeyLength {
		return key
	}
	sum := sha256.Sum256([]byte(text))
	return cut(key, headLength) + digestMark + base64.RawURLEncoding.EncodeToString(sum[:])
}

// cut truncates a string to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// keyRange returns the bounds of the keys of all strings that start with prefix: from is the first of them, and to is the first string
// after them, or "" if there is none.
func keyRange(prefix string) (from, to string) {
	from = cut(escaper.Replace(prefix), exactLength)
	return from, successor(from)
}

// successor returns the smallest valid UTF-8 string that is greater than all strings that start with s.
func successor(s string) string {
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		switch r {
		case utf8.MaxRune:
			continue
		case 0xD7FF: // U+D800 to U+DFFF are surrogates, which UTF-8 excludes
			r = 0xE000
		default:
			r++
		}
		return s + string(r)
	}
	return ""
}
