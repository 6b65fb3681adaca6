package plan

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// MaxListed is how many resources of a target that cannot filter are read to find one. Beyond it nothing is created: whether
// the resource exists is then for a person to say.
const MaxListed = 10_000

// listing reads a collection page by page, for a target that cannot filter.
type listing struct {
	send                       func(Request, func(Response) Step) Step
	endpoint, attribute, value string
	then                       func(Response, []*scim.Resource, *failure) Step

	seen  map[string]bool
	found []*scim.Resource
	total int // as last told, -1 when it is not

	// anchored pages begin with the last resource of the page before, which shows that nothing has moved. They are asked for once
	// the list was seen to grow: other sequences create while this one reads.
	anchored bool
	last     string // the id of that resource
}

// readList finds the resources with that value of an attribute among all there are.
func readList(send func(Request, func(Response) Step) Step, endpoint, attribute, value string,
	then func(Response, []*scim.Resource, *failure) Step,
) Step {
	l := &listing{send: send, endpoint: endpoint, attribute: attribute, value: value, then: then, seen: map[string]bool{}}
	return l.page()
}

func (l *listing) page() Step {
	start := len(l.seen) + 1
	if l.anchored {
		start--
	}
	path := fmt.Sprintf("%s?startIndex=%d&count=%d", l.endpoint, start, PageSize)
	return l.send(Request{Method: http.MethodGet, Path: path}, l.read)
}

func (l *listing) fail(f *failure) Step {
	return l.then(Response{}, nil, f.in("the list of all that are there"))
}

func (l *listing) read(r Response) Step {
	all, f := listed(r)
	if f != nil {
		return l.fail(f)
	}
	total, known := count(bodyOf(r), "totalResults")
	switch {
	case len(l.seen) == 0 && known:
		l.total = total
	case len(l.seen) == 0:
		l.total = -1
	case known && total > l.total && l.total >= 0:
		l.total = total
		if !l.anchored {
			l.anchored = true
			return l.page()
		}
	case known && total != l.total:
		return l.fail(transient(r, fmt.Sprintf("totalResults went from %d to %d while it was read", l.total, total)))
	}
	if l.anchored {
		if len(all) == 0 || all[0].ID() != l.last {
			return l.fail(transient(r, "it changed while it was read"))
		}
		all = all[1:]
	}
	for _, hit := range all {
		id := hit.ID()
		if id == "" {
			return l.fail(rejected(r, "it has a resource without an id"))
		}
		if l.seen[id] {
			return l.fail(rejected(r, fmt.Sprintf("it repeats %s: startIndex has no effect", id)))
		}
		l.seen[id], l.last = true, id
		if got, ok := textAt(&hit.Object, l.attribute); ok && strings.EqualFold(got, l.value) {
			l.found = append(l.found, hit)
		}
	}
	switch {
	case len(all) == 0 && l.total > len(l.seen):
		return l.fail(transient(r, fmt.Sprintf("totalResults is %d, but it ends after %d", l.total, len(l.seen))))
	case len(all) == 0, l.total >= 0 && len(l.seen) >= l.total:
		return l.then(r, l.found, nil)
	case len(l.seen) >= MaxListed:
		f := rejected(r, fmt.Sprintf("the target cannot filter, and has more than %d of them: whether there is one with %s %q is not known",
			len(l.seen), l.attribute, l.value))
		f.class = Held
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
