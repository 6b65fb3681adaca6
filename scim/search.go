package scim

import (
	"fmt"
	"net/http"
)

// SearchRequest is a query sent by POST to .search (RFC 7644 section 3.4.3; cursor: RFC 9865). Nil fields are absent.
type SearchRequest struct {
	Attributes, ExcludedAttributes []string
	Filter, SortBy, SortOrder      string
	StartIndex, Count              *int
	Cursor                         *string // nil means paging by index; an empty string requests the first page
}

// ParseSearchRequest reads the message. The error is a *Error, 400 invalidSyntax or invalidValue; an invalid count of a query with a cursor
// is 400 invalidCount.
func ParseSearchRequest(o *Object) (*SearchRequest, error) {
	if err := checkMessage(o, SearchRequestMessage); err != nil {
		return nil, Errorf(http.StatusBadRequest, InvalidSyntax, "%v", err)
	}
	var s SearchRequest
	var bad error // the first error
	kind := InvalidValue
	note := func(err error) {
		if bad == nil {
			bad = err
		}
	}
	texts := func(name string) []string {
		values := o.Array(name)
		out := o.texts(name)
		if len(out) != len(values) {
			note(fmt.Errorf("%s is not an array of strings", name))
		}
		return out
	}
	text := func(name string, set func(string)) {
		switch v, _ := o.Get(name); v := v.(type) {
		case nil:
		case string:
			set(v)
		default:
			note(fmt.Errorf("%s is not a string", name))
		}
	}
	s.Attributes = texts("attributes")
	s.ExcludedAttributes = texts("excludedAttributes")
	text("filter", func(v string) { s.Filter = v })
	text("sortBy", func(v string) { s.SortBy = v })
	text("sortOrder", func(v string) { s.SortOrder = v })
	text("cursor", func(v string) { s.Cursor = &v })
	note(wholeNumber(o, "startIndex", func(n int) { s.StartIndex = &n }))
	if err := wholeNumber(o, "count", func(n int) { s.Count = &n }); err != nil {
		if bad == nil && s.Cursor != nil {
			kind = InvalidCount
		}
		note(err)
	}
	if bad != nil {
		return nil, Errorf(http.StatusBadRequest, kind, "%v", bad)
	}
	return &s, nil
}

// MarshalJSON writes the message.
func (s SearchRequest) MarshalJSON() ([]byte, error) {
	o := message(SearchRequestMessage)
	if s.Attributes != nil {
		o.Set("attributes", s.Attributes)
	}
	if s.ExcludedAttributes != nil {
		o.Set("excludedAttributes", s.ExcludedAttributes)
	}
	for _, m := range []struct{ name, value string }{{"filter", s.Filter}, {"sortBy", s.SortBy}, {"sortOrder", s.SortOrder}} {
		if m.value != "" {
			o.Set(m.name, m.value)
		}
	}
	if s.StartIndex != nil {
		o.Set("startIndex", *s.StartIndex)
	}
	if s.Count != nil {
		o.Set("count", *s.Count)
	}
	if s.Cursor != nil {
		o.Set("cursor", *s.Cursor)
	}
	return o.MarshalJSON()
}

// UnmarshalJSON reads the message with [Decode] and [ParseSearchRequest].
func (s *SearchRequest) UnmarshalJSON(data []byte) error {
	return unmarshal(data, s, ParseSearchRequest)
}

func unmarshal[T any](data []byte, into *T, parse func(*Object) (*T, error)) error {
	o, err := Decode(data)
	if err != nil {
		return err
	}
	v, err := parse(o)
	if err != nil {
		return err
	}
	*into = *v
	return nil
}
