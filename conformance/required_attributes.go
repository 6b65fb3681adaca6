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
	return slices.Sorted(maps.Keys(docOf(value)))
}

// withoutConfigured returns a request without the configured attributes in its body. If an extension in the body has all its configured
// attributes, its other attributes remain, without the URN.
func withoutConfigured(req Request, attributes Doc) Request {
	body, ok := req.Body.(Doc)
	if !ok {
		return req
	}
	body = maps.Clone(body)
	for name, value := range body {
		key, known, ok := lookupFold(attributes, name)
		if !ok {
			continue
		}
		if show(known) == show(value) {
			delete(body, name)
			continue
		}
		own, configured := docOf(value), docOf(known)
		if !isExtension(key) || !containsAll(own, configured) {
			continue
		}
		delete(body, name)
		for part, value := range own {
			if _, _, ok := lookupFold(configured, part); !ok {
				body[part] = value
			}
		}
	}
	req.Body = body
	return req
}

func containsAll(own, configured Doc) bool {
	for part, value := range configured {
		if _, has, ok := lookupFold(own, part); !ok || show(has) != show(value) {
			return false
		}
	}
	return true
}

// withRequired returns the body of a new object: defaults with the attributes of Options.Attributes, which this target requires, and the
// members of extra instead of both. An extension in extra also has the configured attributes of this extension. Names are compared without
// regard to case: a body must not contain an attribute twice.
func (s *session) withRequired(resourceType string, defaults, extra Doc) Doc {
	body := maps.Clone(defaults)
	for name, value := range s.opts.Attributes[resourceType] {
		key, own, given := lookupFold(extra, name)
		switch {
		case !given:
			if other, _, ok := lookupFold(body, name); ok {
				delete(body, other)
			}
			body[name] = value
		case isExtension(name) && docOf(own) != nil:
			extension := maps.Clone(docOf(own))
			for part, value := range docOf(value) {
				if _, _, ok := lookupFold(extension, part); !ok {
					extension[part] = value
				}
			}
			extra = maps.Clone(extra)
			extra[key] = extension
		}
	}
	return merge(body, extra)
}

// isExtension reports whether a member of a resource has the URN of an extension as its name.
func isExtension(name string) bool { return strings.Contains(name, ":") }

// lookupFold returns the member of a name that is compared without regard to case.
func lookupFold(doc Doc, name string) (key string, value any, ok bool) {
	for key, value := range doc {
		if strings.EqualFold(key, name) {
			return key, value, true
		}
	}
	return "", nil, false
}

// docOf returns an object, nil for another value.
func docOf(value any) Doc {
	switch v := value.(type) {
	case map[string]any:
		return v
	case Doc:
		return v
	}
	return nil
}
