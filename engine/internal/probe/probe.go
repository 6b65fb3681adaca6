package probe

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

// Client sends one request; connect.Client implements it. Redact removes the client's secrets from a string that quotes the target.
type Client interface {
	Do(ctx context.Context, r plan.Request) plan.Response
	Redact(text string) string
}

// Limits of a probe.
const (
	defaultDomain = "example.com"
	defaultSettle = 2 * time.Second
	settleReads   = 5
	cleanUpTime   = 30 * time.Second
)

// Run probes a target. It returns an error if the target could not be reached or rejected the credentials, or if ctx ended. The profile
// then has the results until that point. The created objects are removed in all cases.
func Run(ctx context.Context, c Client, o engine.ProbeOptions) (engine.Profile, error) {
	o.Domain = cmp.Or(o.Domain, defaultDomain)
	o.Settle = cmp.Or(o.Settle, defaultSettle)
	if o.Marker == "" {
		o.Marker = "scimwright-probe-" + strings.ToLower(rand.Text()[:10])
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &prober{client: c, o: o, userName: o.Marker + "@" + o.Domain, groupName: o.Marker, profile: engine.Profile{At: o.Now().UTC()}}
	p.advertised(ctx)
	p.users(ctx)
	if !o.SkipGroups && p.userID != "" {
		p.groups(ctx)
	}
	p.cleanUp(ctx)
	p.complete()
	return p.profile, cmp.Or(p.fatal, context.Cause(ctx))
}

type prober struct {
	client              Client
	o                   engine.ProbeOptions
	userName, groupName string
	userID, groupID     string
	profile             engine.Profile
	fatal               error // set: the probe stops with this error
}

// all lists the features in their order.
var all = []engine.Feature{
	engine.FeatureListUsers, engine.FeatureLookupMiss, engine.FeatureCreateUser, engine.FeatureLookupUserName, engine.FeatureLookupExternalID,
	engine.FeatureConflict, engine.FeatureKeepsUser, engine.FeatureEntityTags, engine.FeaturePutUser, engine.FeaturePatchPath,
	engine.FeaturePatchNoPath, engine.FeatureDeactivatePatch, engine.FeatureDeactivatePath, engine.FeatureDeactivatePut,
	engine.FeatureReactivate, engine.FeatureCreateGroup, engine.FeatureLookupGroup, engine.FeatureAddMember, engine.FeatureShowsMembers,
	engine.FeatureRemoveByPath, engine.FeatureRemoveByValue, engine.FeatureReplaceMembers, engine.FeatureReplaceWithEmpty,
	engine.FeatureRenameGroup, engine.FeaturePutGroup, engine.FeatureDeleteGroup, engine.FeatureDeleteUser,
}

// complete sorts the results and adds the features that were not tried.
func (p *prober) complete() {
	found := map[engine.Feature]engine.ProbeResult{}
	for _, r := range p.profile.Results {
		found[r.Feature] = r
	}
	p.profile.Results = nil
	for _, f := range all {
		r, ok := found[f]
		if !ok {
			r = engine.ProbeResult{Feature: f, Verdict: engine.ProbeUnknown}
		}
		p.profile.Results = append(p.profile.Results, r)
	}
}

// send sends a request. A missing response or rejected credentials end the probe.
func (p *prober) send(ctx context.Context, method, path string, body *scim.Object) plan.Response {
	return p.sendIf(ctx, method, path, "", body)
}

func (p *prober) sendIf(ctx context.Context, method, path, ifMatch string, body *scim.Object) plan.Response {
	if p.fatal != nil {
		return plan.Response{Err: p.fatal}
	}
	p.profile.Requests++
	r := p.client.Do(ctx, plan.Request{Method: method, Path: path, IfMatch: ifMatch, Body: body})
	if r.Err != nil && r.Status == 0 {
		p.fatal = r.Err
	}
	if r.Status == http.StatusUnauthorized {
		p.fatal = fmt.Errorf("%s %s: the target does not accept the credentials: %s", method, path, p.quote(r))
	}
	return r
}

// note records a result. The detail is empty if the result is as expected.
func (p *prober) note(f engine.Feature, v engine.ProbeVerdict, r plan.Response, format string, args ...any) engine.ProbeVerdict {
	if p.fatal != nil {
		return engine.ProbeUnknown
	}
	p.profile.Results = append(p.profile.Results,
		engine.ProbeResult{Feature: f, Verdict: v, Status: r.Status, Detail: p.client.Redact(fmt.Sprintf(format, args...))})
	return v
}

func (p *prober) refused(f engine.Feature, r plan.Response) engine.ProbeVerdict {
	return p.note(f, engine.ProbeRefused, r, "%s", p.quote(r))
}

// quote describes an error response.
func (p *prober) quote(r plan.Response) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.Body.Text("detail") != "":
		return strings.TrimSpace(fmt.Sprintf("%d %s: %s", r.Status, r.Body.Text("scimType"), r.Body.Text("detail")))
	default:
		return strings.TrimSpace(fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status)))
	}
}

