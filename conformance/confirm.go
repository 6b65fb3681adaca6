package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// A farewell is an object that the target says is gone, with the answer that said so.
type farewell struct {
	object *Created
	status int
}

// depart takes over an object whose DELETE was answered. Only a 204 is believed at once; whatever else counts as success
// stays open in the journal until [session.confirm] has looked.
func (s *session) depart(c *Created, status int) {
	c.gone = true
	delete(s.owned, c.Path())
	if !s.handled(c) {
		s.departed = append(s.departed, farewell{c, status})
	}
	if status == http.StatusNoContent {
		s.note(s.journal.gone(c.entry))
	}
}

// confirm reads the objects that are said to be gone, and makes those that are still there leftovers. It returns how many.
//
// A conforming target costs one request per collection: the first object of each stands for the others. Answers other than
// 204 are always checked, and everything is when all is set or one object was found again. Looking at the end of a run and
// not after each DELETE spares targets that take a moment to forget.
func (s *session) confirm(ctx context.Context, all bool) (kept int) {
	var believed []farewell
	sampled := map[string]bool{}
	for _, f := range s.departed {
		if !all && f.status == http.StatusNoContent && sampled[f.object.Collection] {
			believed = append(believed, f)
			continue
		}
		sampled[f.object.Collection] = true
		kept += s.look(ctx, f)
	}
	if kept > 0 {
		for _, f := range believed {
			kept += s.look(ctx, f)
		}
	}
	s.departed = nil
	return kept
}

// look reads one object that is said to be gone and returns 1 when it became a leftover.
func (s *session) look(ctx context.Context, f farewell) int {
	said := fmt.Sprintf("DELETE %s answered %s", f.object.Path(), statusText(f.status))
	res, err := s.call(ctx, Request{Method: http.MethodGet, Path: f.object.Path()}, true)
	switch {
	case err == nil && slices.Contains([]int{http.StatusNotFound, http.StatusGone}, res.Status):
		if f.status != http.StatusNoContent {
			s.note(s.journal.gone(f.object.entry))
		}
		return 0
	case err == nil && res.OK() && res.Object().Text("id") == f.object.ID:
		s.leave(f.object, said+", but "+res.Name+" still finds it")
	case f.status == http.StatusNoContent:
		return 0 // the answer was right, and nothing speaks against it
	case err != nil:
		s.leave(f.object, said+", and whether it is gone could not be seen: "+err.Error())
	default:
		s.leave(f.object, said+", and whether it is gone could not be seen: "+res.Name+" answered "+statusText(res.Status))
	}
	if f.status == http.StatusNoContent {
		s.reopen(f.object)
	}
	return 1
}

// reopen enters an object anew whose entry in the journal was closed too early.
func (s *session) reopen(c *Created) {
	entry, err := s.journal.next(openEntry{collection: c.Collection, attribute: s.naming[c.Collection], name: c.name})
	s.note(err)
	c.entry = entry
	s.note(s.journal.created(entry, c.Collection, c.ID))
}
