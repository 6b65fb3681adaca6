package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/drift"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/scim"
)

const (
	importLanes    = 4  // imports that one engine works on at once
	importSweeps   = 5  // of Options.Sweep between two looks for runs that others left behind
	importAttempts = 10 // to read a page
	confirmBatch   = 200

	pausedRest = 10 * time.Minute // of an import whose app is paused
	errorRest  = time.Second      // of an import after the store failed
)

// importing works on one run for the time of a tenure. It is the lane.Func of imports, whose leases name runs.
func (e *Engine) importing(ctx context.Context, t *lane.Ownership) (engine.Hold, time.Time) {
	id, err := strconv.ParseInt(t.Lease.App, 10, 64)
	var run engine.ImportRun
	if err == nil {
		run, err = e.o.Store.ImportRun(ctx, id)
	}
	if err == nil {
		err = e.importRun(ctx, t, run)
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, engine.ErrLeaseLost) || errors.Is(err, engine.ErrNotFound) {
		return engine.Hold{}, time.Time{}
	}
	if later, ok := errors.AsType[*delayed](err); ok {
		return engine.Hold{}, e.o.Now().Add(later.by)
	}
	e.o.Logger.ErrorContext(ctx, "import interrupted", "app", run.App, "run", id, "error", err)
	return engine.Hold{}, e.o.Now().Add(errorRest)
}

// importRun reads on where the run is, draws the conclusions and confirms. What is the fault of the target or the directory ends or
// delays the run; the error is the store's.
func (e *Engine) importRun(ctx context.Context, t *lane.Ownership, run engine.ImportRun) error {
	store := e.o.Store
	for first := true; !run.Read; first = false {
		if t.Draining() || ctx.Err() != nil {
			return nil
		}
		page, err := e.importPage(ctx, run, first)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, engine.ErrPaused):
			return &delayed{pausedRest}
		case err != nil:
			return e.importFailed(ctx, t, run, err)
		}
		err = store.SaveImportPage(ctx, t.Lease, page)
		if errors.Is(err, engine.ErrDuplicateObject) {
			err = &plan.ListError{Broken: true, Message: fmt.Sprintf("the list %s cannot be read at startIndex %d: an object was listed before, so startIndex has no effect",
				endpoints[run.Request.Kind], run.Seen+1)}
			return e.importFailed(ctx, t, run, err)
		}
		if err != nil {
			return err
		}
		run.Seen, run.Total, run.Read, run.Attempts = page.Seen, page.Total, page.Last, 0
	}
	if err := store.CloseImport(ctx, t.Lease, e.o.Now()); err != nil {
		return err
	}
	run, err := store.ImportRun(ctx, run.ID)
	if err != nil || run.State != engine.ImportRunning {
		return err // stopped
	}
	for n := 1; run.Request.AutoConfirm && n > 0; {
		if n, err = store.ConfirmMatched(ctx, t.Lease, e.o.Now(), confirmBatch); err != nil {
			return err
		}
	}
	if err := store.EndImport(ctx, t.Lease, engine.ImportDone, "", e.o.Now()); err != nil {
		return err
	}
	e.Wake(run.App) // what a link has made due
	return nil
}

// importFailed ends a run, or has it go on later at the same page.
func (e *Engine) importFailed(ctx context.Context, t *lane.Ownership, run engine.ImportRun, failure error) error {
	run.Attempts++
	again, message := true, errtext.Plain(failure)
	if f, ok := errors.AsType[*plan.ListError](failure); ok {
		again = !f.Broken && f.Class.Info().Temporary
	}
	if !again || errors.Is(failure, engine.ErrUnknownApp) || errors.Is(failure, engine.ErrNoMatcher) || run.Attempts >= importAttempts {
		return e.o.Store.EndImport(ctx, t.Lease, engine.ImportFailed, message, e.o.Now())
	}
	if err := e.o.Store.DelayImport(ctx, t.Lease, run.Attempts, message); err != nil {
		return err
	}
	return &delayed{e.sequences.Backoff.Delay(run.Attempts)}
}

