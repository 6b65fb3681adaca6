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
		row(a, "driftReport", "POST /apps/{app}/drift", "Compare an app's SCIM server with the desired state", 0, a.drift),
		row(a, "reconcileApp", "POST /apps/{app}/reconcile", "Compare users and groups of an app's SCIM server, and provision differences", 0,
			a.reconcile),
	}
}

type driftRequest struct {
	appRequest
	Body *struct {
		Kind   string `json:"kind" enum:"user,group" default:"user"`
		Repair bool   `json:"repair" doc:"provision principals that differ"`
		Limit  int    `json:"limit" default:"1000" min:"0" max:"100000" doc:"maximum number of findings in the list"`
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
		return client.Drift{}, targetError(err, r.App)
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
		return nil, targetError(err, r.App)
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
		"findings": `doc:"the first findings"`,
		"more":     `doc:"there are more findings than the list shows"`,
	}},
	reflect.TypeFor[client.DriftCounts](): {Served: true, Members: map[string]reflect.StructTag{
		"drifted": `doc:"number of findings that can be repaired"`,
		"marked":  `doc:"number of principals that are provisioned again"`,
	}},
	reflect.TypeFor[engine.DriftReport](): {Name: "DriftCounts", Served: true, Members: map[string]reflect.StructTag{
		"listed":   `doc:"number of objects on the target"`,
		"known":    `doc:"number of principals in the engine's state"`,
		"compared": `doc:"number of known principals with an account"`,
		"busy":     `doc:"number of principals that differ and have a pending change"`,
		"hidden":   `doc:"number of groups whose members were not compared, because the target returned none"`,
		"found":    `doc:"number of findings by kind"`,
		"marked":   `doc:"number of principals that are provisioned again"`,
	}},
	reflect.TypeFor[engine.Finding](): {Served: true, Members: map[string]reflect.StructTag{
		"what": `doc:"missing: no account; differs: attributes have other values; active: active differs, or the group should not exist; ` +
			`members: the members of the group differ; stranger: unmanaged account; duplicate: accounts have the same externalId; ` +
			`ignored: the target ignored values, and they are no longer sent"`,
		"principal":  `doc:"owner of the account; absent if there is none"`,
		"remoteId":   "",
		"remoteName": "",
		"values":     "",
		"lacking":    `doc:"number of members that the group on the target lacks"`,
		"surplus":    `doc:"number of members that the group on the target should not have"`,
		"examples":   `doc:"ids on the target of some of the lacking and surplus members"`,
		"externalId": "",
		"other":      `doc:"the account that has the same externalId"`,
		"note":       "",
	}},
	reflect.TypeFor[engine.Mismatch](): {Name: "Drifted", Served: true, Members: map[string]reflect.StructTag{
		"path": "",
		"have": `doc:"value on the target; null if there is none"`,
		"want": `doc:"desired value; null if there is none"`,
	}},
	reflect.TypeFor[client.Reconciled](): {Served: true, Members: map[string]reflect.StructTag{
		"unknown":  `doc:"desired principals that had no state in the engine; they are provisioned"`,
		"unlisted": `doc:"known principals that the directory does not list; they are not changed"`,
	}},
}
