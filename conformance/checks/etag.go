package checks

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var (
	etagUsers   = needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedETag)
	etagPatches = append(slices.Clone(etagUsers), conformance.NeedPatch)
)

const (
	whyETag  = "If two administrators change one account, the second change overwrites the first unless the server compares versions."
	fixMatch = "Compare If-Match with the current entity tag before every change, and return 412 when they differ."
)

var etag = []check{
	{
		ID: "etag.advertised",
		Title: "The server compares If-Match with the ETag of a resource if and only if the ServiceProviderConfig declares etag as " +
			"supported",
		Requirements: reqs("RFC7644-3.14-11"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     4,
		Why: "If etag.supported is false by mistake, clients do not send If-Match, and their changes overwrite those of other clients; " +
			"if it is true by mistake, they rely on a comparison that the server does not make.",
		Fix: "Set etag.supported to true if and only if responses have an ETag header and the server evaluates If-Match.",
		Run: etagAdvertised,
	},
	{
		ID:           "etag.header",
		Title:        "A GET response has the ETag header, and meta.version is the same string",
		Requirements: reqs("RFC7644-3.14-02", "RFC7643-3.1-25", "RFC7644-3.14-03"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     3,
		Why:          "Some clients read the tag from ETag, some from meta.version; if the two differ, the conditional changes of some fail.",
		Fix:          "Send the same string, including W/, as ETag and as meta.version.",
		Run:          etagHeader,
	},
	{
		ID:           "etag.syntax",
		Title:        "An entity tag is a quoted string, with the prefix W/ if it is weak",
		Requirements: reqs("RFC7643-3.1-27"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     3,
		Why:          "Proxies and client libraries discard tags of another form, so that clients cannot make conditional changes.",
		Fix:          "Write \"abc\" or W/\"abc\", including the quotes.",
		Run: func(ctx context.Context, t *T) {
			tag := version(ctx, t, t.CreateUser(ctx, "quoted", nil).Path())
			t.Holds(entityTag.MatchString(tag), "ETag header of GET", `an entity tag such as W/"1"`, tag)
		},
	},
	{
		ID:           "etag.on-writes",
		Title:        "Responses to POST and PUT have the ETag of the new state of the resource",
		Requirements: reqs("RFC7644-3.14-02"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     5,
		Why:          "Without the tag, the client has to read the resource again before its next conditional change.",
		Fix:          "Send the ETag header with every response that contains the resource.",
		Run:          etagOnWrites,
	},
	{
		ID:           "etag.changes",
		Title:        "The entity tag changes when a PUT changes the resource, and not when the resource is read",
		Requirements: reqs("RFC7644-3.14-09"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     6,
		Why: "If the tag stays the same, a client overwrites changes of others; if it changes with every read, all conditional " +
			"changes fail.",
		Fix: "Compute the tag from the stored attributes, or from a number that increases with every change.",
		Run: etagChanges,
	},
	{
		ID:           "etag.changes-on-patch",
		Title:        "A PATCH changes the entity tag",
		Requirements: reqs("RFC7644-3.14-09", "RFC7644-3.5.2-32"),
		Level:        must,
		Needs:        etagPatches,
		Requests:     5,
		Why:          whyETag,
		Fix:          "Assign a new tag with every change, by PATCH as well as by PUT.",
		Run:          etagChangesOnPatch,
	},
	{
		ID:           "etag.not-modified",
		Title:        "A GET with If-None-Match and the current tag returns 304 without a body",
		Requirements: reqs("RFC7644-3.14-04"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     4,
		Why:          "Without 304, clients that monitor many accounts have to transfer all of them in every run.",
		Fix:          "Compare If-None-Match with the current tag and return 304.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "same", nil)
			res := callWithHeader(ctx, t, "GET", u.Path(), "If-None-Match", version(ctx, t, u.Path()), nil)
			t.Expect("status of GET with the current tag in If-None-Match", 304, res.Status)
			t.Expect("length of the body of the 304", 0, len(res.Body))
		},
	},
	{
		ID:           "etag.none-match-forms",
		Title:        "A GET returns 304 if If-None-Match lists the current tag among others, or has it with or without W/",
		Requirements: reqs("RFC9110-13.1.2-01"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     5,
		Why:          "Caches send the tags of all stored copies, and some change W/; without 304, they transfer unchanged resources again.",
		Fix:          "Split If-None-Match at commas outside quotes, and compare only the quoted strings of the tags.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "forms", nil)
			tag := version(ctx, t, u.Path())
			other, weak := strings.CutPrefix(tag, "W/")
			if !weak {
				other = "W/" + tag
			}
			for _, header := range []string{other, `W/"scimconf-old", ` + tag} {
				res := callWithHeader(ctx, t, "GET", u.Path(), "If-None-Match", header, nil)
				t.Expect("status of GET with If-None-Match: "+header, 304, res.Status)
			}
		},
	},
	{
		ID:           "etag.modified",
		Title:        "A GET with an old tag in If-None-Match returns 200 with the resource",
		Requirements: reqs("RFC7644-3.14-04", "RFC7644-3.14-09"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     5,
		Why:          "If the server returns a 304 after a change, the client keeps the old data and never receives the change.",
		Fix:          "Compare the whole tag with the current one, and return 304 only if they are equal.",
		Run: func(ctx context.Context, t *T) {
			u, stale := outdated(ctx, t, "changed")
			res := callWithHeader(ctx, t, "GET", u.Path(), "If-None-Match", stale, nil)
			t.Require("status of GET with an old tag in If-None-Match", 200, res.Status)
			t.Expect("name.givenName", "Newer", value(res.Object(), "name.givenName"))
		},
	},
	{
		ID:           "etag.put-stale",
		Title:        "A PUT with an old tag in If-Match is rejected with 412 and changes nothing",
		Requirements: reqs("RFC7644-3.14-06", "RFC7644-3.12-12"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     6,
		Why:          whyETag,
		Fix:          fixMatch,
		Run: func(ctx context.Context, t *T) {
			u, stale := outdated(ctx, t, "contested")
			res := callWithHeader(ctx, t, "PUT", u.Path(), "If-Match", stale, renamedUser(t, "contested", "Lost"))
			t.Expect("status of PUT with an old tag", 412, res.Status)
			t.Expect("name.givenName "+afterRejection("PUT", res), "Newer", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
	{
		ID:           "etag.patch-stale",
		Title:        "A PATCH with an old tag in If-Match is rejected with 412 and changes nothing",
		Requirements: reqs("RFC7644-3.14-06", "RFC7644-3.12-12"),
		Level:        must,
		Needs:        etagPatches,
		Requests:     6,
		Why:          whyETag,
		Fix:          fixMatch,
		Run: func(ctx context.Context, t *T) {
			u, stale := outdated(ctx, t, "contested")
			res := callWithHeader(ctx, t, "PATCH", u.Path(), "If-Match", stale, givenName("Lost"))
			t.Expect("status of PATCH with an old tag", 412, res.Status)
			t.Expect("name.givenName "+afterRejection("PATCH", res), "Newer", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
	{
		ID:           "etag.delete-stale",
		Title:        "A DELETE with an old tag in If-Match is rejected with 412 and deletes nothing",
		Requirements: reqs("RFC7644-3.14-07"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     6,
		Why:          whyETag,
		Fix:          fixMatch,
		Run: func(ctx context.Context, t *T) {
			u, stale := outdated(ctx, t, "contested")
			res := callWithHeader(ctx, t, "DELETE", u.Path(), "If-Match", stale, nil)
			t.Expect("status of DELETE with an old tag", 412, res.Status)
			t.Expect("status of GET "+afterRejection("DELETE", res), 200, t.Get(ctx, u.Path()).Status)
		},
	},
	{
		ID:           "etag.put-current",
		Title:        "PUT and DELETE with the current tag in If-Match succeed, even if the tag is weak",
		Requirements: reqs("RFC7644-3.14-06", "RFC7644-3.14-08"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     5,
		Why:          "If a server issues weak tags and rejects them in If-Match, no client can change anything.",
		Fix:          "Compare only the quoted strings of the two tags, and ignore the prefix W/ of both.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "current", nil)
			res := callWithHeader(ctx, t, "PUT", u.Path(), "If-Match", version(ctx, t, u.Path()), renamedUser(t, "current", "Ada"))
			t.Require("status of PUT with the current tag", 200, res.Status)
			res = callWithHeader(ctx, t, "DELETE", u.Path(), "If-Match", version(ctx, t, u.Path()), nil)
			t.Expect("status of DELETE with the current tag", 204, res.Status)
		},
	},
	{
		ID:           "etag.patch-current",
		Title:        "PATCH with the current tag in If-Match succeeds",
		Requirements: reqs("RFC7644-3.14-06", "RFC7644-3.14-08"),
		Level:        must,
		Needs:        etagPatches,
		Requests:     5,
		Why:          "If a server issues weak tags and rejects them in If-Match, no client can change anything.",
		Fix:          "Compare only the quoted strings of the two tags, and ignore the prefix W/ of both.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "current", nil)
			res := callWithHeader(ctx, t, "PATCH", u.Path(), "If-Match", version(ctx, t, u.Path()), givenName("Ada"))
			succeeded(t, res, 200, 204)
			t.Expect("name.givenName read back", "Ada", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
	{
		ID:           "etag.any",
		Title:        "A PUT with If-Match: * of an existing resource succeeds",
		Requirements: reqs("RFC7644-3.14-10"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     3,
		Why:          "Clients use If-Match: * to change a resource only if it still exists; if the server rejects it, no such change succeeds.",
		Fix:          "Treat If-Match: * as satisfied for every resource that exists.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "any", nil)
			res := callWithHeader(ctx, t, "PUT", u.Path(), "If-Match", "*", renamedUser(t, "any", "Ada"))
			t.Expect("status of PUT with If-Match: *", 200, res.Status)
		},
	},
	{
		ID:           "etag.list-of-tags",
		Title:        "A PUT with several tags in If-Match succeeds if one of them is the current tag",
		Requirements: reqs("RFC7644-3.14-08"),
		Level:        should,
		Needs:        etagUsers,
		Requests:     4,
		Why:          "Clients may send several tags in If-Match; a server that compares the whole header as one tag rejects every such change.",
		Fix:          "Split the header at commas outside quotes and compare every tag.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "listed", nil)
			res := callWithHeader(ctx, t, "PUT", u.Path(), "If-Match", `W/"scimconf-old", `+version(ctx, t, u.Path()),
				renamedUser(t, "listed", "Ada"))
			t.Expect("status of PUT with a list of tags", 200, res.Status)
		},
	},
	{
		ID:           "etag.in-lists",
		Title:        "meta.version of a resource in a list is equal to the ETag of the resource",
		Requirements: reqs("RFC7644-3.14-03", "RFC7643-3.1-25"),
		Level:        should,
		Needs:        append(slices.Clone(etagUsers), conformance.NeedFilter),
		Requests:     4,
		Why:          "A list has no ETag header for each item; without meta.version, the client has to read every resource separately.",
		Fix:          "Return each resource in a list with the same meta.version as in a GET of the resource.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "item", nil)
			tag := version(ctx, t, u.Path())
			list := t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("item"))).Resources()
			t.SkipIf(len(list) != 1, "blocked: the filter does not find the user")
			t.Expect("meta.version of the item, compared with ETag", tag, value(list[0], "meta.version"))
		},
	},
	{
		ID:           "etag.members",
		Title:        "The entity tag of a group changes with its members",
		Requirements: reqs("RFC7644-3.14-09"),
		Level:        must,
		Needs:        append(slices.Clone(etagPatches), conformance.NeedGroup),
		Requests:     7,
		Why:          "If the tag stays the same, clients keep an outdated list of members and do not notice a change of rights.",
		Fix:          "Assign a new tag to the group whenever a member is added or removed.",
		Run:          etagMembers,
	},
	{
		ID:           "etag.group-stale",
		Title:        "A PUT of a group with an old tag in If-Match is rejected with 412",
		Requirements: reqs("RFC7644-3.14-06"),
		Level:        must,
		Needs:        append(slices.Clone(etagUsers), conformance.NeedGroup),
		Requests:     5,
		Why:          whyETag,
		Fix:          fixMatch,
		Run:          etagGroupStale,
	},
	{
		ID:           "etag.race",
		Title:        "Of several concurrent PUTs with the same tag in If-Match exactly one succeeds; the rest are rejected with 412, 409 or 429",
		Requirements: reqs("RFC7644-3.14-06"),
		Level:        must,
		Needs:        etagUsers,
		Requests:     7,
		Why:          whyETag,
		Fix:          "Compare If-Match with the current tag and store the change in one transaction.",
		Run:          etagRace,
	},
	{
		ID:           "etag.unknown-id",
		Title:        "A PUT of an unknown id with If-Match returns 404 or 412",
		Requirements: reqs("RFC7644-3.12-10"),
		Level:        should,
		Needs:        etagUsers,
		Requests:     1,
		Why:          "If the server returns a 500, clients retry a change that can never succeed.",
		Fix:          "Look up the resource before comparing tags; if it does not exist, return 404.",
		Run: func(ctx context.Context, t *T) {
			res := callWithHeader(ctx, t, "PUT", "/Users/"+t.AbsentID(), "If-Match", `W/"1"`, t.User("nobody", nil))
			t.Holds(res.Status == 404 || res.Status == 412, "status of PUT of an unknown id with If-Match", "404 or 412", res.Status)
		},
	},
}

func etagAdvertised(ctx context.Context, t *T) {
	supported, known := t.Capabilities.Supports("etag")
	t.SkipIf(!known, "the ServiceProviderConfig does not have etag.supported")
	u := t.CreateUser(ctx, "advertised", nil)
	res := t.Read(ctx, u.Path())
	tag := res.Header.Get("ETag")
	if supported {
		t.Must(tag != "", "ETag header of GET, while etag.supported is true", "an entity tag", tag)
	} else if tag == "" {
		return
	}
	// The check sends If-Match. A 304 after If-None-Match would not show that the server compares versions, because frameworks and proxies
	// send it too.
	res = callWithHeader(ctx, t, "PUT", u.Path(), "If-Match", `W/"scimconf-old"`, renamedUser(t, "advertised", "Ada"))
	if supported {
		t.Expect("status of PUT with another tag in If-Match, while etag.supported is true", 412, res.Status)
		return
	}
	t.Holds(res.Status != 412, "status of PUT with another tag in If-Match, while etag.supported is false", "200", res.Status)
}

func etagHeader(ctx context.Context, t *T) {
	res := t.Read(ctx, t.CreateUser(ctx, "tagged", nil).Path())
	tag := res.Header.Get("ETag")
	t.Must(tag != "", "ETag header of GET", "an entity tag", tag)
	if v := value(res.Object(), "meta.version"); t.Warn(v != nil, "meta.version", tag, v) {
		t.Expect("meta.version, compared with the ETag header", tag, v)
	}
}

func etagOnWrites(ctx context.Context, t *T) {
	post := t.Post(ctx, "/Users", t.User("written", nil))
	t.SkipIf(!post.OK(), "blocked: the user could not be created")
	where := "/Users/" + url.PathEscape(post.Object().Text("id"))
	t.Expect("ETag of the response to POST, compared with GET", version(ctx, t, where), post.Header.Get("ETag"))
	put := t.Put(ctx, where, renamedUser(t, "written", "Ada"))
	t.SkipIf(!put.OK(), "blocked: the user could not be replaced")
	t.Expect("ETag of the response to PUT, compared with GET", version(ctx, t, where), put.Header.Get("ETag"))
}

func etagChanges(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "moving", nil)
	first := version(ctx, t, u.Path())
	t.Expect("ETag after reading", first, version(ctx, t, u.Path()))
	res := t.Put(ctx, u.Path(), renamedUser(t, "moving", "Ada"))
	t.SkipIf(!res.OK(), "blocked: the user could not be replaced")
	second := version(ctx, t, u.Path())
	t.Holds(second != first, "ETag after a change by PUT", "a tag other than "+first, second)
}

func etagChangesOnPatch(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "moving", nil)
	first := version(ctx, t, u.Path())
	res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Ada"})
	t.SkipIf(!res.OK(), "blocked: the user could not be patched")
	second := version(ctx, t, u.Path())
	t.Holds(second != first, "ETag after a change by PATCH", "a tag other than "+first, second)
}

func etagMembers(ctx context.Context, t *T) {
	g, users := team(ctx, t, 0, "ann")
	first := version(ctx, t, g.Path())
	res := t.Patch(ctx, g.Path(), doc{"op": "add", "path": "members", "value": []doc{{"value": users["ann"].ID}}})
	t.SkipIf(!res.OK(), "blocked: the group could not be patched")
	second := version(ctx, t, g.Path())
	t.Holds(second != first, "ETag of a group after a member was added", "a tag other than "+first, second)
}

func etagGroupStale(ctx context.Context, t *T) {
	g := t.CreateGroup(ctx, "contested", nil)
	stale := version(ctx, t, g.Path())
	res := t.Put(ctx, g.Path(), t.Group("newer", nil))
	t.SkipIf(!res.OK(), "blocked: the group could not be replaced")
	res = callWithHeader(ctx, t, "PUT", g.Path(), "If-Match", stale, t.Group("lost", nil))
	t.Expect("status of PUT with an old tag", 412, res.Status)
}

func etagRace(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "raced", nil)
	tag := version(ctx, t, u.Path())
	var writers []conformance.Request
	for _, name := range []string{"One", "Two", "Three", "Four"} {
		writers = append(writers,
			conformance.Request{Method: "PUT", Path: u.Path(), Body: renamedUser(t, "raced", name), Header: http.Header{"If-Match": {tag}}})
	}
	won := 0
	for _, res := range t.CallConcurrently(ctx, writers...) {
		t.About(res)
		if res.OK() {
			won++
			continue
		}
		t.Holds(res.Status == 412 || res.Status == 409 || res.Status == 429, "status of a concurrent PUT with an outdated tag", "412", res.Status)
	}
	t.Expect("number of successful PUTs with the same tag", 1, won)
}

// entityTag matches an entity tag of RFC 9110 section 8.8.3; the prefix W/ of weak tags is in upper case.
var entityTag = regexp.MustCompile(`^(W/)?"[\x21\x23-\x7e\x{80}-\x{ff}]*"$`)

// callWithHeader sends a request with one header.
func callWithHeader(ctx context.Context, t *T, method, where, header, tag string, body any) *conformance.Response {
	return t.Call(ctx, conformance.Request{Method: method, Path: where, Body: body, Header: http.Header{header: {tag}}})
}

// renamedUser returns the body of a PUT that changes the given name of the user that t.User(label) describes.
func renamedUser(t *T, label, given string) doc {
	return t.User(label, doc{"name": doc{"givenName": given, "familyName": "Check"}})
}

// givenName returns the body of a PATCH of the given name.
func givenName(name string) doc {
	return doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"op": "replace", "path": "name.givenName", "value": name}}}
}

// version reads a resource and returns its entity tag, or skips the check if the response has none.
func version(ctx context.Context, t *T, where string) string {
	res := t.Read(ctx, where)
	tag := res.Header.Get("ETag")
	t.SkipIf(tag == "", "blocked: GET has no ETag header")
	return tag
}

// outdated creates a user, changes it, and returns the user and the entity tag from before the change.
func outdated(ctx context.Context, t *T, label string) (*conformance.Created, string) {
	u := t.CreateUser(ctx, label, nil)
	stale := version(ctx, t, u.Path())
	res := t.Put(ctx, u.Path(), renamedUser(t, label, "Newer"))
	t.SkipIf(!res.OK(), "blocked: the user could not be replaced")
	return u, stale
}
