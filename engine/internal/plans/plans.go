package plans

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/dryrun"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/store"
)

const (
	// maxPlanRequests is the maximum number of stored requests per principal. PlanItem.Sent is the number of all requests.
	maxPlanRequests = 20
	// planChunk is the number of dry runs that are stored together.
	planChunk = 200
	// maxAttempts is the maximum number of dry runs of a principal if the target requests a pause.
	maxAttempts = 5
)

// Store has the methods of package store that a plan uses.
type Store interface {
	Counts(ctx context.Context, app string) (map[engine.Status]int, error)
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
	SavePlan(ctx context.Context, p engine.Plan) error
	AddPlanItems(ctx context.Context, items []engine.PlanItem) error
	DiscardPlan(ctx context.Context, id string) error
	Planned(ctx context.Context, tx engine.Execer, id string) (engine.Plan, []store.Planned, error)
	ApplyPlan(ctx context.Context, tx engine.Execer, now time.Time, p engine.Plan, to engine.PlanStatus, items []engine.PlanItem) error
}

// Deps are the dependencies of plans; all fields are required.
type Deps struct {
	Store     Store
	Directory engine.Directory // the directory for requests without PlanRequest.Directory
	DryRuns   dryrun.Deps
	Backoff   lane.Backoff
	Now       func() time.Time
}

// Make creates a plan and stores it; see provision.Plans.Make.
func (d Deps) Make(ctx context.Context, req engine.PlanRequest) (engine.Plan, error) {
	if !req.All && len(req.Principals) == 0 {
		return engine.Plan{}, errors.New("engine: PlanRequest names no principals: list them, or set All for all known principals")
	}
	if req.Expires <= 0 {
		req.Expires = engine.PlanTTL
	}
	if err := d.bounded(ctx, req); err != nil {
		return engine.Plan{}, err
	}
	x, err := d.DryRuns.Open(ctx, req.App, req.Directory)
	if err != nil {
		return engine.Plan{}, err
	}
	now := d.Now()
	p := engine.Plan{
		ID: rand.Text(), App: req.App, Reason: req.Reason, BaseURL: x.Target().BaseURL, Status: engine.PlanMaking,
		CreatedAt: now, ExpiresAt: now.Add(req.Expires), Operations: map[engine.Operation]int{}, Outcomes: map[engine.Class]int{},
	}
	if err := d.Store.SavePlan(ctx, p); err != nil {
		return engine.Plan{}, err
	}
	if err := d.fill(ctx, x, req, &p); err != nil {
		discard, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
		defer cancel()
		return engine.Plan{}, fmt.Errorf("engine: plan for %s: %w", req.App, errors.Join(err, d.Store.DiscardPlan(discard, p.ID)))
	}
	return p, nil
}

// bounded rejects a plan for too many principals before the first dry run.
func (d Deps) bounded(ctx context.Context, req engine.PlanRequest) error {
	n := len(req.Principals)
	if req.All {
		counts, err := d.Store.Counts(ctx, req.App)
		if err != nil {
			return err
		}
		n = 0
		for _, c := range counts {
			n += c
		}
	}
	if n > engine.MaxPlanItems {
		return fmt.Errorf("%w: %d, the maximum is %d", engine.ErrTooMany, n, engine.MaxPlanItems)
	}
	return nil
}

