package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// A pageFault is a way in which a page of a list differs from the list that the client has read before.
type pageFault struct {
	is       func(pageOfList) bool
	why, fix string
}

// A pageOfList is a page and the list that it continues.
type pageOfList struct {
	start, count int // of the request; count is -1 if absent
	whole, got   []string
	// shuffled reports that the order of the list changes without a change of its resources.
	shuffled bool
}

// want returns the ids from the startIndex of the request, up to the end of the list or to count.
func (p pageOfList) want() []string {
	rest := p.whole[min(p.start-1, len(p.whole)):]
	if p.count >= 0 {
		rest = rest[:min(p.count, len(rest))]
	}
	return rest
}

// same reports whether the page starts like the part of the list from index from on. Indexes start at 1.
func (p pageOfList) same(from int) bool {
	rest := p.whole[min(from-1, len(p.whole)):]
	n := min(len(rest), len(p.got))
	return n > 0 && slices.Equal(rest[:n], p.got[:n])
}

// pageFaults are the kinds of differences, the most specific first. If the order of the list changes, a page can look like that of a target
// with another fault.
var pageFaults = []pageFault{
	{
		is:  func(p pageOfList) bool { return p.shuffled && (p.count < 0 || len(p.got) <= p.count) },
		why: movedWhy, fix: movedFix,
	},
	{
		is:  func(p pageOfList) bool { return p.start > 1 && p.same(1) && p.count >= 0 && len(p.got) > p.count },
		why: "The client receives the first resources for every page: it reads the same resources repeatedly, and may miss others.",
		fix: "Apply startIndex and count: the target ignores both.",
	},
	{
		is:  func(p pageOfList) bool { return p.start > 1 && p.same(1) },
		why: "The client receives the first page for every page, and never reads the resources behind it.",
		fix: "Apply startIndex: the target ignores it, and returns the first page.",
	},
	{
		is:  func(p pageOfList) bool { return p.count >= 0 && len(p.got) > p.count },
		why: "The client receives more resources than it requested, and reads some of them twice.",
		fix: "Apply count: the target ignores it, and returns more resources.",
	},
	{
		is:  func(p pageOfList) bool { return p.start > 0 && (p.same(p.start+1) || p.start > 2 && p.same(p.start-1)) },
		why: "The client misses or repeats a resource at the end of each page.",
		fix: "Count startIndex from 1: a page starts with the resource whose number, from 1, is startIndex.",
	},
	{
		is:  func(p pageOfList) bool { return len(p.got) == 0 },
		why: "The client never reads the resources behind the first page, and treats them as deleted.",
		fix: "Return the resources from startIndex on: the page is empty although the list has more.",
	},
	{
		is: func(p pageOfList) bool {
			return !slices.ContainsFunc(p.got, func(id string) bool { return !slices.Contains(p.whole, id) })
		},
		why: movedWhy, fix: movedFix,
	},
}

const (
	movedWhy = "The client misses resources that change their position between two pages, and treats them as deleted."
	movedFix = "Order lists by a value that does not change, such as meta.created."
)

// within expects that the list in a response continues like the stored list named by step.Within: the ids of both lists from the startIndex
// of the request must be equal, up to the end of the shorter list, and the page has at most count resources.
func (t *clientSession) within(ctx context.Context, c *T, step Step, req Request, res *Response) {
	whole := t.kept[step.Within]
	if whole == nil {
		c.Skip("blocked: the step " + t.savedBy[step.Within] + " received no list to compare with")
	}
	query := req.Query
	p := pageOfList{start: 1, count: -1, whole: (&Response{object: whole}).IDs(), got: res.IDs()}
	if n, err := strconv.Atoi(query.Get("startIndex")); err == nil {
		p.start = n
	}
	if n, err := strconv.Atoi(query.Get("count")); err == nil {
		p.count = n
	}
	want := p.want()
	n := min(len(want), len(p.got))
	tooMany := p.count >= 0 && len(p.got) > p.count
	if slices.Equal(want[:n], p.got[:n]) && !tooMany && (n > 0 || len(want) == 0) {
		return
	}
	if p.start > 1 && t.unpaged(ctx, c, req, p) {
		c.Inform(fmt.Sprintf("ids of the list with %s, compared with the list from startIndex=1", query.Encode()), show(want), p.got)
		t.limit("the target ignores startIndex and count, and every page is the whole list: it is unknown whether the client stops reading")
		return
	}
	if !t.diagnosed {
		t.diagnosed = true
		p.shuffled = t.session.unstableOrder || t.shuffled(ctx, c, req, p)
		if i := slices.IndexFunc(pageFaults, func(f pageFault) bool { return f.is(p) }); i >= 0 {
			c.check.Why, c.check.Fix = pageFaults[i].why, pageFaults[i].fix
		}
	}
	got := p.got
	if !tooMany {
		got = got[:n]
		want = want[:max(n, min(len(want), 1))]
	}
	c.Expect(fmt.Sprintf("ids of the list with %s, compared with the list from startIndex=1", query.Encode()), want, got)
}

// shuffled reports whether the target returns another page for the same request.
func (t *clientSession) shuffled(ctx context.Context, c *T, req Request, p pageOfList) bool {
	about := c.last
	defer func() { c.last = about }()
	again := c.Call(ctx, req)
	return again.OK() && !slices.Equal(again.IDs(), p.got)
}

// unpaged reports whether the target returns the whole list for every page, so that the client misses no resource: the page and a page of
// one resource contain all resources of the list.
func (t *clientSession) unpaged(ctx context.Context, c *T, req Request, p pageOfList) bool {
	whole := func(ids []string) bool { return slices.Equal(ids, p.whole) }
	if len(p.whole) < 2 || !whole(p.got) {
		return false
	}
	if p.count == 1 {
		return true
	}
	about := c.last
	defer func() { c.last = about }()
	query := maps.Clone(req.Query)
	query.Set("count", "1")
	one := c.Call(ctx, Request{Method: req.Method, Path: req.Path, Query: query})
	return one.OK() && whole(one.IDs()) && one.Total() == len(p.whole)
}
