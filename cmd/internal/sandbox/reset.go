package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi"
)

// reset restores the initial content of the organization while the sandbox runs. One transaction deletes the organization, the state of its
// applications in the engine and the resources in the sandbox's SCIM servers, and creates the initial content. Running sequences lose the
// leases of their lanes, so the store rejects their results. The seed is created after that, through the API as at the start. If the seed
// fails, the initial content is restored again.
func (s *Sandbox) reset(ctx context.Context, p *parts, seed bool) error {
	ctx, l, err := s.change(ctx, p)
	if err != nil {
		return err
	}
	defer l.release()
	if err := s.wipe(ctx, p, l); err != nil || !seed {
		return err
	}
	seeding, cancel := context.WithTimeout(ctx, s.options.SeedTime)
	defer cancel()
	seeder, end := s.seeder(p)
	defer end()
	apps, err := seeder.seedOrganization(seeding)
	if err == nil {
		kept := s.settings
		kept.Apps = apps
		if err = saveSettings(ctx, p.store, p.stored, l, kept); err == nil {
			s.settings = kept
			return nil
		}
	}
	return errors.Join(fmt.Errorf("seed: %w", err), s.wipe(context.WithoutCancel(ctx), p, l))
}

// change returns when no other change of the whole organization runs, on this sandbox or on a replica of it, and reads the settings again.
// The caller releases the lease.
func (s *Sandbox) change(ctx context.Context, p *parts) (context.Context, *lease, error) {
	s.changing.Lock()
	ctx, l, err := p.replicas.acquire(ctx)
	if err != nil {
		s.changing.Unlock()
		return ctx, nil, err
	}
	end := l.release
	l.release = func() { end(); s.changing.Unlock() }
	if s.settings, err = storedSettings(ctx, p.store, p.stored); err != nil {
		l.release()
		return ctx, nil, err
	}
	return ctx, l, nil
}

// wipe restores the initial content of the organization, without the seed.
func (s *Sandbox) wipe(ctx context.Context, p *parts, l *lease) error {
	kept := s.settings
	kept.Apps = nil // the apps were deleted; a later start must not connect them
	var gone []string
	err := p.api.Reset(ctx, p.initialContent(), func(ctx context.Context, tx mgmtapi.Tx, apps []string) error {
		for _, app := range apps {
			if err := p.engine.Forget(ctx, tx, app); err != nil {
				return err
			}
		}
		gone = apps
		return p.store.Within(ctx, tx, func(tx *docstore.Tx) error {
			if err := l.check(ctx, tx.SQL()); err != nil {
				return err
			}
			for _, t := range p.tenants.All() {
				if _, err := p.store.Clear(ctx, tx, collections(t.Config())...); err != nil {
					return err
				}
			}
			_, err := p.stored.Update(ctx, tx, settingsID, 0, kept)
			return err
		})
	})
	if err != nil {
		return err
	}
	s.settings = kept
	for _, app := range gone {
		p.appDeleted(app)
	}
	p.engine.Wake()
	return nil
}
