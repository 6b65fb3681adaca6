package rest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	textNUL     = "The value must not contain U+0000"
	textUTF8    = "The parameter must be valid UTF-8"
	textNULName = "The name must not contain U+0000"
)

// hasNUL reports whether a string or a member name in a JSON value contains U+0000.
func hasNUL(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.IndexByte(v, 0) >= 0
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	case map[string]any:
		for name, member := range v {
			if hasNUL(name) || hasNUL(member) {
				return true
			}
		}
	}
	return false
}

// addNUL records each place in a JSON value that contains U+0000.
func (c *Causes) addNUL(path string, value any) {
	switch v := value.(type) {
	case string:
		if hasNUL(v) {
			c.Add(path, "%s", textNUL)
		}
	case []any:
		for i, element := range v {
			c.addNUL(fmt.Sprintf("%s[%d]", path, i), element)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := name
			if hasNUL(name) {
				at = strconv.Quote(name)
			}
			if path != "" {
				at = path + "." + at
			}
			if hasNUL(name) {
				c.Add(at, "%s", textNULName)
			}
			c.addNUL(at, v[name])
		}
	}
}

// checkVariables rejects U+0000 and invalid UTF-8 in the variables of a path; see Options.TextPaths.
func checkVariables(vars map[string]string) error {
	var causes Causes
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		switch {
		case hasNUL(vars[name]):
			causes.Add(name, "%s", textNUL)
		case !utf8.ValidString(vars[name]):
			causes.Add(name, "%s", textUTF8)
		}
	}
	return causes.Err()
}

// checkParameters rejects U+0000 and invalid UTF-8 in the parameters of a query or a form, including unknown ones.
func checkParameters(values url.Values) error {
	var causes Causes
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case hasNUL(name):
			causes.Add(strconv.Quote(name), "%s", textNULName)
		case slices.ContainsFunc(values[name], func(value string) bool { return hasNUL(value) }):
			causes.Add(name, "%s", textNUL)
		case !utf8.ValidString(name), slices.ContainsFunc(values[name], func(value string) bool { return !utf8.ValidString(value) }):
			causes.Add(strings.ToValidUTF8(name, "?"), "%s", textUTF8)
		}
	}
	return causes.Err()
}
