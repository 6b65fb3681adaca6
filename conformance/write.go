package conformance

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

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

// preparation returns the requests that created the objects on which the given exchanges depend, in their order. An exchange depends on an
// object of the check or of its fixture that was created before it, if its URL or its body contains the id of the object, or if it is a
// search that contains the prefix of the names of the check or of the fixture. A create depends on the objects whose ids it contains.
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
			if needed[c] || c.post == e || c.post != nil && c.post.At.After(e.At) || !hasID(text, c.ID) && (!isSearch(e) || !t.names(text, c)) {
				continue
			}
			needed[c] = true
			if c.post != nil {
				visit(c.post)
			}
		}
	}
	for _, e := range of {
		if e != nil {
			visit(e)
		}
	}
	var out []Preparation
	for _, c := range objects {
		if needed[c] {
			out = append(out, Preparation{ID: c.ID, Exchange: c.post})
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
