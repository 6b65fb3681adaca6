package scimserver

import (
	"encoding/json"
	"math"
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

// checkSize applies Limits.MaxValue, MaxElements and MaxResource to a resource that is about to be stored. The old state is nil for a new
// resource.
func (s *server) checkSize(t *resourceType, next, old *scim.Resource) error {
	size, err := s.checkValues(t, next, old)
	if err != nil {
		return err
	}
	// The JSON text of a string has at most six times as many bytes as the string.
	if size <= s.limits.MaxResource/6 {
		return nil
	}
	if size = len(next.AppendJSON(nil)); size <= s.limits.MaxResource {
		return nil
	}
	if old != nil && size <= len(old.AppendJSON(nil)) {
		return nil
	}
	return scim.Errorf(http.StatusRequestEntityTooLarge, "", "the resource would have %d bytes; the limit is %d", size, s.limits.MaxResource)
}

// checkValues checks each attribute. It returns the size of the resource, as measure.value counts it.
func (s *server) checkValues(t *resourceType, next, old *scim.Resource) (size int, err error) {
	for name, value := range next.All() {
		m := measure{longest: s.limits.MaxValue, most: s.limits.MaxElements}
		found := m.value(value)
		size += len(name) + found
		if m.excess == "" {
			continue
		}
		if old != nil { // the old value may exceed the limits already
			was := measure{longest: math.MaxInt, most: math.MaxInt}
			before, _ := old.Get(name)
			was.value(before)
			if m.longestText <= max(was.longestText, s.limits.MaxValue) && m.mostElements <= max(was.mostElements, s.limits.MaxElements) {
				continue
			}
		}
		if a := attributeOf(t, name); a != "" {
			name = a
		}
		return 0, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, m.excess, name, m.found, m.limit)
	}
	return size, nil
}

// attributeOf returns the name of an attribute in the spelling of its schema, or "".
func attributeOf(t *resourceType, name string) string {
	if r, ok := t.Resolve(scim.AttrPath{Name: name}); ok && r.Attribute != nil {
		return r.Attribute.Name
	}
	return ""
}

// measure measures the values of an attribute.
type measure struct {
	longest, most             int // the limits
	longestText, mostElements int // what was found

	excess       string // the first limit that is exceeded: a format for name, found and limit
	found, limit int
}

const (
	excessText     = "a value of %s has %d bytes; the limit is %d"
	excessElements = "%s has %d elements; the limit is %d"
)

// usualValue is the number of bytes that measure.value counts for each value and name in addition to their text: quotes, colon and comma.
const usualValue = 4

// value measures a value with all values in it, and returns an estimate of the size of its JSON text without the escapes in strings.
func (m *measure) value(v any) (size int) {
	switch v := v.(type) {
	case string:
		m.longestText = max(m.longestText, len(v))
		m.exceeds(excessText, len(v), m.longest)
		return len(v) + usualValue
	case json.Number:
		return len(v) + usualValue
	case []any:
		m.mostElements = max(m.mostElements, len(v))
		m.exceeds(excessElements, len(v), m.most)
		for _, e := range v {
			size += m.value(e)
		}
		return size + usualValue
	case *scim.Object:
		for name, value := range v.All() {
			size += len(name) + usualValue + m.value(value)
		}
		return size + usualValue
	}
	return 2 * usualValue
}

func (m *measure) exceeds(format string, found, limit int) {
	if found > limit && m.excess == "" {
		m.excess, m.found, m.limit = format, found, limit
	}
}
