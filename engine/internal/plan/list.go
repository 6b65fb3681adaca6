package plan

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// MaxListed is the maximum number of resources that are read to find one on a target that cannot filter. If the list is longer, the engine
// creates nothing: an operator must decide whether the resource exists.
const MaxListed = 10_000

// Pages reads a complete collection page by page (RFC 7644 section 3.4.2.4): Request returns the next request, Read processes the response.
//
// Each request has a count of PageSize. startIndex increases by the number of resources on the page, because a target may return fewer than
// PageSize. The list ends at totalResults, or, if that is absent, with an empty page. An inconsistent list is an error, because an
// incomplete list does not show which resources exist.
type Pages struct {
	Endpoint string // /Users or /Groups
	Listed   int    // number of resources read
	Total    int    // totalResults of the first page, UnknownTotal if absent
	Max      int    // maximum number of resources; 0 for no limit
	// FullPages requires PageSize resources on every page except the last one, like a client that adds PageSize to startIndex without checking
	// the page.
	FullPages bool
	// Grows allows the list to grow during the read, because other clients create resources. Each page then starts with the last resource of
	// the previous page, so that a change of the order is detected.
	Grows bool

	seen   map[[16]byte]bool // digests of the ids that were read: a digest needs less memory than an id
	grown  bool
	anchor string // the id of the last resource that was read
}

// UnknownTotal is the total of a list without totalResults.
const UnknownTotal = -1

// UsersEndpoint and GroupsEndpoint are the endpoints that Pages can read.
const (
	UsersEndpoint  = users
	GroupsEndpoint = groups
)

// ListError is the reason why a list cannot be read completely.
type ListError struct {
	Class      engine.Class
	Status     int    // of the response, 0 if none was received
	RetryAfter string // unparsed header
	Message    string
	// Broken reports that the list is inconsistent: it may be read again from the start, but not continued.
	Broken bool
}

// Error returns the message.
func (e *ListError) Error() string { return e.Message }

// NewPages returns a Pages for the first page of an endpoint.
func NewPages(endpoint string) *Pages { return &Pages{Endpoint: endpoint, Total: UnknownTotal} }

// Request returns the next request.
func (p *Pages) Request() Request {
	start := p.Listed + 1
	if p.grown {
		start--
	}
	return Request{Method: http.MethodGet, Path: fmt.Sprintf("%s?startIndex=%d&count=%d", p.Endpoint, start, PageSize)}
}

// Read processes a response. It returns the resources of the page, and whether it was the last one. An error does not change the state of
// p.
func (p *Pages) Read(r Response) (page []*scim.Resource, last bool, err *ListError) {
	r = errorInSuccess(r)
	before := *p
	page, last, f := p.read(r)
	broken := f != nil && ok(r)
	switch {
	case r.Err == nil && r.Status == http.StatusNotFound:
		f = fail(r)
	case f == nil && p.Total >= 0 && p.Listed > p.Total:
		f, broken = rejected(r, fmt.Sprintf("totalResults is %d, but the list has %d resources", p.Total, p.Listed)), true
	case f == nil && p.FullPages && p.Total >= 0 && !last && len(page) < PageSize:
		f, broken = rejected(r, fmt.Sprintf("it has %d resources on a page, but %d were requested", len(page), PageSize)), true
	case f == nil && p.Max > 0 && (p.Listed > p.Max || p.Total > p.Max):
		f, broken = rejected(r, fmt.Sprintf("it has %d resources, more than the maximum of %d", max(p.Listed, p.Total), p.Max)), true
	}
	if f != nil {
		p.Listed, p.Total = before.Listed, before.Total
		for _, hit := range page {
			delete(p.seen, digest(hit.ID()))
		}
		message := fmt.Sprintf("the list %s cannot be read at startIndex %d: %s", p.Endpoint, p.Listed+1, f.message)
		return nil, false, &ListError{Class: f.class, Status: f.status, RetryAfter: f.retryAfter, Message: message, Broken: broken}
	}
	return page, last, nil
}

// Seen reports whether a resource with that id was read.
func (p *Pages) Seen(id string) bool { return p.seen[digest(id)] }

func digest(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// read processes a page.
func (p *Pages) read(r Response) (page []*scim.Resource, last bool, f *failure) {
	page, f = listed(r)
	if f != nil {
		return nil, false, f
	}
	total, known := count(bodyOf(r), "totalResults")
	switch {
	case p.Listed == 0 && known:
		p.Total = total
	case p.Listed == 0:
		p.Total = UnknownTotal
	case known && total > p.Total && p.Total >= 0 && p.Grows:
		p.Total = total
		if !p.grown {
			p.grown = true
			return nil, false, nil // request the page again, starting with the last resource of the previous page
		}
	case known && total != p.Total:
		return nil, false, transient(r, fmt.Sprintf("totalResults changed from %d to %d during the read", p.Total, total))
	}
	if p.grown {
		if len(page) == 0 || page[0].ID() != p.anchor {
			return nil, false, transient(r, "it changed during the read")
		}
		page = page[1:]
	}
	if p.seen == nil {
		p.seen = map[[16]byte]bool{}
	}
	for i, hit := range page {
		id := hit.ID()
		if id == "" {
			return page[:i], false, rejected(r, "it has a resource without an id")
		}
		if p.Seen(id) {
			return page[:i], false, rejected(r, fmt.Sprintf("it repeats %s: startIndex has no effect", id))
		}
		p.seen[digest(id)] = true
		p.anchor = id
	}
	p.Listed += len(page)
	if len(page) == 0 && p.Total > p.Listed {
		return nil, false, transient(r, fmt.Sprintf("totalResults is %d, but the list ends after resource %d", p.Total, p.Listed))
	}
	return page, len(page) == 0 || p.Total >= 0 && p.Listed >= p.Total, nil
}

// listing finds resources in a complete collection, for a target that cannot filter.
type listing struct {
	send             func(Request, func(Response) Step) Step
	instead          Alternative // description of this list as the replacement for a lookup
	pages            *Pages
	attribute, value string
	then             func(Response, []*scim.Resource, *failure) Step
	found            []*scim.Resource
}

// readList reads all resources and passes those whose attribute has the value to `then`.
func readList(send func(Request, func(Response) Step) Step, instead Alternative, endpoint, attribute, value string,
	then func(Response, []*scim.Resource, *failure) Step,
) Step {
	l := &listing{send: send, instead: instead, pages: NewPages(endpoint), attribute: attribute, value: value, then: then}
	l.pages.Grows = true
	return l.page()
}

func (l *listing) page() Step {
	req := l.pages.Request()
	req.Alternative = &l.instead
	return l.send(req, l.read)
}

func (l *listing) fail(f *failure) Step {
	return l.then(Response{}, nil, f.in("list of all resources"))
}

func (l *listing) read(r Response) Step {
	page, last, f := l.pages.read(r)
	if f != nil {
		return l.fail(f)
	}
	for _, hit := range page {
		if got, ok := textAt(&hit.Object, l.attribute); ok && strings.EqualFold(got, l.value) {
			l.found = append(l.found, hit)
		}
	}
	switch {
	case last:
		return l.then(r, l.found, nil)
	case l.pages.Listed >= MaxListed:
		f := rejected(r, fmt.Sprintf("the target cannot filter and has more than %d resources: it is unknown whether one has %s %q",
			l.pages.Listed, l.attribute, l.value))
		f.class = engine.Held
		return l.fail(f)
	}
	return l.page()
}

func bodyOf(r Response) *scim.Object {
	if r.Body == nil {
		return &scim.Object{}
	}
	return r.Body
}