// importPage reads the next page of a run and says whose the objects are. The target is asked for each time, so that new credentials
// and a pause take effect.
func (e *Engine) importPage(ctx context.Context, run engine.ImportRun, first bool) (engine.ImportPage, error) {
	r, err := e.reader(ctx, run.App)
	if err == nil && first {
		_, err = r.recall(ctx, run.App)
	}
	if err != nil {
		return engine.ImportPage{}, err
	}
	p := &plan.Pages{Endpoint: endpoints[run.Request.Kind], Listed: run.Seen, Total: run.Total, Max: engine.MaxListed}
	p.FullPages = r.Target.Fallback == engine.FallbackNone
	page, last, err := r.page(ctx, p)
	if err != nil {
		return engine.ImportPage{}, err
	}
	objects, err := e.judge(ctx, run, page)
	for i := range objects {
		if objects[i].Resource.Delete("password"); !run.Request.Keep {
			objects[i].Resource = nil
		}
	}
	return engine.ImportPage{Objects: objects, Seen: p.Listed, Total: p.Total, Last: last}, err
}

// judge gives each object of a page its verdict.
func (e *Engine) judge(ctx context.Context, run engine.ImportRun, page []*scim.Resource) ([]engine.RemoteObject, error) {
	kind := run.Request.Kind
	objects, seen := make([]engine.RemoteObject, len(page)), make([]drift.Object, len(page))
	ids := make([]string, len(page))
	for i, r := range page {
		seen[i] = drift.ObjectOf(r)
		ids[i] = r.ID()
		objects[i] = engine.RemoteObject{
			App: run.App, Kind: kind, RemoteID: seen[i].RemoteID, UserName: seen[i].UserName, ExternalID: seen[i].ExternalID,
			DisplayName: seen[i].DisplayName, Active: plan.IsActive(r), Hash: contentHash(r), Run: run.ID, Resource: r,
		}
		if len(seen[i].Emails) > 0 {
			objects[i].Email = seen[i].Emails[0]
		}
	}
	owners, err := e.o.Store.StatesByRemoteID(ctx, run.App, kind, ids)
	if err != nil {
		return nil, err
	}
	linked := map[string]string{}
	for _, s := range owners {
		linked[s.RemoteID] = s.ID
	}
	var open []int // of the objects that nobody has
	var asked []engine.RemoteObject
	for i := range objects {
		if owner, ok := linked[objects[i].RemoteID]; ok {
			objects[i].Verdict, objects[i].Principal = engine.VerdictLinked, owner
			continue
		}
		open, asked = append(open, i), append(asked, objects[i])
	}
	if len(open) == 0 {
		return objects, nil
	}
	matcher, ok := e.o.Directory.(engine.Matcher)
	if !ok {
		return nil, engine.ErrNoMatcher // the run was begun by an engine with another directory
	}
	candidates, err := matcher.Match(ctx, run.App, kind, asked)
	if err == nil && len(candidates) != len(asked) {
		err = fmt.Errorf("it was asked about %d objects and answered for %d", len(asked), len(candidates))
	}
	if err != nil {
		return nil, fmt.Errorf("the directory cannot tell whose the accounts are: %w", err)
	}
	var matched []string
	for n, i := range open {
		m := drift.Find(seen[i], candidates[n], run.Request.Match, run.Request.Partial)
		o := &objects[i]
		o.Verdict, o.Rule = m.Verdict, m.Rule
		if m.Verdict == engine.VerdictMatched {
			o.Principal = m.IDs[0]
			matched = append(matched, m.IDs[0])
		} else {
			o.Candidates = m.IDs[:min(len(m.IDs), engine.MaxCandidates)]
		}
	}
	states, err := e.o.Store.StatesByID(ctx, run.App, kind, matched)
	if err != nil {
		return nil, err
	}
	accounts := map[string]string{}
	for _, s := range states {
		accounts[s.ID] = s.RemoteID
	}
	for _, i := range open {
		o := &objects[i]
		if has := accounts[o.Principal]; o.Verdict == engine.VerdictMatched && has != "" {
			o.Verdict, o.Note = engine.VerdictAmbiguous, o.Principal+" has the account "+has+" already"
			o.Candidates, o.Principal = []string{o.Principal}, ""
		}
	}
	return objects, nil
}

// contentHash identifies what a resource says, apart from when it was changed.
func contentHash(r *scim.Resource) string {
	content := r.Clone()
	content.Delete("meta")
	sum := sha256.Sum256(content.AppendJSON(nil))
	return hex.EncodeToString(sum[:16])
}

// delayed has a run go on later.
type delayed struct{ by time.Duration }

func (d *delayed) Error() string { return "go on in " + d.by.String() }