func ok(r plan.Response) bool { return r.Err == nil && r.Status >= 200 && r.Status < 300 }

// awaitState reads a resource until it has the expected state or the settle time has passed, and returns the last response.
func (p *prober) awaitState(ctx context.Context, path string, looks func(*scim.Object) bool) (bool, plan.Response) {
	for i := range settleReads {
		r := p.send(ctx, http.MethodGet, path, nil)
		if ok(r) && looks(r.Body) {
			return true, r
		}
		if p.fatal != nil || i == settleReads-1 || !pause.For(ctx, p.o.Settle/(settleReads-1)) {
			return false, r
		}
	}
	return false, plan.Response{}
}

// change sends a change and checks whether it took effect.
func (p *prober) change(ctx context.Context, f engine.Feature, method, path string, body *scim.Object,
	looks func(*scim.Object) bool) engine.ProbeVerdict {
	r := p.send(ctx, method, path, body)
	if !ok(r) {
		return p.refused(f, r)
	}
	done, read := p.awaitState(ctx, path, looks)
	switch {
	case done:
		return p.note(f, engine.ProbeWorks, r, "")
	case !ok(read):
		return p.note(f, engine.ProbeUnknown, read, "the %s returned %d, reading the result failed: %s", method, r.Status, p.quote(read))
	default:
		return p.note(f, engine.ProbeNoEffect, r, "the %s returned %d, but a later GET of %s shows no change", method, r.Status, path)
	}
}

func (p *prober) advertised(ctx context.Context) {
	r := p.send(ctx, http.MethodGet, "/ServiceProviderConfig", nil)
	if !ok(r) || r.Body == nil {
		return
	}
	a := &p.profile.Advertised
	a.Present = true
	supported := func(name string) *bool {
		if value, stated := r.Body.Complex(name).Bool("supported"); stated {
			return &value
		}
		return nil
	}
	a.Patch, a.Filter, a.Bulk, a.Sort, a.ETag = supported("patch"), supported("filter"), supported("bulk"), supported("sort"), supported(
		"etag")
	if n, found := r.Body.Complex("filter").Get("maxResults"); found {
		a.MaxResults = number(n)
	}
}

// cleanUp removes the created objects, even if ctx has ended or the target has rejected a request.
func (p *prober) cleanUp(ctx context.Context) {
	fatal := p.fatal
	p.fatal = nil
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), cleanUpTime, errors.New("probe: removal of the objects timed out"))
	defer cancel()
	if p.groupID != "" {
		p.remove(ctx, engine.FeatureDeleteGroup, groupPath(p.groupID), nil)
	}
	if p.userID != "" {
		p.remove(ctx, engine.FeatureDeleteUser, userPath(p.userID), func() bool {
			return ok(p.send(ctx, http.MethodPatch, userPath(p.userID), patch(operation("replace", "", object("active", false)))))
		})
	}
	p.fatal = cmp.Or(fatal, p.fatal)
}

// remove deletes an object and checks that it no longer exists. An object that remains is added to Profile.Leftovers. If the DELETE is
// rejected, remove calls `otherwise`, which disables the object.
func (p *prober) remove(ctx context.Context, f engine.Feature, path string, otherwise func() bool) {
	r := p.send(ctx, http.MethodDelete, path, nil)
	if !ok(r) {
		p.refused(f, r)
		if otherwise != nil {
			otherwise()
		}
		p.profile.Leftovers = append(p.profile.Leftovers, path)
		return
	}
	for i := range settleReads {
		read := p.send(ctx, http.MethodGet, path, nil)
		if read.Status == http.StatusNotFound {
			p.note(f, engine.ProbeWorks, r, "")
			return
		}
		if p.fatal != nil || i == settleReads-1 || !pause.For(ctx, p.o.Settle/(settleReads-1)) {
			break
		}
	}
	p.note(f, engine.ProbeNoEffect, r, "the DELETE returned %d, but %s still exists", r.Status, path)
	p.profile.Leftovers = append(p.profile.Leftovers, path)
}

func userPath(id string) string  { return "/Users/" + url.PathEscape(id) }
func groupPath(id string) string { return "/Groups/" + url.PathEscape(id) }

func object(members ...any) *scim.Object {
	o := scim.NewObject()
	for i := 0; i+1 < len(members); i += 2 {
		o.Set(members[i].(string), members[i+1])
	}
	return o
}

func operation(op, path string, value any) *scim.Object {
	o := object("op", op)
	if path != "" {
		o.Set("path", path)
	}
	if value != nil {
		o.Set("value", value)
	}
	return o
}

func patch(operations ...*scim.Object) *scim.Object {
	return object("schemas", []string{scim.PatchOpMessage}, "Operations", operations)
}

func number(v any) int {
	n, _ := strconv.Atoi(fmt.Sprint(v)) // some servers send counts as strings
	return n
}
