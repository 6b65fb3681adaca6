package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A difference is a place where an object does not match an expectation.
type difference struct {
	path      string
	want, got any
}

// differences compares an object with an expectation by the rules of [Expectation].
func differences(at string, want Doc, got *scim.Object) []difference {
	var out []difference
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, _ := got.Get(name)
		path := name
		if at != "" {
			path = at + "." + name
		}
		if nested, ok := want[name].(Doc); ok {
			object, isObject := value.(*scim.Object)
			if value != nil && !isObject {
				out = append(out, difference{path, nested, value})
				continue
			}
			out = append(out, differences(path, nested, object)...)
			continue
		}
		if !matches(want[name], value) {
			out = append(out, difference{path, want[name], value})
		}
	}
	return out
}

// describeExpectation returns the text of an expectation for a finding.
func describeExpectation(want any) string {
	switch want := want.(type) {
	case AtLeast:
		return fmt.Sprintf("at least %d", want)
	case Kind:
		return string(want)
	case []any:
		if len(want) == 0 {
			return "absent or an empty list"
		}
	}
	return show(want)
}

func matches(want, got any) bool {
	switch want := want.(type) {
	case nil:
		return empty(got)
	case Kind:
		return want.is(got)
	case AtLeast:
		return integer(got) >= int(want)
	case OneOf:
		return slices.ContainsFunc(want, func(w any) bool { return matches(w, got) })
	case ContainsAll:
		list, ok := got.([]any)
		return ok && matchElements(want, list)
	case Doc:
		object, ok := got.(*scim.Object)
		return (ok || got == nil) && len(differences("", want, object)) == 0
	case []any:
		if len(want) == 0 {
			return empty(got)
		}
		list, ok := got.([]any)
		return ok && len(list) == len(want) && matchElements(want, list)
	default:
		return scim.Equal(jsonValue(want), got)
	}
}

// matchElements reports whether each expected element matches a different element of got. It assigns each expected element to the first
// element that matches. That is sufficient, because in practice no element matches two expected ones.
func matchElements(want, got []any) bool {
	free := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(free, func(g any) bool { return matches(w, g) })
		if i < 0 {
			return false
		}
		free = slices.Delete(free, i, i+1)
	}
	return true
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case *scim.Object:
		return v.Len() == 0
	}
	return false
}

func (k Kind) is(v any) bool {
	switch k {
	case AnInteger:
		return integer(v) >= 0
	case IntegerOrAbsent:
		return v == nil || integer(v) >= 0
	case ABoolean:
		_, ok := v.(bool)
		return ok
	case KindString:
		text, ok := v.(string)
		return ok && text != ""
	case AnyList:
		_, ok := v.([]any)
		return ok || v == nil
	}
	return false
}

func wording(statuses []int) string {
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = fmt.Sprint(s)
	}
	return strings.Join(words, " or ")
}
