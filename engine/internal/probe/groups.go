package probe

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

func (p *prober) groups(ctx context.Context) {
	r := p.send(ctx, http.MethodPost, "/Groups", object("schemas", []string{scim.GroupSchema}, "displayName", p.groupName, "members", []any{}))
	if !ok(r) {
		p.refused(engine.FeatureCreateGroup, r)
		return
	}
	if p.groupID = r.Body.Text("id"); p.groupID == "" {
		p.note(engine.FeatureCreateGroup, engine.ProbeNoEffect, r, "the POST returned %d and no id", r.Status)
		return
	}
	p.note(engine.FeatureCreateGroup, engine.ProbeWorks, r, "")
	p.lookup(ctx, engine.FeatureLookupGroup, "/Groups", "displayName", p.groupName, p.groupID)
	p.members(ctx)
	p.names(ctx)
}

// members tries each form of a request that changes members. The effect of a change can be detected only if a GET returns members.
func (p *prober) members(ctx context.Context) {
	path, me := groupPath(p.groupID), object("value", p.userID, "display", p.userName)
	has := func(o *scim.Object) bool {
		for _, m := range o.Array("members") {
			if member, isObject := m.(*scim.Object); isObject && member.Text("value") == p.userID {
				return true
			}
		}
		return false
	}
	hasNot := func(o *scim.Object) bool { return !has(o) }
	change := func(f engine.Feature, looks func(*scim.Object) bool, operations ...*scim.Object) engine.ProbeVerdict {
		return p.change(ctx, f, http.MethodPatch, path, patch(operations...), looks)
	}
	add := operation("add", "members", []any{me})

	r := p.send(ctx, http.MethodPatch, path, patch(add))
	if !ok(r) {
		p.refused(engine.FeatureAddMember, r)
	} else if shown, read := p.awaitState(ctx, path, has); shown {
		p.note(engine.FeatureAddMember, engine.ProbeWorks, r, "")
		p.note(engine.FeatureShowsMembers, engine.ProbeWorks, read, "")
	} else {
		p.note(engine.FeatureAddMember, engine.ProbeUnknown, r, "the PATCH returned %d, but a GET does not return the member", r.Status)
		p.note(engine.FeatureShowsMembers, engine.ProbeRefused, read,
			"a GET does not return the added member: the effect of member changes cannot be detected")
		return
	}
	restore := func(v engine.ProbeVerdict) {
		if v == engine.ProbeWorks {
			p.send(ctx, http.MethodPatch, path, patch(add))
		}
	}
	restore(change(engine.FeatureRemoveByPath, hasNot, operation("remove", `members[value eq "`+p.userID+`"]`, nil)))
	restore(change(engine.FeatureRemoveByValue, hasNot, operation("remove", "members", []any{object("value", p.userID)})))
	change(engine.FeatureReplaceWithEmpty, hasNot, operation("replace", "members", []any{}))
	change(engine.FeatureReplaceMembers, has, operation("replace", "members", []any{me}))
}

func (p *prober) names(ctx context.Context) {
	path := groupPath(p.groupID)
	called := func(name string) func(*scim.Object) bool {
		return func(o *scim.Object) bool { return o.Text("displayName") == name }
	}
	renamed := p.groupName + "-renamed"
	p.change(ctx, engine.FeatureRenameGroup, http.MethodPatch, path,
		patch(operation("replace", "", object("id", p.groupID, "displayName", renamed))), called(renamed))
	put := p.groupName + "-put"
	p.change(ctx, engine.FeaturePutGroup, http.MethodPut, path,
		object("schemas", []string{scim.GroupSchema}, "id", p.groupID, "displayName", put, "members", []any{object("value", p.userID)}),
		called(put))
}
