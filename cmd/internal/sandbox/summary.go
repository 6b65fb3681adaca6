package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
)

// statePage is the number of states per query.
const statePage = 500

// statePages calls fn with each page of the states of an app's principals. An empty app means all apps.
func statePages(ctx context.Context, eng *provision.Engine, app string, fn func([]engine.State) error) error {
	q := engine.StateQuery{App: app, Limit: statePage}
	for {
		states, err := eng.States(ctx, q)
		if err != nil {
			return err
		}
		if err := fn(states); err != nil || len(states) < statePage {
			return err
		}
		q.After = &states[len(states)-1]
	}
}

// summarize counts the principals of the apps by their provisioned state.
func (p *parts) summarize(ctx context.Context, apps []seededApp) ([]appSummary, error) {
	var all []appSummary
	for _, app := range apps {
		sum := appSummary{label: app.Label, style: app.Style}
		err := statePages(ctx, p.engine, app.ID, func(states []engine.State) error {
			for _, s := range states {
				sum.add(s)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, sum)
	}
	return all, nil
}

func (a *appSummary) add(s engine.State) {
	switch {
	case s.Status != engine.StatusClean && s.Status != engine.StatusSkipped:
		a.incomplete++
	case s.RemoteID == "": // the target has no account for the principal
	case s.Kind == engine.Group:
		a.groups++
	case s.Want == engine.Active:
		a.active++
	default:
		a.inactive++
	}
}
