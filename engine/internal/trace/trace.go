package trace

import (
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/rehearse"
	"github.com/scimwright/scimwright/engine/store"
)

// AddChanges compares the written resources with their previous versions. roster has the members known to the engine.
func AddChanges(t *engine.Trace, all []rehearse.Change, roster []store.Member) {
	users := make(map[string]store.Member, len(roster))
	for _, m := range roster {
		if m.PushedID != "" {
			users[m.PushedID] = m
		}
	}
	for _, m := range roster {
		if m.RemoteID != "" {
			users[m.RemoteID] = m
		}
	}
	for _, c := range all {
		t.Diff = append(t.Diff, differences(c.Before, c.After)...)
		if t.Kind == engine.Group {
			t.Members = mergeDiffs(t.Members, memberDiff(c.Before, c.After, users))
		}
	}
}

// Sent returns a recorded exchange, with its path relative to the base URL.
func Sent(a engine.Attempt, base string) engine.Sent {
	s := engine.Sent{
		Method: a.Method, Path: a.URL, IfMatch: a.RequestHeader.Get("If-Match"), Body: a.RequestBody, Status: a.Status, Answer: a.ResponseBody,
		Error: a.Error, At: a.At, Took: a.Duration,
	}
	if path, ok := strings.CutPrefix(a.URL, strings.TrimRight(base, "/")); ok {
		s.Path = path
	}
	return s
}
