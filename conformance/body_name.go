package conformance

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// The forms in which a member occurs in a body that is not valid JSON: "name":"value", 'name':'value', name=value as in an HTML form, and
// <name>value</name>. The expressions are anchored and have no alternatives with a common prefix, so that a match takes one pass (bodies
// may be megabytes).
var (
	quotedForm = regexp.MustCompile(`^["'](\w+)["']\s*:\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)')`)
	queryForm  = regexp.MustCompile(`^(\w+)=([^&]*)`)
	xmlForm    = regexp.MustCompile(`^<(\w+)>([^<]*)</`)
)

// nameOf returns the string value of an attribute of a document. The name is case-insensitive.
func nameOf(doc Doc, attribute string) string {
	for key, value := range doc {
		if name, ok := value.(string); ok && strings.EqualFold(key, attribute) {
			return name
		}
	}
	return ""
}

// nameIn returns the string value of an attribute in any body that a check may send: a Doc, bytes or a value that can be marshaled. In a
// malformed body it returns the value of the first member of that name, because the target may store this value.
func nameIn(body any, attribute string) string {
	if doc, ok := body.(Doc); ok {
		return nameOf(doc, attribute)
	}
	text, ok := body.([]byte)
	if !ok {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return ""
		}
	}
	if !bytes.Contains(bytes.ToLower(text), []byte(strings.ToLower(attribute))) {
		return ""
	}
	for at := 0; at < len(text); {
		m := memberAt(text, at)
		if m.name == nil {
			next := bytes.IndexAny(text[at+1:], `"'&<`)
			if next < 0 {
				return ""
			}
			at += 1 + next
			continue
		}
		if name, ok := m.named(attribute); ok {
			return name
		}
		at += m.size
	}
	return ""
}

// member is a member of a body. Exactly one of the fields quoted, single, query and text contains its value, depending on the form of the
// member.
type member struct {
	name                        []byte
	quoted, single, query, text []byte
	size                        int // of the whole match
}

// memberAt returns the member that starts at an offset of a text. Its name is nil if no member starts there.
func memberAt(text []byte, at int) member {
	rest, before := text[at:], 0
	switch rest[0] {
	case '"', '\'':
		if m := quotedForm.FindSubmatch(rest); m != nil {
			return member{name: m[1], quoted: m[2], single: m[3], size: len(m[0])}
		}
		return member{}
	case '<':
		if m := xmlForm.FindSubmatch(rest); m != nil {
			return member{name: m[1], text: m[2], size: len(m[0])}
		}
		return member{}
	case '&':
		before = 1
	}
	if m := queryForm.FindSubmatch(rest[before:]); m != nil && (before == 1 || at == 0) {
		return member{name: m[1], query: m[2], size: before + len(m[0])}
	}
	return member{}
}

// named returns the value of the member if it has the given name. ok is false if the member has another name or its value cannot be
// decoded.
func (m member) named(attribute string) (name string, ok bool) {
	if !strings.EqualFold(string(m.name), attribute) {
		return "", false
	}
	var err error
	switch name = string(m.single) + string(m.text); {
	case len(m.quoted) > 0:
		err = json.Unmarshal(m.quoted, &name)
	case m.query != nil:
		name, err = url.QueryUnescape(string(m.query))
	}
	return name, err == nil
}
