package checks

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

const (
	// maxNamedObjects is the maximum number of objects whose values a finding contains.
	maxNamedObjects = 5
	// maxNamedValue is the maximum length of such a value, in bytes.
	maxNamedValue = 120
)

// sentValues returns the values of attributes with which objects of the fixture were created, for the text of a finding:
// ` (created: ada with nickName "x", bob without nickName)`. It returns "" if no attribute belongs to the fixture.
func sentValues(t *T, attributes []string, labels ...string) string {
	var objects []string
	for _, label := range labels {
		o := t.Fixture[label]
		if o == nil {
			continue
		}
		var parts []string
		for _, attribute := range attributes {
			if text := sentValue(o.Sent, attribute); text != "" {
				parts = append(parts, "with "+attribute+" "+text)
			} else if fixtureHas(t, attribute) {
				parts = append(parts, "without "+attribute)
			}
		}
		if len(parts) > 0 {
			objects = append(objects, label+" "+strings.Join(parts, " and "))
		}
	}
	if len(objects) == 0 {
		return ""
	}
	if len(objects) > maxNamedObjects {
		objects = append(objects[:maxNamedObjects], "…")
	}
	return " (created: " + strings.Join(objects, ", ") + ")"
}

// sentValue returns the value of an attribute of a body as JSON, "" if the body does not have it.
func sentValue(sent doc, attribute string) string {
	for name, v := range sent {
		if !scim.EqualName(name, attribute) || v == nil {
			continue
		}
		data, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		if len(data) > maxNamedValue {
			return strings.ToValidUTF8(string(data[:maxNamedValue]), "") + "…"
		}
		return string(data)
	}
	return ""
}

// fixtureHas reports whether an object of the fixture was created with an attribute.
func fixtureHas(t *T, attribute string) bool {
	for _, o := range t.Fixture {
		if sentValue(o.Sent, attribute) != "" {
			return true
		}
	}
	return false
}

// filterAttributes returns the names in a filter that may be attributes, without those of other schemas than the core schema.
func filterAttributes(filter string) []string {
	var out []string
	for _, name := range filterName.FindAllString(filterURN.ReplaceAllString(filterText.ReplaceAllString(filter, ""), ""), -1) {
		if !slices.Contains(out, name) && name != "userName" {
			out = append(out, name)
		}
	}
	return out
}

// differing returns the words that only one of two lists contains.
func differing(a, b []string) []string {
	var out []string
	for _, w := range slices.Concat(a, b) {
		if slices.Contains(a, w) != slices.Contains(b, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
