package wirelog

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Redacted is the placeholder for a secret.
const Redacted = "[redacted]"

// secretHeaders carry credentials, in canonical spelling.
var secretHeaders = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "X-Auth-Token",
}

// schemes are the words that are not redacted at the start of an Authorization header.
var schemes = []string{"Bearer", "Basic", "Digest", "SSWS"}

// secretNames are the names of JSON members, form fields and query parameters that carry credentials, in lower case and
// without _ and -.
var secretNames = []string{
	"password", "passwd", "oldpassword", "newpassword", "currentpassword", "token", "accesstoken", "refreshtoken", "idtoken",
	"apitoken", "scimtoken", "secret", "clientsecret", "assertion", "clientassertion", "authorization", "apikey", "privatekey",
}

const longestSecretName = len("currentpassword")

// Secret reports whether an attribute of that name or path contains a credential, so that its value must not be shown.
func Secret(name string) bool { return secretName(name) }

func secretName(name string) bool {
	if i := strings.LastIndexAny(name, ":."); i >= 0 {
		name = name[i+1:] // the last name of an attribute path, without the schema URN
	}
	// Without allocations, because this function is called for the name of every member of every body.
	var plain [longestSecretName]byte
	n := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || c == '-':
			continue
		case c >= utf8.RuneSelf: // a character whose lower case may be an ASCII letter
			return slices.Contains(secretNames, unseparated.Replace(strings.ToLower(name)))
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		if n == len(plain) {
			return false
		}
		plain[n] = c
		n++
	}
	return slices.Contains(secretNames, string(plain[:n]))
}

// unseparated removes the word separators of a name.
var unseparated = strings.NewReplacer("_", "", "-", "")

// Exchange returns a copy of an exchange that another program or package has captured, without secrets. Secrets are those of the Redactor
// and values in places for credentials, such as the Authorization header or a member "password". Bodies are not truncated. An invalid URL
// is removed.
func (r *Redactor) Exchange(e Exchange) Exchange {
	if u, err := url.Parse(e.URL); err == nil {
		e.URL = r.url(u)
	} else {
		e.URL = ""
	}
	e.RequestBody = r.body([]byte(e.RequestBody), e.RequestHeader.Get("Content-Type"))
	e.ResponseBody = r.body([]byte(e.ResponseBody), e.ResponseHeader.Get("Content-Type"))
	e.RequestHeader, e.ResponseHeader = r.header(e.RequestHeader), r.header(e.ResponseHeader)
	e.Err = r.Text(e.Err)
	return e
}

func (r *Redactor) header(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		secret := slices.Contains(secretHeaders, http.CanonicalHeaderKey(name))
		kept := make([]string, len(values))
		for i, v := range values {
			if secret {
				kept[i] = credentials(v)
			} else {
				kept[i] = r.Text(v)
			}
		}
		out[name] = kept
	}
	return out
}

// credentials returns the value of a header with everything after the authentication scheme redacted. It redacts the whole value if the
// value has no known scheme.
func credentials(v string) string {
	scheme, _, _ := strings.Cut(v, " ")
	if slices.ContainsFunc(schemes, func(s string) bool { return strings.EqualFold(s, scheme) }) {
		return scheme + " " + Redacted
	}
	return Redacted
}

func (r *Redactor) url(u *url.URL) string {
	out := *u
	out.User = nil
	out.RawQuery = form(u.RawQuery)
	return r.Text(out.String())
}

// form redacts a query or form body and leaves all other bytes unchanged.
func form(s string) string {
	fields := strings.Split(s, "&")
	for i, field := range fields {
		name, _, found := strings.Cut(field, "=")
		if plain, err := url.QueryUnescape(name); found && err == nil && secretName(plain) {
			fields[i] = name + "=" + url.QueryEscape(Redacted)
		}
	}
	return strings.Join(fields, "&")
}

// body redacts everything that looks like JSON, also if it is truncated or embedded in something else.
func (r *Redactor) body(b []byte, contentType string) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	if t, _, _ := mime.ParseMediaType(contentType); t == "application/x-www-form-urlencoded" {
		return r.truncatedText(form(s))
	}
	out, secretPath := members(s, false)
	if secretPath {
		out, _ = members(s, true)
	}
	return r.truncatedText(out)
}

// members replaces the values of secret members. It processes the input token by token, so that spelling and order are preserved and
// truncated input is redacted up to its end. secretPath is true if a member "path" names a secret, as in a PATCH operation on a password.
// In that case the caller calls members again with the parameter values set: that call also replaces the value of every member "value".
func members(s string, values bool) (out string, secretPath bool) {
	var b strings.Builder
	copied := 0 // number of bytes of s that b contains or replaces
	for i := 0; i < len(s); {
		quote := strings.IndexByte(s[i:], '"')
		if quote < 0 {
			break
		}
		end := stringEnd(s, i+quote)
		token := s[i+quote : end]
		i = end
		colon := skipSpace(s, end)
		if colon == len(s) || s[colon] != ':' {
			continue
		}
		start := skipSpace(s, colon+1)
		i = start
		name := unquote(token)
		switch {
		case secretName(name) || values && strings.EqualFold(name, "value"):
			i = valueEnd(s, start)
			if v := s[start:i]; v != "null" && v != "true" && v != "false" && v != "" {
				b.WriteString(s[copied:start])
				b.WriteString(`"` + Redacted + `"`)
				copied = i
			}
		case strings.EqualFold(name, "path") && start < len(s) && s[start] == '"':
			path := strings.ToLower(unquote(s[start:stringEnd(s, start)]))
			secretPath = secretPath || secretName(path) ||
				strings.Contains(path, "password") || strings.Contains(path, "secret") || strings.Contains(path, "token")
		}
	}
	if copied == 0 {
		return s, secretPath
	}
	b.WriteString(s[copied:])
	return b.String(), secretPath
}

// stringEnd returns the offset after the JSON string that starts at i, or the end of the input if the string is not closed.
func stringEnd(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(s)
}

// valueEnd returns the offset after the JSON value that starts at i, or the end of the input if the value is truncated.
func valueEnd(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = stringEnd(s, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',':
			if depth == 0 {
				return i
			}
			i++
			continue
		case ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

func skipSpace(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
		i++
	}
	return i
}

// unquote decodes a JSON string, so that an escaped spelling of a name does not hide it.
func unquote(token string) string {
	if !strings.Contains(token, `\`) {
		return strings.Trim(token, `"`)
	}
	var name string
	if json.Unmarshal([]byte(token), &name) != nil {
		return strings.Trim(token, `"`)
	}
	return name
}

// cut truncates s to about limit bytes, between two characters, and appends cutMark.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + cutMark
}

// cutMark is appended to the text of a truncated body.
const cutMark = "… [cut]"
