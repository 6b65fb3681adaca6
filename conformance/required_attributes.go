package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reserved are the attributes that Options.Attributes cannot set: the checks find and distinguish their objects by them, or test them
// directly.
var reserved = []string{"schemas", "id", "meta", "userName", "displayName", "active", "password", "members", "groups"}

// checkAttributes rejects attributes that need a different value in each object of the suite. Its error is a [*UsageError].
func checkAttributes(attributes map[string]Doc) error {
	for _, resourceType := range slices.Sorted(maps.Keys(attributes)) {
		for _, name := range slices.Sorted(maps.Keys(attributes[resourceType])) {
			if slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) }) {
				return &UsageError{Problem: fmt.Sprintf("the attribute %s of %s cannot be configured: the suite sets it to a different value in "+
					"each object", name, resourceType)}
			}
		}
	}
	return nil
}

// configuredAttribute returns an attribute of Options.Attributes that a check tests, "" if there is none. A check tests an attribute if its
// findings or its requests name the attribute; members of bodies with the configured value do not count. Such a check expects objects
// without the attribute or with another value, but all objects of the run have the configured value. The findings of the check are
// therefore not an error of the target.
func (s *session) configuredAttribute(requests []Request, findings []Finding) string {
	for _, resourceType := range slices.Sorted(maps.Keys(s.opts.Attributes)) {
		attributes := s.opts.Attributes[resourceType]
		var mentioned []string
		for _, req := range requests {
			mentioned = append(mentioned, attributeWords(withoutConfigured(req, attributes))...)
		}
		for _, f := range findings {
			mentioned = append(mentioned, word.FindAllString(f.What, -1)...)
		}
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			for _, meant := range append(inside(attributes[name]), name) {
				if slices.ContainsFunc(mentioned, func(m string) bool { return strings.EqualFold(m, meant) }) {
					return name
				}
			}
		}
	}
	return ""
}

// inside returns the names of the attributes of an extension.
func inside(value any) []string {
	switch v := value.(type) {
	case map[string]any:
		return slices.Sorted(maps.Keys(v))
	case Doc:
		return slices.Sorted(maps.Keys(v))
	}
	return nil
}

// withoutConfigured returns a request without the configured attributes in its body.
func withoutConfigured(req Request, attributes Doc) Request {
	body, ok := req.Body.(Doc)
	if !ok {
		return req
	}
	body = maps.Clone(body)
	maps.DeleteFunc(body, func(name string, value any) bool {
		known, ok := attributes[name]
		return ok && show(known) == show(value)
	})
	req.Body = body
	return req
}

// addRequired adds the attributes of Options.Attributes, which this target requires, to the body of a new object.
func (s *session) addRequired(resourceType string, doc Doc) Doc {
	return merge(doc, s.opts.Attributes[resourceType])
}
