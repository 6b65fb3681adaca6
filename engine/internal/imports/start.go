package imports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/engine"
)

// Start adds a run; see provision.Imports.Start.
func (w *Worker) Start(ctx context.Context, app string, r engine.ImportRequest) (int64, error) {
	if _, ok := w.Directory.(engine.Matcher); !ok {
		return 0, engine.ErrNoMatcher
	}
	if err := fill(&r); err != nil {
		return 0, fmt.Errorf("engine: import of %s: %w", app, err)
	}
	if _, err := w.Directory.Target(ctx, app); err != nil {
		return 0, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	id, err := w.Store.StartImport(ctx, app, r, w.Now())
	if err != nil {
		return 0, fmt.Errorf("engine: import of %s: %w", app, err)
	}
	if err := w.Insert(ctx, Kind, strconv.FormatInt(id, 10), 0); err != nil {
		w.Logger.WarnContext(ctx, "the job of an import was not inserted: the import starts within a minute", "app", app, "run", id,
			"error", err)
	}
	return id, nil
}

// fill checks a request and fills in its defaults.
func fill(r *engine.ImportRequest) error {
	if r.Kind == "" {
		r.Kind = engine.User
	}
	if len(r.Match) == 0 {
		r.Match = []engine.MatchRule{engine.MatchExternalID, engine.MatchUserName}
	}
	if r.MaxGone == 0 {
		r.MaxGone = engine.DefaultMaxGone
	}
	if r.Kind != engine.User && r.Kind != engine.Group {
		return fmt.Errorf("unknown kind %q", r.Kind)
	}
	if i := slices.IndexFunc(r.Match, func(m engine.MatchRule) bool { return !m.Known() }); i >= 0 {
		return fmt.Errorf("unknown match rule %q", r.Match[i])
	}
	if r.MaxGone < 0 || r.MaxGone > 100 {
		return errors.New("MaxGone must be between 0 and 100")
	}
	return nil
}
