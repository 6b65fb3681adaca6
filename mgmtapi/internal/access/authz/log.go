package authz

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

var readLog = Need{Column: ColumnLog}

// LogView is the part of the log that is visible to a caller whose roles with read permission have targets. It contains the events whose
// actor or target is a target group, a member of a target group, a target application or the caller.
type LogView struct {
	caller              string
	groups, apps, types map[string]bool
}

// Log returns the part of the log that the caller may see. It returns nil if the caller may see the whole log.
func Log(ctx context.Context) *LogView {
	a := From(ctx)
	if a.everything() || a.meetsAny(&readLog) {
		return nil
	}
	caller := rest.Caller(ctx)
	v := &LogView{cmp.Or(caller.UserID, caller.ClientID), map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for i := range a.Grants {
		if g := &a.Grants[i]; g.meets(&readLog, &Resource{}) == WhyMet {
			maps.Copy(v.groups, g.groups)
			maps.Copy(v.apps, g.apps)
			maps.Copy(v.types, g.types)
		}
	}
	return v
}

// Among returns a function that reports whether the caller may see an event, for the given events. It reads the actors and targets of all
// events in one batch.
func (v *LogView) Among(ctx context.Context, q docstore.Reader, d model.Deps,
	events []docstore.Doc[model.LogEvent]) (func(*model.LogEvent) bool, error) {
	named := map[string]map[string]bool{audit.TypeUser: {}, audit.TypeApp: {}, audit.TypeClient: {}}
	for _, event := range events {
		for party := range parties(&event.Value) {
			if ids := named[party.Type]; ids != nil {
				ids[party.ID] = true
			}
		}
	}
	seen := map[string]map[string]bool{audit.TypeUser: {}, audit.TypeGroup: v.groups, audit.TypeApp: maps.Clone(v.apps), audit.TypeClient: {}}
	err := inBatches(named[audit.TypeUser], len(v.groups) > 0, func(some []any) error {
		where := docstore.All(docstore.In(model.MembershipByUser, some...), docstore.In(model.MembershipByGroup, anys(v.groups)...))
		return model.Each(ctx, q, d.Memberships, where, func(m docstore.Doc[model.Membership]) error {
			seen[audit.TypeUser][m.Value.User] = true
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if len(v.types) > 0 {
		apps, err := d.Apps.GetMany(ctx, q, slices.Collect(maps.Keys(named[audit.TypeApp])))
		if err != nil {
			return nil, err
		}
		for _, app := range apps {
			seen[audit.TypeApp][app.ID] = seen[audit.TypeApp][app.ID] || v.types[app.Value.Name]
		}
	}
	err = inBatches(named[audit.TypeClient], len(v.apps)+len(v.types) > 0, func(some []any) error {
		return model.Each(ctx, q, d.Apps, docstore.In(model.AppByClientID, some...), func(app docstore.Doc[model.App]) error {
			seen[audit.TypeClient][app.Value.Credentials.OAuthClient.ID] = v.apps[app.ID] || v.types[app.Value.Name]
			return nil
		})
	})
	return func(event *model.LogEvent) bool {
		if event.Actor.ID == v.caller {
			return true
		}
		for party := range parties(event) {
			if seen[party.Type][party.ID] {
				return true
			}
		}
		return false
	}, err
}

// parties returns the actor and the targets of an event.
func parties(event *model.LogEvent) iter.Seq[model.LogParty] {
	return func(yield func(model.LogParty) bool) {
		if !yield(event.Actor) {
			return
		}
		for _, target := range event.Targets {
			if !yield(target) {
				return
			}
		}
	}
}

// inBatches calls fn with batches of the ids. If wanted is false, inBatches does nothing.
func inBatches(ids map[string]bool, wanted bool, fn func(some []any) error) error {
	if !wanted {
		return nil
	}
	for some := range slices.Chunk(anys(ids), batch) {
		if err := fn(some); err != nil {
			return err
		}
	}
	return nil
}

func anys(ids map[string]bool) []any {
	out := make([]any, 0, len(ids))
	for id := range ids {
		out = append(out, id)
	}
	return out
}
