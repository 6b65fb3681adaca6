package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// statePage is how many states of principals are read at once.
const statePage = 500

// summarize counts the principals of the apps by what they were brought to.
func (p *parts) summarize(ctx context.Context, apps []seededApp) ([]appSummary, error) {
	var all []appSummary
	for _, app := range apps {
		sum := appSummary{label: app.Label, style: app.Style}
		q := engine.StateQuery{App: app.ID, Limit: statePage}
		for {
			states, err := p.engine.States(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, s := range states {
				sum.add(s)
			}
			if len(states) < statePage {
				break
			}
			q.After = &states[len(states)-1]
		}
		all = append(all, sum)
	}
	return all, nil
}

func (a *appSummary) add(s engine.State) {
	switch {
	case s.Status != engine.StatusClean && s.Status != engine.StatusSkipped:
		a.incomplete++
	case s.RemoteID == "": // nothing of it was ever at the target
	case s.Kind == engine.Group:
		a.groups++
	case s.Want == engine.Active:
		a.active++
	default:
		a.inactive++
	}
}
