package enginetest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/drift"
)

var (
	_ engine.Matcher = (*Directory)(nil)
	_ engine.Lister  = (*Directory)(nil)
)

// Match implements engine.Matcher. It returns the principals that have an identifier, a name, an email address or the part before the @ in
// common with the object.
func (d *Directory) Match(_ context.Context, app string, kind engine.Kind, objects []engine.RemoteObject) ([][]engine.Candidate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return nil, d.err
	}
	by := map[string][]engine.Candidate{}
	for _, c := range d.candidates(app, kind) {
		for key := range keys(c.UserName, c.ExternalID, c.DisplayName, c.Emails) {
			by[key] = append(by[key], c)
		}
	}
	out := make([][]engine.Candidate, len(objects))
	for i, o := range objects {
		emails := drift.ObjectOf(o.Resource).Emails
		for _, key := range slices.Sorted(maps.Keys(keys(o.UserName, o.ExternalID, o.DisplayName, emails))) {
			out[i] = append(out[i], by[key]...)
		}
	}
	return out, nil
}

// Principals implements engine.Lister. It returns all users or groups that were set, except those passed to Unlist.
func (d *Directory) Principals(_ context.Context, app string, kind engine.Kind, after string, limit int) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for _, c := range d.candidates(app, kind) {
		if c.ID > after && !d.unlisted[c.ID] {
			all = append(all, c.ID)
		}
	}
	slices.Sort(all)
	return all[:min(limit, len(all))], d.err
}

// Unlist makes Principals omit the ids, to simulate a directory with an incomplete index.
func (d *Directory) Unlist(ids ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		put(&d.unlisted, id, true)
	}
}

func (d *Directory) candidates(app string, kind engine.Kind) (out []engine.Candidate) {
	if kind == engine.Group {
		for key, g := range d.groups {
			if key[0] == app {
				out = append(out, engine.Candidate{ID: key[1], UserName: g.DisplayName})
			}
		}
		return out
	}
	for key, u := range d.users {
		if key[0] != app {
			continue
		}
		c := engine.Candidate{ID: key[1], UserName: u.UserName}
		if u.Resource != nil {
			o := drift.ObjectOf(u.Resource)
			c.ExternalID, c.Emails, c.DisplayName = o.ExternalID, o.Emails, o.DisplayName
		}
		out = append(out, c)
	}
	return out
}

// keys returns the values that Match compares, in lower case.
func keys(userName, externalID, displayName string, emails []string) map[string]bool {
	out := map[string]bool{}
	for _, text := range append([]string{userName, externalID, displayName}, emails...) {
		local, _, _ := strings.Cut(strings.ToLower(text), "@")
		out[strings.ToLower(text)], out[local] = true, true
	}
	delete(out, "")
	return out
}
