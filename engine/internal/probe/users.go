package probe

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

// user returns the body with which the probe creates its user.
func (p *prober) user() *scim.Object {
	u := object("schemas", []string{scim.UserSchema}, "userName", p.userName, "externalId", p.o.Marker, "active", true,
		"displayName", "Probe", "name", object("givenName", "Scimwright", "familyName", "Probe"),
		"emails", []any{object("value", p.userName, "type", "work", "primary", true)})
	for name, value := range p.o.User.Clone().All() {
		u.Set(name, value)
	}
	return u
}

// comparedPaths lists the attributes that are compared after the create, by the paths of plan.
var comparedPaths = []string{"userName", "externalId", "displayName", "name.givenName", "name.familyName"}

func (p *prober) users(ctx context.Context) {
	r := p.send(ctx, http.MethodGet, "/Users?startIndex=1&count=1", nil)
	switch {
	case !ok(r):
		p.refused(engine.FeatureListUsers, r)
	case !isList(r):
		p.note(engine.FeatureListUsers, engine.ProbeRefused, r, "the response is not a ListResponse")
	default:
		p.note(engine.FeatureListUsers, engine.ProbeWorks, r, "")
	}
	p.lookupMiss(ctx)
	if !p.createUser(ctx) {
		return
	}
	p.lookup(ctx, engine.FeatureLookupUserName, "/Users", "userName", p.userName, p.userID)
	p.lookup(ctx, engine.FeatureLookupExternalID, "/Users", "externalId", p.o.Marker, p.userID)
	p.conflict(ctx)
	p.keeps(ctx)
	p.updates(ctx)
	p.activation(ctx)
}

func isList(r plan.Response) bool {
	list := scim.Resource{}
	if r.Body != nil {
		list.Object = *r.Body
	}
	_, total := list.Get("totalResults")
	return list.HasSchema(scim.ListResponseMessage) || total
}

func (p *prober) lookupMiss(ctx context.Context) {
	r := p.send(ctx, http.MethodGet, plan.LookupPath("/Users", "userName", "nobody-"+p.userName), nil)
	switch found := len(r.Body.Array("Resources")); {
	case r.Err == nil && r.Status == http.StatusNotFound:
		p.note(engine.FeatureLookupMiss, engine.ProbeWorks, r, "the response is 404 instead of an empty list")
	case !ok(r):
		p.refused(engine.FeatureLookupMiss, r)
	case !isList(r):
		p.note(engine.FeatureLookupMiss, engine.ProbeRefused, r, "the response is not a ListResponse")
	case found > 0:
		p.note(engine.FeatureLookupMiss, engine.ProbeNoEffect, r, "a filter for an unknown name returns %d users: the filter is ignored",
			found)
	default:
		p.note(engine.FeatureLookupMiss, engine.ProbeWorks, r, "")
	}
}

func (p *prober) createUser(ctx context.Context) bool {
	r := p.send(ctx, http.MethodPost, "/Users", p.user())
	if !ok(r) {
		p.refused(engine.FeatureCreateUser, r)
		if r.Err != nil {
			p.findCreated(ctx) // the response could not be read: the user may exist
		}
		return false
	}
	if p.userID = r.Body.Text("id"); p.userID == "" {
		p.note(engine.FeatureCreateUser, engine.ProbeNoEffect, r, "the POST returned %d and no id", r.Status)
		p.findCreated(ctx)
		return false
	}
	p.note(engine.FeatureCreateUser, engine.ProbeWorks, r, "")
	return true
}

// findCreated finds a user whose id was not returned, so that it can be removed.
func (p *prober) findCreated(ctx context.Context) {
	r := p.send(context.WithoutCancel(ctx), http.MethodGet, plan.LookupPath("/Users", "userName", p.userName), nil)
	for _, hit := range r.Body.Array("Resources") {
		if o, isObject := hit.(*scim.Object); isObject && strings.EqualFold(o.Text("userName"), p.userName) {
			p.userID = o.Text("id")
		}
	}
}

// lookup sends a lookup whose result must be exactly the object with the id.
func (p *prober) lookup(ctx context.Context, f engine.Feature, endpoint, attribute, value, id string) {
	path := plan.LookupPath(endpoint, attribute, value)
	only := func(body *scim.Object) bool {
		hits := body.Array("Resources")
		if len(hits) != 1 {
			return false
		}
		o, isObject := hits[0].(*scim.Object)
		return isObject && o.Text("id") == id
	}
	found, r := p.awaitState(ctx, path, only)
	switch {
	case found:
		p.note(f, engine.ProbeWorks, r, "")
	case !ok(r):
		p.refused(f, r)
	default:
		p.note(f, engine.ProbeNoEffect, r, "a filter with %s eq returns %d resources instead of only the created one", attribute,
			len(r.Body.Array("Resources")))
	}
}

func (p *prober) conflict(ctx context.Context) {
	r := p.send(ctx, http.MethodPost, "/Users", p.user())
	switch {
	case r.Err == nil && r.Status == http.StatusConflict:
		p.note(engine.FeatureConflict, engine.ProbeWorks, r, "")
	case ok(r) && r.Body.Text("id") != "" && r.Body.Text("id") != p.userID:
		p.note(engine.FeatureConflict, engine.ProbeNoEffect, r, "a second user with the same userName was created")
		if gone := p.send(ctx, http.MethodDelete, userPath(r.Body.Text("id")), nil); !ok(gone) {
			p.profile.Leftovers = append(p.profile.Leftovers, userPath(r.Body.Text("id")))
		}
	case ok(r):
		p.note(engine.FeatureConflict, engine.ProbeNoEffect, r, "a second create of the same userName returned %d", r.Status)
	default:
		p.refused(engine.FeatureConflict, r)
	}
}