// fill performs the dry runs and stores the items.
func (d Deps) fill(ctx context.Context, x *dryrun.App, req engine.PlanRequest, p *engine.Plan) error {
	var chunk []engine.Principal
	flush := func() error {
		all, err := d.items(ctx, x, req.App, chunk)
		if err != nil {
			return err
		}
		var items []engine.PlanItem
		for _, i := range all {
			if i.omit && !slices.Contains(req.Principals, engine.Principal{Kind: i.Kind, ID: i.ID}) {
				continue
			}
			p.Items++
			i.Plan, i.Seq = p.ID, p.Items
			p.Operations[i.Operation]++
			p.Outcomes[i.Outcome]++
			items = append(items, i.PlanItem)
		}
		chunk = chunk[:0]
		return d.Store.AddPlanItems(ctx, items)
	}
	for one, err := range d.principals(ctx, req) {
		if err != nil {
			return err
		}
		if p.Items+len(chunk) == engine.MaxPlanItems {
			return fmt.Errorf("%w: more than %d", engine.ErrTooMany, engine.MaxPlanItems)
		}
		if chunk = append(chunk, one); len(chunk) == planChunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	p.Status = engine.PlanOpen
	return d.Store.SavePlan(ctx, *p)
}

// principals returns the principals of a plan without duplicates.
func (d Deps) principals(ctx context.Context, req engine.PlanRequest) iter.Seq2[engine.Principal, error] {
	return func(yield func(engine.Principal, error) bool) {
		seen := map[engine.Principal]bool{}
		each := func(p engine.Principal) bool {
			if seen[p] {
				return true
			}
			seen[p] = true
			return yield(p, principal.Check(req.App, p.Kind, p.ID))
		}
		for _, p := range req.Principals {
			if !each(p) {
				return
			}
		}
		if !req.All {
			return
		}
		for _, kind := range []engine.Kind{engine.User, engine.Group} {
			q := engine.StateQuery{App: req.App, Kind: kind, Limit: directory.Page}
			for {
				page, err := d.Store.States(ctx, q)
				if err != nil {
					yield(engine.Principal{}, err)
					return
				}
				for _, s := range page {
					if !each(engine.Principal{Kind: s.Kind, ID: s.ID}) {
						return
					}
				}
				if len(page) < directory.Page {
					break
				}
				q.After = &page[len(page)-1]
			}
		}
	}
}

// item is the planned change of a principal.
type item struct {
	engine.PlanItem
	omit bool // a plan with All omits the item: it has no change, or it is skipped as in the last sequence
}

// items performs dry runs of principals, several concurrently.
func (d Deps) items(ctx context.Context, x *dryrun.App, app string, all []engine.Principal) ([]item, error) {
	items := make([]item, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(x.Concurrency())
	for i, p := range all {
		group.Go(func() (err error) {
			items[i], err = d.item(ctx, x, app, p)
			return err
		})
	}
	return items, group.Wait()
}

func (d Deps) item(ctx context.Context, x *dryrun.App, app string, p engine.Principal) (item, error) {
	// Before the dry run: the digest then detects a change of the desired state during it.
	digest, err := directory.Digest(ctx, x.Directory(), app, p)
	if err != nil {
		return item{}, fmt.Errorf("the desired state of the %s %s is unavailable: %w", p.Kind, p.ID, err)
	}
	r, err := d.runRepeatedly(ctx, x, p)
	switch {
	case err != nil:
		return item{}, err
	case r.Outcome.Class == engine.Denied:
		return item{}, errors.New(r.Outcome.Message)
	}
	t := r.Trace()
	if t.Members != nil && t.State.Status == engine.StatusClean && x.MembersHidden() {
		t.Members = nil // nothing to show: the target never returns members
	}
	if t.Idle() {
		t.Operation = engine.OpNone
	}
	skipped := t.Outcome == engine.Skipped && t.State.Status == engine.StatusSkipped
	return item{omit: t.Operation == engine.OpNone && (t.Outcome == engine.Done || skipped), PlanItem: engine.PlanItem{
		Kind: p.Kind, ID: p.ID, Operation: t.Operation, Outcome: t.Outcome, Message: t.Message, Generation: t.State.Desired, Digest: digest,
		Sent: len(t.Requests), Requests: t.Requests[:min(len(t.Requests), maxPlanRequests)], Diff: t.Diff, Members: t.Members, Waiting: t.Waiting,
	}}, nil
}

// runRepeatedly performs the dry run of a principal, and repeats it when the target requests a pause.
func (d Deps) runRepeatedly(ctx context.Context, x *dryrun.App, p engine.Principal) (*dryrun.Run, error) {
	for attempt := 1; ; attempt++ {
		r, err := x.Run(ctx, p.Kind, p.ID, dryrun.Assumptions{Marked: true, Unguarded: true})
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case r.Outcome.Class != engine.Throttled || attempt == maxAttempts:
			return r, nil
		}
		x.SlowDown()
		now := d.Now()
		pause.For(ctx, max(connect.RetryAfter(r.Outcome.RetryAfter, now).Sub(now), d.Backoff.Delay(attempt)))
	}
}
