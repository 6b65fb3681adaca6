package plan

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// MaxListed is how many resources of a target that cannot filter are read to find one. Beyond it nothing is created: whether
// the resource exists is then for a person to say.
const MaxListed = 10_000

// Pages reads a whole collection page by page (RFC 7644 section 3.4.2.4): Request is what to ask next, Read takes the answer.
//
// Each request asks for PageSize resources, and startIndex grows by as many as the page had: by PageSize for a full page, by fewer
// for a target that has a smaller limit of its own. The list ends with totalResults, or where that is not told, with an empty
// page. A list that contradicts itself is an error, since nothing may be concluded from a part of one.
type Pages struct {
	Endpoint string // /Users or /Groups
	Listed   int    // how many were read
	Total    int    // totalResults of the first page, UnknownTotal when it does not tell
	Max      int    // more are refused; 0 for no bound
	// FullPages requires PageSize resources on every page but the last one, as a client does that adds PageSize to startIndex
	// without looking at the page.
	FullPages bool
	// Grows says that the list may grow while it is read, because others create. From then on each page begins with the last
	// resource of the page before, which shows that nothing has moved.
	Grows bool

	seen   map[[16]byte]bool // digests of the ids, which take less memory than the ids
	grown  bool
	anchor string // the id of the last resource that was read
}

// UnknownTotal is the total of a list that does not tell it.
const UnknownTotal = -1

// UsersEndpoint and GroupsEndpoint are what Pages can read.
const (
	UsersEndpoint  = users
	GroupsEndpoint = groups
)

// ListError says why a list cannot be read to its end.
type ListError struct {
	Class      engine.Class
	Status     int    // of the answer, 0 when none came
	RetryAfter string // as it came
	Message    string
	// Broken says that the list contradicts itself: it may be read again from its beginning, but not further.
	Broken bool
}

// Error returns the message.
func (e *ListError) Error() string { return e.Message }

// NewPages begins at the first page.
func NewPages(endpoint string) *Pages { return &Pages{Endpoint: endpoint, Total: UnknownTotal} }

// Request is what to ask next.
func (p *Pages) Request() Request {
	start := p.Listed + 1
	if p.grown {
		start--
	}
	return Request{Method: http.MethodGet, Path: fmt.Sprintf("%s?startIndex=%d&count=%d", p.Endpoint, start, PageSize)}
}

// Read takes the answer in: the resources of the page, and whether it was the last one. After an error the pages are as before.
func (p *Pages) Read(r Response) (page []*scim.Resource, last bool, err *ListError) {
	r = errorInSuccess(r)
	before := *p
	page, last, f := p.read(r)
	broken := f != nil && ok(r)
	switch {
	case r.Err == nil && r.Status == http.StatusNotFound:
		f = fail(r)
	case f == nil && p.Total >= 0 && p.Listed > p.Total:
		f, broken = rejected(r, fmt.Sprintf("totalResults is %d, but %d are listed", p.Total, p.Listed)), true
	case f == nil && p.FullPages && p.Total >= 0 && !last && len(page) < PageSize:
		f, broken = rejected(r, fmt.Sprintf("it has %d resources on a page, and %d were requested", len(page), PageSize)), true
	case f == nil && p.Max > 0 && (p.Listed > p.Max || p.Total > p.Max):
		f, broken = rejected(r, fmt.Sprintf("it has %d resources, and no more than %d are read", max(p.Listed, p.Total), p.Max)), true
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

// Seen says whether a resource with that id was read.
func (p *Pages) Seen(id string) bool { return p.seen[digest(id)] }

func digest(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// read takes a page in.
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
			return nil, false, nil // once more, with the anchor
		}
	case known && total != p.Total:
		return nil, false, transient(r, fmt.Sprintf("totalResults went from %d to %d while it was read", p.Total, total))
	}
	if p.grown {
		if len(page) == 0 || page[0].ID() != p.anchor {
			return nil, false, transient(r, "it changed while it was read")
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
		return nil, false, transient(r, fmt.Sprintf("totalResults is %d, but it ends after %d", p.Total, p.Listed))
	}
	return page, len(page) == 0 || p.Total >= 0 && p.Listed >= p.Total, nil
}

// listing finds resources in a whole collection, for a target that cannot filter.
type listing struct {
	send             func(Request, func(Response) Step) Step
	instead          Alternative // of a lookup
	pages            *Pages
	attribute, value string
	then             func(Response, []*scim.Resource, *failure) Step
	found            []*scim.Resource
}

// readList finds the resources with that value of an attribute among all there are.
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
	return l.then(Response{}, nil, f.in("the list of all that are there"))
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
		f := rejected(r, fmt.Sprintf("the target cannot filter, and has more than %d of them: whether there is one with %s %q is not known",
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
