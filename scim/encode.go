package scim

import (
	"encoding/json"
	"unicode/utf8"
)

// AppendJSON appends the JSON encoding of the object to dst, with the members in order. The output equals that of MarshalJSON. A call of
// json.Marshal is slower, because it validates and copies the output of MarshalJSON.
func (o *Object) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if o != nil {
		for i, m := range o.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, m.Name)
			dst = append(dst, ':')
			dst = AppendValue(dst, m.Value)
		}
	}
	return append(dst, '}')
}

// AppendValue appends the JSON encoding of a stored value (see [Object]) to dst.
func AppendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case string:
		return appendString(dst, v)
	case json.Number:
		return append(dst, v...)
	case *Object:
		return v.AppendJSON(dst)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, e)
		}
		return append(dst, ']')
	default: // only nil is left, because Object stores no other kinds of values
		return append(dst, "null"...)
	}
}

const hexDigits = "0123456789abcdef"

// AppendString appends the JSON encoding of a string to dst. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte { return appendString(dst, s) }

// appendString writes a JSON string. Invalid UTF-8, which Set accepts, becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[from:i]...)
				dst = append(dst, "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
		}
		i++
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
