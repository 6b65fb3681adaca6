package enginetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/scimwright/scimwright/engine"
)

// Directory is an engine.Directory in memory. The zero value is empty. After a change, call Engine.Mark for the principal.
type Directory struct {
	mu      sync.Mutex
	targets map[string]engine.Target
	users   map[[2]string]engine.UserState
	groups  map[[2]string]engine.GroupState
	members map[[2]string]map[string]bool
	// unlisted are the ids that Principals omits.
	unlisted map[string]bool
	err      error
}

var _ engine.Directory = (*Directory)(nil)

// SetTarget sets the connection of an app.
func (d *Directory) SetTarget(app string, t engine.Target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(&d.targets, app, t)
}

// SetUser sets the desired state of a user in an app.
func (d *Directory) SetUser(app, id string, u engine.UserState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(&d.users, [2]string{app, id}, u)
}

// SetGroup sets the desired state of a group in an app.
func (d *Directory) SetGroup(app, id string, g engine.GroupState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(&d.groups, [2]string{app, id}, g)
}

// SetMember adds a user to a pushed group if in is true, and removes the user if in is false.
func (d *Directory) SetMember(app, group, user string, in bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := [2]string{app, group}
	if d.members[key] == nil {
		put(&d.members, key, map[string]bool{})
	}
	if in {
		d.members[key][user] = true
	} else {
		delete(d.members[key], user)
	}
}

// Fail makes every method return err, until Fail(nil) is called.
func (d *Directory) Fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// Target implements engine.Directory.
func (d *Directory) Target(_ context.Context, app string) (engine.Target, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.targets[app]
	if d.err == nil && !ok {
		return t, fmt.Errorf("%w: %s", engine.ErrUnknownApp, app)
	}
	return t, d.err
}

// User implements engine.Directory.
func (d *Directory) User(_ context.Context, app, user string) (engine.UserState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u, ok := d.users[[2]string{app, user}]
	if !ok {
		u.Want = engine.Absent
	}
	return u, d.err
}

// Group implements engine.Directory.
func (d *Directory) Group(_ context.Context, app, group string) (engine.GroupState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, ok := d.groups[[2]string{app, group}]
	if !ok {
		g.Want = engine.Absent
	}
	return g, d.err
}

// Members implements engine.Directory.
func (d *Directory) Members(_ context.Context, app, group, after string, limit int) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Sorted(maps.Keys(d.members[[2]string{app, group}]))
	i, found := slices.BinarySearch(all, after)
	if found {
		i++
	}
	return all[i:min(i+limit, len(all))], d.err
}

// IsMember implements engine.Directory.
func (d *Directory) IsMember(_ context.Context, app, group string, users []string) (map[string]bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]bool{}
	for _, u := range users {
		out[u] = d.members[[2]string{app, group}][u]
	}
	return out, d.err
}
