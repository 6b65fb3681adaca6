package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi"
)

// maxWaiting is how many of those that wait are named.
const maxWaiting = 20

// waitTime bounds the look at who waits, after the time of the caller was up.
const waitTime = 5 * time.Second

// waited is refused for an operation that has waited for an app, or for one user or group of it: when time is up, the causes say who waits,
// why and until when.
func (e *engineAPI) waited(ctx context.Context, err error, what, app, kind, id string) error {
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return refused(err, what, cmp.Or(id, app))
	}
	var only *engine.Principal
	if id != "" {
		only = &engine.Principal{Kind: engine.Kind(kind), ID: id}
	}
	causes, told := waitingFor(ctx, e.bridge.wanted, e.engine, app, only)
	if told != nil {
		return told
	}
	return &rest.Error{Code: rest.CodeNotDrained, Causes: causes, Err: err}
}

// waitingFor says of the principals of an app, or (empty) of all, or of one of them, that are not settled why they wait, and until when.
func waitingFor(
	ctx context.Context, wanted *mgmtapi.Wanted, eng *provision.Engine, app string, only *engine.Principal,
) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitTime)
	defer cancel()
	lags, err := eng.Lags(ctx)
	if err != nil {
		return nil, err
	}
	var waiting []engine.Waiting
	more := 0
	for _, l := range lags {
		if app != "" && l.App != app || l.Due == 0 {
			continue
		}
		if only != nil {
			one, err := eng.WaitingFor(ctx, l.App, only.Kind, only.ID)
			if err != nil {
				return nil, err
			}
			waiting = append(waiting, one...)
			continue
		}
		some, err := eng.Waiting(ctx, l.App, maxWaiting)
		if err != nil {
			return nil, err
		}
		some = some[:min(len(some), maxWaiting-len(waiting))]
		waiting = append(waiting, some...)
		more += l.Due - len(some)
	}
	texts, err := waitingTexts(ctx, wanted, eng, waiting)
	if more > 0 && len(waiting) > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts, err
}

func waitingTexts(ctx context.Context, wanted *mgmtapi.Wanted, eng *provision.Engine, waiting []engine.Waiting) ([]string, error) {
	about := map[string][]engine.Principal{} // by app
	for _, w := range waiting {
		about[w.App] = append(about[w.App], engine.Principal{Kind: w.Kind, ID: w.ID})
	}
	names := map[string]map[engine.Principal]string{}
	for app, principals := range about {
		var err error
		if names[app], err = namesOf(ctx, wanted, eng, app, principals); err != nil {
			return nil, err
		}
	}
	labels := map[string]string{}
	var texts []string
	for _, w := range waiting {
		if _, known := labels[w.App]; !known {
			app, err := wanted.App(ctx, w.App)
			if err != nil && !errors.Is(err, mgmtapi.ErrNotFound) {
				return nil, err
			}
			labels[w.App] = cmp.Or(app.Label, w.App)
		}
		text := fmt.Sprintf("%s %s of %s (%s): %s", w.Kind, cmp.Or(names[w.App][engine.Principal{Kind: w.Kind, ID: w.ID}], w.ID), labels[w.App], w.Status, w.Reason)
		if !w.Until.IsZero() {
			text += "; until " + w.Until.UTC().Format(time.RFC3339)
		}
		texts = append(texts, text)
	}
	return slices.Clip(texts), nil
}
