package sandbox

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// errChanged is the error of a change that was not stored, because another replica has stored a change first.
var errChanged = rest.Failf(rest.CodeMoved, "Another replica of the sandbox changes the service providers. Send the request again.")

// changeAttempts is the maximum number of attempts of a change that fails with errChanged.
const changeAttempts = 10

// retried runs a change, at most changeAttempts times, until it succeeds or fails with another error than errChanged.
func retried(change func() error) (err error) {
	for range changeAttempts {
		if err = change(); !errors.Is(err, errChanged) {
			break
		}
	}
	return err
}

// Create implements sandboxport.Providers.
func (p *providers) Create(ctx context.Context, wanted sandboxport.NewProvider) (made sandboxport.Provider, token string, err error) {
	err = retried(func() error {
		made, token, err = p.tryCreate(ctx, wanted)
		return err
	})
	return made, token, err
}

// Remove implements sandboxport.Providers.
func (p *providers) Remove(ctx context.Context, name string) error {
	return retried(func() error { return p.tryRemove(ctx, name) })
}

// Reset implements sandboxport.Providers.
func (p *providers) Reset(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(name)
	if err != nil {
		return err
	}
	return p.store.Update(ctx, func(tx *docstore.Tx) error { return p.store.Empty(ctx, tx, collections(t.Config())...) })
}

// CreateToken implements sandboxport.Providers.
func (p *providers) CreateToken(
	ctx context.Context, name string, wanted sandboxport.NewToken,
) (made sandboxport.ProviderToken, value string, err error) {
	err = retried(func() error {
		made, value, err = p.tryCreateToken(ctx, name, wanted)
		return err
	})
	return made, value, err
}

// RemoveToken implements sandboxport.Providers.
func (p *providers) RemoveToken(ctx context.Context, name, id string) error {
	return retried(func() error { return p.tryRemoveToken(ctx, name, id) })
}

// SetQuirks implements sandboxport.Providers. The quirks of created tenants are stored. Those of other tenants apply until the sandbox
// stops; on PostgreSQL, until the last replica stops.
func (p *providers) SetQuirks(ctx context.Context, name string, active []string) error {
	return retried(func() error { return p.trySetQuirks(ctx, name, active) })
}

// lock locks the providers for a change, after it has read the changes of other replicas.
func (p *providers) lock(ctx context.Context) error {
	p.mu.Lock()
	if p.replicas == nil {
		return nil
	}
	_, err := p.reread(ctx)
	if err != nil {
		p.mu.Unlock()
	}
	return err
}

// update runs a change of the stored tenants. It fails with errChanged if another replica has changed them since lock.
func (p *providers) update(ctx context.Context, fn func(tx *docstore.Tx) error) error {
	var changed docstore.Doc[changeCount]
	err := p.store.Update(ctx, func(tx *docstore.Tx) error {
		if p.replicas != nil {
			var err error
			if changed, err = p.changes.Update(ctx, tx, settingsID, p.rev, changeCount{p.rev}); err != nil {
				return err
			}
		}
		return fn(tx)
	})
	switch {
	case err == nil && p.replicas != nil:
		p.rev = changed.Rev
	case p.replicas != nil && errors.Is(err, docstore.ErrConflict):
		return errChanged
	}
	return err
}

// create stores the document of changes if it is missing, so that it has a version.
func (p *providers) create(ctx context.Context) error {
	return p.store.Update(ctx, func(tx *docstore.Tx) error {
		_, err := p.changes.Get(ctx, tx, settingsID)
		if errors.Is(err, docstore.ErrNotFound) {
			_, err = p.changes.Insert(ctx, tx, settingsID, changeCount{})
		}
		return err
	})
}

// alone removes the quirks that earlier replicas have set for tenants of the configuration, so that the quirks of the configuration apply
// again. It is called when a replica starts while no other replica runs.
func (p *providers) alone(ctx context.Context, within *sqldb.Tx) error {
	return p.store.Within(ctx, within.Execer(), func(tx *docstore.Tx) error {
		docs, err := p.read(ctx, tx)
		if err != nil {
			return err
		}
		for name, k := range docs {
			if k.Created || k.Set == 0 {
				continue
			}
			k.Set, k.Quirks = 0, nil
			if _, err := p.stored.Update(ctx, tx, name, 0, k); err != nil {
				return err
			}
		}
		_, err = p.changes.Update(ctx, tx, settingsID, 0, changeCount{}) // for a replica that counted as dead and runs again
		return err
	})
}

// follow reads the stored tenants again if another replica has changed them, and serves what they describe. It returns the version of the
// document of changes.
func (p *providers) follow(ctx context.Context) (docstore.Version, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reread(ctx)
}

// reread does the same as follow. The caller holds the lock.
func (p *providers) reread(ctx context.Context) (docstore.Version, error) {
	at, err := p.changes.Get(ctx, p.store.Reader(), settingsID)
	if err != nil || at.Rev == p.rev {
		return p.changes.Version(at), err
	}
	before := p.docs
	if p.docs, err = p.read(ctx, p.store.Reader()); err != nil {
		p.docs = before
		return docstore.Version{}, err
	}
	// The tenants belong to all later requests, so that the end of this one must not interrupt the changes.
	if err := p.serve(context.WithoutCancel(ctx), before); err != nil {
		p.docs = before
		return docstore.Version{}, err
	}
	p.rev = at.Rev
	return p.changes.Version(at), nil
}

// serve adds, changes and stops tenants, so that those of the stored documents and of the configuration are served.
func (p *providers) serve(ctx context.Context, before map[string]storedTenant) error {
	wanted, err := p.configs()
	if err != nil {
		return err
	}
	for _, t := range p.tenants.All() {
		name := t.Config().Name
		if _, ok := wanted[name]; ok && before[name].Instance == p.docs[name].Instance {
			continue
		}
		if err := p.tenants.Stop(ctx, name); err != nil && !errors.Is(err, tenants.ErrNotFound) {
			return err
		}
		delete(p.set, name)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		c := wanted[name]
		t, ok := p.tenants.Get(name)
		if !ok {
			if err := p.add(ctx, c); err != nil {
				return err
			}
			continue
		}
		if err := t.SetTokens(c.Tokens...); err != nil {
			return err
		}
		if set := p.docs[name].Set; set != p.set[name] {
			if err := t.SetSharedQuirks(p.replicas.quirksOf(name, set), c.Quirks...); err != nil {
				return err
			}
			p.set[name] = set
		}
	}
	return nil
}
