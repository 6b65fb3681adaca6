package control

import (
	"context"
	"reflect"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) driftRoutes() []rest.Route {
	return []rest.Route{
		row(a, "driftReport", "POST /apps/{app}/drift", "Compare what an app's SCIM server has with what is wanted there", 0, a.drift),
		row(a, "reconcileApp", "POST /apps/{app}/reconcile", "Bring an app's SCIM server and what is known about it back in line", 0,
			a.reconcile),
	}
}

type driftRequest struct {
	appRequest
	Body *struct {
		Kind   string `json:"kind" enum:"user,group" default:"user"`
		Repair bool   `json:"repair" doc:"provision what differs again"`
		Limit  int    `json:"limit" default:"1000" min:"0" max:"100000" doc:"how many findings to list"`
	} `body:"optional"`
}

func (a *api) drift(ctx context.Context, r *driftRequest) (client.Drift, error) {
	out := client.Drift{Kind: engine.User, Findings: []engine.Finding{}}
	repair, most := false, 1000
	if r.Body != nil {
		out.Kind, repair, most = engine.Kind(r.Body.Kind), r.Body.Repair, r.Body.Limit
	}
	collect := func(f engine.Finding) error {
		if len(out.Findings) >= most {
			out.More = true
			return nil
		}
		for i := range f.Values {
			f.Values[i].Have, f.Values[i].Want = sorted(f.Values[i].Have), sorted(f.Values[i].Want)
		}
		out.Findings = append(out.Findings, f)
		return nil
	}
	report, err := a.o.Engine.Drift().Compare(ctx, r.App, engine.DriftRequest{Kind: out.Kind, Repair: repair, Each: collect})
	if err != nil {
		return client.Drift{}, notRead(err, r.App)
	}
	out.DriftCounts = counts(report)
	return out, nil
}

func counts(r engine.DriftReport) client.DriftCounts {
	if r.Found == nil {
		r.Found = map[engine.DriftKind]int{}
	}
	return client.DriftCounts{DriftReport: r, Drifted: r.Drifted(), Marked: r.Marked}
}

func (a *api) reconcile(ctx context.Context, r *appRequest) (map[engine.Kind]client.Reconciled, error) {
	found, err := a.o.Engine.Drift().Reconcile(ctx, r.App)
	if err != nil {
		return nil, notRead(err, r.App)
	}
	out := map[engine.Kind]client.Reconciled{}
	for kind, one := range found {
		out[kind] = client.Reconciled{DriftCounts: counts(one.Drift), Unknown: one.Unknown, Unlisted: one.Unlisted}
	}
	return out, nil
}

var driftWords = rest.Words{
	reflect.TypeFor[client.Drift](): {Served: true, Members: map[string]reflect.StructTag{
		"kind":     `enum:"user,group"`,
		"findings": `doc:"the first of them"`,
		"more":     `doc:"there are more findings than were listed"`,
	}},
	reflect.TypeFor[client.DriftCounts](): {Served: true, Members: map[string]reflect.StructTag{
		"drifted": `doc:"findings that can be repaired"`,
		"marked":  `doc:"what is provisioned again"`,
	}},
	reflect.TypeFor[engine.DriftReport](): {Name: "DriftCounts", Served: true, Members: map[string]reflect.StructTag{
		"listed":   `doc:"what the target has"`,
		"known":    `doc:"what the engine knows"`,
		"compared": `doc:"of those, what has an account"`,
		"busy":     `doc:"differs, and is due at the moment"`,
		"hidden":   `doc:"groups whose members the target does not show"`,
		"found":    `doc:"findings by what they are"`,
		"marked":   `doc:"what is provisioned again"`,
	}},
	reflect.TypeFor[engine.Finding](): {Served: true, Members: map[string]reflect.StructTag{
		"what":       `doc:"missing, differs, active, members, stranger, duplicate or ignored"`,
		"principal":  `doc:"whose it is; absent for nobody's"`,
		"remoteId":   "",
		"remoteName": "",
		"values":     "",
		"lacking":    `doc:"members that are not in the group"`,
		"surplus":    `doc:"members that should not be in the group"`,
		"examples":   `doc:"ids of such members at the target"`,
		"externalId": "",
		"other":      `doc:"the account that has the same externalId"`,
		"note":       "",
	}},
	reflect.TypeFor[engine.Mismatch](): {Name: "Drifted", Served: true, Members: map[string]reflect.StructTag{
		"path": "",
		"have": `doc:"what the target has; null for nothing"`,
		"want": `doc:"what is wanted; null for nothing"`,
	}},
	reflect.TypeFor[client.Reconciled](): {Served: true, Members: map[string]reflect.StructTag{
		"unknown":  `doc:"wanted, and unknown to the engine before; they are provisioned"`,
		"unlisted": `doc:"known to the engine and not wanted by name; nothing follows from that"`,
	}},
}
