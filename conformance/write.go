package conformance

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// maxWrites is the maximum number of accepted writes that a check keeps.
const maxWrites = 8

// keepWrite keeps an accepted write of a resource.
func (t *T) keepWrite(req Request, res *Response) {
	if res.exchange == nil || !res.OK() || strings.HasSuffix(req.Path, "/.search") ||
		!slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, req.Method) {
		return
	}
	t.writes = append(t.writes, res.exchange)
	if len(t.writes) > maxWrites {
		t.writes = t.writes[1:]
	}
}

// writeBefore returns the last accepted write of the resource that an exchange reads: a PUT or a PATCH of the same URL, or the POST whose
// response contains the id. It returns nil if the exchange is not such a read.
func (t *T) writeBefore(read *wirelog.Exchange) *wirelog.Exchange {
	if read == nil || read.Method != http.MethodGet {
		return nil
	}
	at := withoutQuery(read.URL)
	for _, w := range slices.Backward(t.writes) {
		if w.At.After(read.At) {
			continue
		}
		switch w.Method {
		case http.MethodPost:
			if strings.Contains(w.ResponseBody, `"`+path.Base(at)+`"`) && path.Dir(at) == withoutQuery(w.URL) {
				return w
			}
		default:
			if withoutQuery(w.URL) == at {
				return w
			}
		}
	}
	return nil
}

// preparation returns the requests that created and changed the objects on which the given exchanges depend, in their order. An exchange
// depends on an object of the check or of its fixture that was created before it, if its URL or its body contains the id of the object, if
// it is a search that contains the prefix of the names of the check or of the fixture, or if it is a write whose body has a name of the
// object. A create depends on the objects whose ids it contains.
func (t *T) preparation(of ...*wirelog.Exchange) []Preparation {
	var objects []*Created
	for _, c := range slices.Concat(slices.Collect(maps.Values(t.Fixture)), *t.ledger) {
		if c.ID != "" && (c.post == nil || !slices.Contains(of, c.post)) && !slices.Contains(objects, c) {
			objects = append(objects, c)
		}
	}
	slices.SortStableFunc(objects, func(a, b *Created) int { return cmp.Compare(a.entry, b.entry) }) // the order of the requests
	needed := map[*Created]bool{}
	var visit func(e *wirelog.Exchange)
	visit = func(e *wirelog.Exchange) {
		text := requestText(e)
		for _, c := range objects {
			if needed[c] || c.post == e || c.post != nil && c.post.At.After(e.At) {
				continue
			}
			if depends := hasID(text, c.ID) || isSearch(e) && t.names(text, c) || isWrite(e) && t.repeatsName(e, c); !depends {
				continue
			}
			needed[c] = true
			if c.post != nil {
				visit(c.post)
			}
		}
	}
	var last time.Time
	for _, e := range of {
		if e != nil {
			visit(e)
			if e.At.After(last) {
				last = e.At
			}
		}
	}
	var out []Preparation
	changes := map[string]bool{}
	for _, c := range objects {
		if needed[c] {
			out = append(out, Preparation{ID: c.ID, Exchange: c.post})
			changes[c.ID] = true
		}
	}
	for _, w := range t.writes {
		if w.Method != http.MethodPost && changes[path.Base(withoutQuery(w.URL))] && !slices.Contains(of, w) && w.At.Before(last) {
			out = append(out, Preparation{Exchange: w})
		}
	}
	return out
}

// isWrite reports whether an exchange creates or replaces an object.
func isWrite(e *wirelog.Exchange) bool {
	return e.Method == http.MethodPut || e.Method == http.MethodPost && !isSearch(e)
}

// repeatsName reports whether the body of a request contains a string with the marker of the run that the create of an object contained,
// such as its userName or externalId. An object that was deleted before has no effect on the request.
func (t *T) repeatsName(e *wirelog.Exchange, c *Created) bool {
	if c.gone {
		return false
	}
	body := strings.ToLower(e.RequestBody)
	for _, name := range markedStrings(c.Sent, t.session.created.run) {
		if strings.Contains(body, strings.ToLower(strconv.Quote(name))) {
			return true
		}
	}
	return false
}

// markedStrings returns the strings inside a value that contain a marker.
func markedStrings(value any, marker string) (out []string) {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, marker) {
			out = append(out, v)
		}
	case Doc:
		for _, inner := range v {
			out = append(out, markedStrings(inner, marker)...)
		}
	case []Doc:
		for _, inner := range v {
			out = append(out, markedStrings(inner, marker)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, markedStrings(inner, marker)...)
		}
	}
	return out
}

// hasID reports whether the text of a request contains an id as a segment of a path or as a string in quotation marks.
func hasID(text, id string) bool {
	for rest := text; ; {
		at := strings.Index(rest, id)
		if at < 0 {
			return false
		}
		after := rest[at+len(id):]
		if at > 0 && strings.ContainsRune(`/"`, rune(rest[at-1])) && (after == "" || strings.ContainsRune(`/?" `, rune(after[0]))) {
			return true
		}
		rest = after
	}
}

// requestText returns the decoded URL and the body of a request.
func requestText(e *wirelog.Exchange) string {
	address, err := url.QueryUnescape(e.URL)
	if err != nil {
		address = e.URL
	}
	return address + " " + e.RequestBody
}

// isSearch reports whether the request of an exchange searches for objects by a filter.
func isSearch(e *wirelog.Exchange) bool {
	return e.Method == http.MethodGet && strings.Contains(e.URL, "filter=") || strings.HasSuffix(withoutQuery(e.URL), "/.search")
}

// names reports whether a text contains the prefix of the name of an object: the marker of the run, and the number of the check or the name
// of the fixture.
func (t *T) names(text string, c *Created) bool {
	rest, own := strings.CutPrefix(c.name, t.session.created.run+"-")
	part, _, found := strings.Cut(rest, "-")
	return own && found && strings.Contains(strings.ToLower(text), strings.ToLower(t.session.created.run+"-"+part+"-"))
}

// withoutQuery returns the path of a URL.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Path
}
