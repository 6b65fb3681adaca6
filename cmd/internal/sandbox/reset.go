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
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.wipe(ctx, p); err != nil || !seed {
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
		if err = saveSettings(ctx, p.store, p.stored, kept); err == nil {
			s.settings = kept
			return nil
		}
	}
	return errors.Join(fmt.Errorf("seed: %w", err), s.wipe(context.WithoutCancel(ctx), p))
}

// wipe restores the initial content of the organization, without the seed.
func (s *Sandbox) wipe(ctx context.Context, p *parts) error {
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
