package imports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const (
	// dueBatch is the maximum number of due schedules that one call reads.
	dueBatch = 20
	// claim is the duration for which a process that starts an import excludes other processes. An import that cannot start, because another
	// import of the app is running, is retried when the claim has expired.
	claim = 20 * time.Second
)

// startDue starts the imports that are due by their schedules, and returns the time until the next one is due, at most sweepInterval. After
// several missed times of a schedule, it starts only one import, because the next time that it stores is in the future.
func (s *Service) startDue(ctx context.Context) (next time.Duration, err error) {
	now := s.Now()
	page, err := s.DueImports.Query(ctx, s.Store.Reader(), docstore.Query[model.DueImport]{
		Where: docstore.Le(model.DueImportByAt, now.Add(sweepInterval)), OrderBy: model.DueImportByAt, Limit: dueBatch,
	})
	if err != nil {
		return sweepInterval, err
	}
	next = sweepInterval
	var failures []error
	for n, doc := range page.Docs {
		if wait := doc.Value.At.Sub(now); wait > 0 {
			next = wait
			break
		}
		if n == dueBatch-1 {
			next = 0 // there may be more
		}
		due, err := s.claim(ctx, doc.ID)
		if err == nil && due != nil {
			if _, err = s.start(rest.WithBaseURL(ctx, due.Base), doc.ID, false, due); isRejection(err) {
				err = nil // no failure: the next call after the end of the claim starts the import again
				next = min(next, claim)
			}
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("scheduled import of %s: %w", doc.ID, err))
			next = min(next, claim)
		}
	}
	return next, errors.Join(failures...)
}

// claim claims a due import; nil if it is no longer due. A time at which the app or its connection is inactive is skipped.
func (s *Service) claim(ctx context.Context, app string) (claimed *model.DueImport, err error) {
	err = s.Deps.Update(ctx, func(tx *docstore.Tx) error {
		claimed = nil
		doc, err := model.Optional(ctx, tx, s.DueImports, app)
		if err != nil || doc == nil || doc.Value.At.After(s.Now()) {
			return err
		}
		a, err := s.loadContext(ctx, tx, app)
		if err != nil {
			return err
		}
		if a == nil || a.app.Value.Status != model.AppActive || !a.conn.Imports() {
			return s.pass(ctx, tx, doc, a)
		}
		doc.Value.At = s.Now().Add(claim)
		claimed = &doc.Value
		_, err = s.DueImports.Update(ctx, tx, app, doc.Rev, doc.Value)
		return err
	})
	return claimed, err
}

// pass stores the next time of the schedule that is in the future.
func (s *Service) pass(ctx context.Context, tx *docstore.Tx, doc *docstore.Doc[model.DueImport], a *importContext) error {
	var next time.Time
	if a != nil {
		next = a.settings.Schedule.Next(s.Now())
	}
	if next.IsZero() {
		return s.DueImports.Delete(ctx, tx, doc.ID)
	}
	doc.Value.Due, doc.Value.At = next, next
	_, err := s.DueImports.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
	return err
}

// finishClaim stores the next time after a claimed import was started. It returns an error if the claim is no longer valid.
func (s *Service) finishClaim(ctx context.Context, tx *docstore.Tx, app string, claimed *model.DueImport) error {
	doc, err := model.Optional(ctx, tx, s.DueImports, app)
	if err != nil {
		return err
	}
	if doc == nil || !doc.Value.At.Equal(claimed.At) {
		return rest.Failf(rest.CodeMoved, "Another process has started the import, or its schedule has changed.")
	}
	a, err := s.loadContext(ctx, tx, app)
	if err != nil {
		return err
	}
	return s.pass(ctx, tx, doc, a)
}
