package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// NoContent is the response of an operation without a response body.
type NoContent struct{}

// Empty is the response of an operation that returns the empty object.
type Empty struct{}

// nonJSON is implemented by responses that are not JSON: XML, PNG, SVG, HTML, EventStream. Errors of their operations are JSON.
type nonJSON interface {
	content() (media string, body []byte)
}

// XML is the response of an operation that returns an XML document.
type XML struct {
	Document []byte
}

// PNG is the response of an operation that returns a picture.
type PNG struct {
	Picture []byte
}

// SVG is the response of an operation that returns a drawing. Text in it is escaped.
type SVG struct {
	Picture []byte
}

// HTML is the response of an operation that returns a page in UTF-8. Text in it is escaped.
type HTML struct {
	Page []byte
}

func (x XML) content() (media string, body []byte)  { return mediaXML, x.Document }
func (p PNG) content() (media string, body []byte)  { return mediaPNG, p.Picture }
func (s SVG) content() (media string, body []byte)  { return mediaSVG, s.Picture }
func (h HTML) content() (media string, body []byte) { return mediaHTML, h.Page }

// StatusCoder is implemented by responses with two possible statuses: Op.Status and Op.Also.
type StatusCoder interface {
	// HTTPStatus returns Op.Status or Op.Also; 0 means Op.Status.
	HTTPStatus() int
}

// Page is the response of a list: one page of elements and the cursor of the next page.
type Page[T any] struct {
	// Items are the elements of the page. Nil is written as an empty array.
	Items []T
	// Next is the cursor of the next page, empty on the last one. It becomes the query parameter "after" of the Link header with the relation
	// "next".
	Next string
	// Parameter is the query parameter for Next, for lists with another one than "after".
	Parameter string
}

// pager is the non-generic interface of a Page.
type pager interface {
	next() *cursor
	write(out *output) error
}

// cursor is the query parameter that starts the next page.
type cursor struct{ parameter, value string }

// next returns the start of the next page, nil on the last one.
func (p Page[T]) next() *cursor {
	if p.Next == "" {
		return nil
	}
	return &cursor{cmp.Or(p.Parameter, "after"), p.Next}
}

// write writes the items as an array.
func (p Page[T]) write(out *output) error {
	out.buffer.WriteByte('[')
	for i := range p.Items {
		if i > 0 {
			out.buffer.WriteByte(',')
		}
		if err := out.element(&p.Items[i]); err != nil {
			return err
		}
	}
	out.buffer.WriteString("]\n")
	return nil
}

// Listing is a Page that can be written as a table instead.
type Listing[T any] struct {
	Page[T]
	// Table is the page as comma-separated values (RFC 4180), which is written instead of the items unless it is nil.
	Table []byte
}

// tabular is the non-generic interface of a Listing.
type tabular interface{ table() []byte }

func (l Listing[T]) table() []byte { return l.Table }

// ETagger is implemented by responses that carry an entity tag.
type ETagger interface {
	// ETag returns the whole header value, quotes included.
	ETag() string
}

// Located is implemented by responses with a Link header that contains the URL of the returned object.
type Located interface {
	// Location returns the absolute URL.
	Location() string
}

// WeakTag formats an entity tag from the time of the last change and a revision. A revision of zero is omitted.
func WeakTag(changed time.Time, rev int64) string {
	tag := strconv.FormatInt(changed.UnixMilli(), 36)
	if rev != 0 {
		tag += "-" + strconv.FormatInt(rev, 36)
	}
	return `W/"` + tag + `"`
}

// TimeFormat is the format of timestamps: UTC, always three fraction digits.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Time is a timestamp of an entity: encoded in UTC and truncated to the second. It is decoded from any RFC 3339 timestamp.
type Time struct{ time.Time }

// TimeOf converts a time to its JSON form.
func TimeOf(t time.Time) Time { return Time{t} }

// TimePtr converts an optional time: the zero time becomes nil, encoded as null.
func TimePtr(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// MarshalJSON encodes the timestamp.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(t.UTC().Truncate(time.Second).Format(TimeFormat))
}

// UnmarshalJSON decodes any RFC 3339 timestamp.
func (t *Time) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("timestamp %q: %w", text, err)
	}
	t.Time = parsed
	return nil
}

// Links is the member "_links" of an object, by relation: a Link, or a []Link if a relation has several.
type Links map[string]any

// Link is one link.
type Link struct {
	Name   string `json:"name,omitempty"`
	Href   string `json:"href"`
	Type   string `json:"type,omitempty"`
	Rel    string `json:"rel,omitempty"`
	Method string `json:"method,omitempty"`
	Hints  *Hints `json:"hints,omitempty"`
}

// Hints list the methods that a link accepts.
type Hints struct {
	Allow []string `json:"allow"`
}

// To returns a link to href. Methods become its hints.
func To(href string, allow ...string) Link {
	if len(allow) == 0 {
		return Link{Href: href}
	}
	return Link{Href: href, Hints: &Hints{Allow: allow}}
}
