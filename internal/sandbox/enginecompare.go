package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

// Drift implements sandboxapi.Comparisons.
func (e *engineAPI) Drift(ctx context.Context, app, kind string, repair bool, most int) (sandboxapi.Drift, error) {
	out := sandboxapi.Drift{Kind: kind, Findings: []sandboxapi.Finding{}}
	report, err := e.engine.Drift(ctx, app, engine.DriftRequest{Kind: engine.Kind(kind), Repair: repair, Each: func(f engine.Finding) error {
		if len(out.Findings) >= most {
			out.More = true
			return nil
		}
		finding, err := shown[sandboxapi.Finding](f)
		out.Findings = append(out.Findings, finding)
		return err
	}})
	if err != nil {
		return sandboxapi.Drift{}, unread(err, app)
	}
	out.DriftCounts = driftCounts(report)
	return out, nil
}

func driftCounts(r engine.DriftReport) sandboxapi.DriftCounts {
	c := sandboxapi.DriftCounts{
		Listed: r.Listed, Known: r.Known, Compared: r.Compared, Busy: r.Busy, Hidden: r.Hidden,
		Found: map[string]int{}, Drifted: r.Drifted(), Marked: r.Marked,
	}
	for what, n := range r.Found {
		c.Found[string(what)] = n
	}
	return c
}

// Reconcile implements sandboxapi.Comparisons.
func (e *engineAPI) Reconcile(ctx context.Context, app string) (map[string]sandboxapi.Reconciled, error) {
	found, err := e.engine.Reconcile(ctx, app)
	if err != nil {
		return nil, unread(err, app)
	}
	out := map[string]sandboxapi.Reconciled{}
	for kind, r := range found {
		out[string(kind)] = sandboxapi.Reconciled{DriftCounts: driftCounts(r.Drift), Unknown: r.Unknown, Unlisted: r.Unlisted}
	}
	return out, nil
}