func (p *prober) keeps(ctx context.Context) {
	r := p.send(ctx, http.MethodGet, userPath(p.userID), nil)
	if !ok(r) {
		p.refused(engine.FeatureKeepsUser, r)
		return
	}
	var lost []string
	sent := p.user()
	for _, path := range comparedPaths {
		if have, want := text(r.Body, path), text(sent, path); have != want {
			lost = append(lost, fmt.Sprintf("%s: %q became %q", path, want, have))
		}
	}
	if active, stated := r.Body.Bool("active"); !stated || !active {
		lost = append(lost, "active: true was not stored")
	}
	if len(lost) > 0 {
		p.note(engine.FeatureKeepsUser, engine.ProbeNoEffect, r, "%s", strings.Join(lost, "; "))
	} else {
		p.note(engine.FeatureKeepsUser, engine.ProbeWorks, r, "")
	}
	p.entityTags(ctx, r)
}

// entityTags sends a change that the target must reject. The change affects only displayName, so that the user remains usable if the target
// carries the change out.
func (p *prober) entityTags(ctx context.Context, read plan.Response) {
	if read.ETag == "" {
		p.note(engine.FeatureEntityTags, engine.ProbeRefused, read, "a GET returns no ETag")
		return
	}
	body := p.put(read)
	body.Set("displayName", "Probe, stale")
	r := p.sendIf(ctx, http.MethodPut, userPath(p.userID), `W/"scimwright-stale"`, body)
	switch {
	case r.Err == nil && r.Status == http.StatusPreconditionFailed:
		p.note(engine.FeatureEntityTags, engine.ProbeWorks, r, "")
	case ok(r):
		p.note(engine.FeatureEntityTags, engine.ProbeNoEffect, r, "a PUT with a stale If-Match was carried out")
	default:
		p.refused(engine.FeatureEntityTags, r)
	}
}

// put returns the body of a PUT without changes: the resource as read, and the attributes of the create that the read did not return.
func (p *prober) put(read plan.Response) *scim.Object {
	body := read.Body.Clone()
	for _, name := range []string{"meta", "groups"} {
		body.Delete(name)
	}
	for name, value := range p.user().All() {
		if _, there := body.Get(name); !there {
			body.Set(name, value)
		}
	}
	return body
}

func (p *prober) updates(ctx context.Context) {
	path := userPath(p.userID)
	called := func(name string) func(*scim.Object) bool {
		return func(o *scim.Object) bool { return text(o, "name.givenName") == name }
	}
	if read := p.send(ctx, http.MethodGet, path, nil); ok(read) {
		body := p.put(read)
		body.Set("name", object("givenName", "Put", "familyName", "Probe"))
		p.change(ctx, engine.FeaturePutUser, http.MethodPut, path, body, called("Put"))
	}
	p.change(ctx, engine.FeaturePatchPath, http.MethodPatch, path, patch(operation("replace", "name.givenName", "Path")), called("Path"))
	p.change(ctx, engine.FeaturePatchNoPath, http.MethodPatch, path,
		patch(operation("replace", "", object("name", object("givenName", "NoPath", "familyName", "Probe")))), called("NoPath"))
}

// activation tries each form of a request that deactivates the user. After each deactivation it reactivates the user in the same form.
func (p *prober) activation(ctx context.Context) {
	path := userPath(p.userID)
	is := func(want bool) func(*scim.Object) bool {
		return func(o *scim.Object) bool {
			have, stated := o.Bool("active")
			return stated && have == want
		}
	}
	byPut := func(active bool) *scim.Object {
		read := p.send(ctx, http.MethodGet, path, nil)
		if !ok(read) {
			return nil
		}
		body := p.put(read)
		body.Set("active", active)
		return body
	}
	ways := []struct {
		feature engine.Feature
		method  string
		body    func(active bool) *scim.Object
	}{
		{engine.FeatureDeactivatePatch, http.MethodPatch,
			func(active bool) *scim.Object { return patch(operation("replace", "", object("active", active))) }},
		{engine.FeatureDeactivatePath, http.MethodPatch, func(active bool) *scim.Object { return patch(operation("replace", "active", active)) }},
		{engine.FeatureDeactivatePut, http.MethodPut, byPut},
	}
	reactivated := false
	for _, way := range ways {
		body := way.body(false)
		if body == nil || p.change(ctx, way.feature, way.method, path, body, is(false)) != engine.ProbeWorks {
			continue
		}
		back := way.body(true)
		if back == nil {
			continue
		}
		if r := p.send(ctx, way.method, path, back); !ok(r) {
			continue
		}
		if active, r := p.awaitState(ctx, path, is(true)); active && !reactivated {
			reactivated = true
			p.note(engine.FeatureReactivate, engine.ProbeWorks, r, "")
		}
	}
	if !reactivated {
		p.note(engine.FeatureReactivate, engine.ProbeRefused, plan.Response{}, "a deactivated user could not be reactivated")
	}
}

// text reads a string by a path with at most one dot.
func text(o *scim.Object, path string) string {
	if name, sub, dotted := strings.Cut(path, "."); dotted {
		return o.Complex(name).Text(sub)
	}
	return o.Text(path)
}
