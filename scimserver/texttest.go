package scimserver

import (
	"bytes"
	"strings"

	"github.com/scimwright/scimwright/internal/rawjson"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// member is a member of the stored text of a resource that a scan reads.
type member struct {
	name string
	// tests are false for a resource that does not match the filter. A resource without the member matches only if there are none.
	tests []textTest
}

// textTest compares the stored text of a string with the operand of eq, co, sw or ew, both in ASCII. It is a comparison that the filter
// joins to the rest by "and", so that a resource that fails need not be decoded.
type textTest struct {
	op      filter.Op
	operand []byte // in lower case, unless exact is true
	exact   bool
}

// textTestOf returns the test of a comparison, and the name of the member that it reads. ok is false if the values of the attribute or the
// operand are not compared by their bytes.
func textTestOf(e filter.Compare, t *resourceType) (name string, test textTest, ok bool) {
	r, a, operand := textOperand(e, t)
	if a == nil || r.Extension || r.Sub != nil || a.MultiValued || a.Secret() {
		return "", textTest{}, false
	}
	return a.Name, textTest{e.Op, []byte(operand), a.CaseExact}, ascii([]byte(operand))
}

// textOperand returns the attribute that a comparison of strings reads, and the operand, folded unless the attribute is caseExact. The
// attribute is nil if the comparison is not eq, co, sw or ew of a string.
func textOperand(e filter.Compare, t *resourceType) (r schema.Resolved, a *schema.Attribute, operand string) {
	operand, isText := e.Value.(string)
	r, found := t.Resolve(e.Path)
	a = r.Attribute
	if r.Sub != nil {
		a = r.Sub
	}
	if !isText || !found || a == nil || a.Type != schema.String || e.Op != filter.Eq && !e.Op.Textual() {
		return r, nil, ""
	}
	if !a.CaseExact {
		operand = filter.Fold(operand)
	}
	return r, a, operand
}

// eachJoined calls a function for each comparison that the filter joins to the rest by "and".
func eachJoined(f filter.Expr, visit func(filter.Compare)) {
	filter.Walk(f, func(e filter.Expr) bool {
		if e, ok := e.(filter.Compare); ok {
			visit(e)
		}
		_, joined := e.(filter.And)
		return joined
	})
}

// minContained is the length of the shortest string for which the search of the store pays.
const minContained = 3

// containedText returns the longest string that the stored text of a matching resource contains if it is in ASCII: the operand of a
// comparison that the filter joins to the rest by "and". It returns "" if there is none that would exclude many resources.
func containedText(f filter.Expr, t *resourceType) (longest string) {
	eachJoined(f, func(e filter.Compare) {
		if text := contained(e, t); len(text) > max(len(longest), minContained-1) {
			longest = text
		}
	})
	return longest
}

// contained returns a string in ASCII that is in the stored text of each resource in ASCII that matches a comparison, in any case of
// letters.
func contained(e filter.Compare, t *resourceType) string {
	_, a, text := textOperand(e, t)
	if a == nil {
		return ""
	}
	for _, c := range []byte(text) {
		if c < ' ' || c >= 0x7f || strings.IndexByte(`"\/<>&`, c) >= 0 { // other than ASCII, or possibly stored with an escape
			return ""
		}
	}
	if e.Op == filter.Eq || e.Op == filter.Sw {
		text = `"` + text
	}
	if e.Op == filter.Eq || e.Op == filter.Ew {
		text += `"`
	}
	return text
}

// fails reports whether a stored value is certainly different. Values with escapes or other letters than ASCII must be decoded.
func (t *textTest) fails(value []byte) bool {
	text, ok := rawjson.Plain(value)
	if !ok || !ascii(text) {
		return false
	}
	n := len(text) - len(t.operand)
	if n < 0 || n > 0 && t.op == filter.Eq {
		return true
	}
	switch t.op {
	case filter.Co:
		for i := range n + 1 {
			if t.equal(text[i : i+len(t.operand)]) {
				return false
			}
		}
		return true
	case filter.Ew:
		text = text[n:]
	default:
		text = text[:len(t.operand)]
	}
	return !t.equal(text)
}

// equal compares a text with the length of the operand.
func (t *textTest) equal(text []byte) bool {
	if t.exact {
		return bytes.Equal(text, t.operand)
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != t.operand[i] {
			return false
		}
	}
	return true
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// appendMembers appends an object with the given members of an object. ok is false if one of their tests fails; the result is then
// incomplete.
func appendMembers(dst, object []byte, members []member) (result []byte, ok bool) {
	dst = append(dst, '{')
	missing := len(members)
	var seen uint64 // the first members that were found
	for m := rawjson.Object(object); missing > 0 && m.Next(); {
		for i := range members {
			if len(members[i].name) != len(m.Name) || !scim.EqualName(string(m.Name), members[i].name) {
				continue
			}
			for k := range members[i].tests {
				if members[i].tests[k].fails(m.Value) {
					return dst, false
				}
			}
			if len(dst) > 1 {
				dst = append(dst, ',')
			}
			dst = append(dst, object[m.Begin:m.End]...)
			missing--
			seen |= 1 << i
			break
		}
	}
	for i := range members {
		if i < 64 && seen&(1<<i) == 0 && len(members[i].tests) > 0 {
			return dst, false
		}
	}
	return append(dst, '}'), true
}
