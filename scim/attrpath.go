package scim

import (
	"fmt"
	"strings"
)

// AttrPath is the name of an attribute or sub-attribute in attribute notation (RFC 7644 section 3.10): [URN ":"] Name ["." Sub]. Name is
// empty if the path is the URN of an extension. The grammar does not allow such a path, but many clients send it.
type AttrPath struct {
	URN, Name, Sub string
}

// ParseAttrPath splits s at its last colon into URN and name, and the name at its dot. Names follow the ATTRNAME rule of RFC 7643 section
// 2.1 and may also be "$ref", which that rule omits. If the part after the last colon of a URN is not a valid name, as in
// "urn:example:2.0", the whole path names an extension.
//
// A bare URN whose last part is a valid name is parsed as URN and Name. The dot in "2.0" never separates a name from a sub-attribute.
// Whether the last part of a URN is a name can be decided only with the schemas; schema.ResourceType.Resolve does so.
func ParseAttrPath(s string) (AttrPath, error) {
	var p AttrPath
	name := s
	colon := strings.LastIndexByte(s, ':')
	if colon >= 0 {
		p.URN, name = s[:colon], s[colon+1:]
		if !validURI(p.URN) {
			return AttrPath{}, fmt.Errorf("%q is not a schema URN", p.URN)
		}
	}
	var dotted bool
	p.Name, p.Sub, dotted = strings.Cut(name, ".")
	if validName(p.Name) && (!dotted || validName(p.Sub)) {
		return p, nil
	}
	if colon >= 0 && name != "" && validURI(s) {
		return AttrPath{URN: s}, nil
	}
	return AttrPath{}, fmt.Errorf("%q is not an attribute name", name)
}

// String returns the path in attribute notation.
func (p AttrPath) String() string {
	s := p.Name
	if p.Sub != "" {
		s += "." + p.Sub
	}
	switch {
	case p.URN == "":
		return s
	case s == "":
		return p.URN
	}
	return p.URN + ":" + s
}

// IsZero reports whether the path is empty.
func (p AttrPath) IsZero() bool { return p == AttrPath{} }

// Equal reports whether two paths are equal, ignoring case.
func (p AttrPath) Equal(q AttrPath) bool {
	return EqualName(p.Name, q.Name) && EqualName(p.Sub, q.Sub) && EqualName(p.URN, q.URN)
}

func validName(s string) bool {
	if EqualName(s, "$ref") {
		return true
	}
	if s == "" || !isAlpha(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; !isAlpha(c) && (c < '0' || c > '9') && c != '-' && c != '_' && c != '$' {
			return false
		}
	}
	return true
}

// validURI reports whether s has a scheme and contains only characters of RFC 3986 that no other part of the filter grammar uses.
func validURI(s string) bool {
	if s == "" || !isAlpha(s[0]) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !isAlpha(c) && (c < '0' || c > '9') && strings.IndexByte("-._~:/?#@!$&*+;=%", c) < 0 {
			return false
		}
	}
	return true
}

func isAlpha(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }
