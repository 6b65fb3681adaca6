package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
)

// maxWaiting is the maximum number of pending principals that are listed.
const maxWaiting = 20

// waitTime is the timeout of the query for pending principals. The query runs after the timeout of the caller has passed.
const waitTime = 5 * time.Second

// DescribeWaiting returns a line for each of the first pending principals of all apps, with the reason. The API shows the same lines after
// a timeout.
func DescribeWaiting(ctx context.Context, e *provision.Engine, n Names) ([]string, error) {
	return waitingFor(ctx, n, e, "", nil)
}

// waitingFor describes the pending principals of an app (empty: of all apps), or one of them.
func waitingFor(
	ctx context.Context, n Names, eng *provision.Engine, app string, only *engine.Principal,
) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitTime)
	defer cancel()
	lags, err := eng.Apps().Lags(ctx)
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
			one, err := eng.Tasks().WaitingFor(ctx, l.App, only.Kind, only.ID)
			if err != nil {
				return nil, err
			}
			waiting = append(waiting, one...)
			continue
		}
		some, err := eng.Tasks().Waiting(ctx, l.App, maxWaiting)
		if err != nil {
			return nil, err
		}
		some = some[:min(len(some), maxWaiting-len(waiting))]
		waiting = append(waiting, some...)
		more += l.Due - len(some)
	}
	texts, err := waitingTexts(ctx, n, eng, waiting)
	if more > 0 && len(waiting) > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts, err
}

func waitingTexts(ctx context.Context, n Names, eng *provision.Engine, waiting []engine.Waiting) ([]string, error) {
	about := map[string][]engine.Principal{} // by app
	for _, w := range waiting {
		about[w.App] = append(about[w.App], engine.Principal{Kind: w.Kind, ID: w.ID})
	}
	names := map[string]map[engine.Principal]string{}
	for app, principals := range about {
		var err error
		if names[app], err = NamesOf(ctx, n, eng, app, principals); err != nil {
			return nil, err
		}
	}
	labels := map[string]string{}
	var texts []string
	for _, w := range waiting {
		if _, known := labels[w.App]; !known {
			app, err := n.App(ctx, w.App)
			if err != nil && !errors.Is(err, engine.ErrNotFound) {
				return nil, err
			}
			labels[w.App] = cmp.Or(app.Label, w.App)
		}
		name := cmp.Or(names[w.App][engine.Principal{Kind: w.Kind, ID: w.ID}], w.ID)
		text := fmt.Sprintf("%s %s of %s (%s): %s", w.Kind, name, labels[w.App], w.Status, w.Reason)
		if !w.Until.IsZero() {
			text += "; until " + w.Until.UTC().Format(time.RFC3339)
		}
		texts = append(texts, text)
	}
	return slices.Clip(texts), nil
}
