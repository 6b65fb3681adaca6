package mutants

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
)

var (
	anyUser  = either(createUser, readUser, listUsers, putUser, patchUser)
	anyGroup = either(createGroup, readGroup, listGroups, putGroup, patchGroup)
)

// inUserGroups returns a wrapper that changes the elements of groups of users.
func inUserGroups(m match, fn func(user, group *scim.Object)) wrap {
	return afterEach(m, func(o *scim.Object) {
		for _, item := range o.Array("groups") {
			if g, ok := item.(*scim.Object); ok {
				fn(o, g)
			}
		}
	})
}

// inMembers returns a wrapper that changes the elements of members of groups.
func inMembers(fn func(member *scim.Object)) wrap {
	return afterEach(anyGroup, func(o *scim.Object) {
		for _, item := range o.Array("members") {
			if m, ok := item.(*scim.Object); ok {
				fn(m)
			}
		}
	})
}

// shifted returns a dateTime later by a duration, or the string itself if it is not a dateTime.
func shifted(text string, by time.Duration) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return t.Add(by).UTC().Format("2006-01-02T15:04:05.000Z")
}

// firstGroupNames returns every group in users with the first displayName that the server saw for it.
func firstGroupNames(next http.Handler) http.Handler {
	names := &memory{}
	learn := afterEach(createGroup, func(o *scim.Object) { names.put(o.Text("id"), o.Text("displayName")) })
	return inUserGroups(anyUser, func(_, g *scim.Object) {
		if name, _ := names.at(g.Text("value")).(string); name != "" && g.Text("display") != "" {
			g.Set("display", name)
		}
	})(learn(next))
}

// deletedGroupsStay returns users with the groups that were deleted while the user was a member.
func deletedGroupsStay(next http.Handler) http.Handler {
	lost := &memory{}
	inner := instead(deleteGroup, func(next http.Handler, r *http.Request) *reply {
		g := stored(next, r)
		rep := serve(next, r)
		if rep.ok() {
			for _, item := range g.Array("members") {
				m, _ := item.(*scim.Object)
				was, _ := lost.at(m.Text("value")).([]any)
				lost.put(m.Text("value"), append(was[:len(was):len(was)], scim.NewObject(scim.Member{Name: "value", Value: g.Text("id")},
					scim.Member{Name: "display", Value: g.Text("displayName")}, scim.Member{Name: "type", Value: "direct"})))
			}
		}
		return rep
	})
	return afterEach(either(readUser, listUsers), func(o *scim.Object) {
		if was, _ := lost.at(o.Text("id")).([]any); len(was) > 0 {
			o.Set("groups", append(o.Array("groups"), was...))
		}
	})(inner(next))
}

// leavesGroups removes a user from its groups when a PUT omits groups.
func leavesGroups(next http.Handler, r *http.Request) *reply {
	sent, err := scim.Decode(readBody(r))
	has := stored(next, r)
	rep := serve(next, r)
	if err != nil || !rep.ok() || hasMember(sent, "groups") {
		return rep
	}
	for _, item := range has.Array("groups") {
		g, _ := item.(*scim.Object)
		message := scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.PatchOpMessage}}, scim.Member{Name: "Operations",
			Value: []any{op("remove", `members[value eq "`+has.Text("id")+`"]`, nil)}})
		base, _, _ := place(r)
		serve(next, derivedRequest(r, http.MethodPatch, base+"/Groups/"+g.Text("value"), "", message.AppendJSON(nil)))
	}
	shown := stored(next, r)
	if o := rep.object(); o != nil && shown != nil {
		o.Delete("groups")
		rep.body = o.AppendJSON(nil)
	}
	return rep
}

// createsBesideInactive lets a new user have the userName of an inactive user. The new user is stored under another userName.
func createsBesideInactive(next http.Handler, r *http.Request) *reply {
	sent, err := scim.Decode(readBody(r))
	rep := serve(next, r)
	if err != nil || rep.status != http.StatusConflict {
		return rep
	}
	name := sent.Text("userName")
	found := at(next, r, "/Users", url.Values{"filter": {`active eq false and userName eq ` + string(scim.AppendValue(nil, name))}})
	if len(found.object().Array("Resources")) == 0 {
		return rep
	}
	sent.Set("userName", name+".2")
	rep = as(next, r, sent)
	if o := rep.object(); rep.ok() && o != nil {
		o.Set("userName", name)
		rep.body = o.AppendJSON(nil)
	}
	return rep
}

var outsiderDerived = []Mutant{
	// RFC7643-3.1-24
	{"read.location-with-slash", "meta.location of a resource that is read ends in a slash",
		afterEach(either(readUser, readGroup), func(o *scim.Object) {
			if m := o.Complex("meta"); m.Text("location") != "" {
				m.Set("location", m.Text("location")+"/")
			}
		})},
	// RFC7643-3.1-22
	{"read.touches", "lastModified is the time of the read", afterEach(readUser, func(o *scim.Object) {
		if m := o.Complex("meta"); m.Text("lastModified") != "" {
			m.Set("lastModified", time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z"))
		}
	})},
	// RFC7643-3.1-23
	{"create.modified-late", "lastModified of a new user is one second after created",
		afterEach(either(createUser, readUser), func(o *scim.Object) {
			if m := o.Complex("meta"); m.Text("lastModified") != "" && m.Text("lastModified") == m.Text("created") {
				m.Set("lastModified", shifted(m.Text("lastModified"), time.Second))
			}
		})},
	// RFC7644-3.3-08
	{"create.location-relative", "Location of a 201 response is relative and meta.location is not",
		after(createUser, func(r *http.Request, rep *reply) {
			if l := rep.header.Get("Location"); l != "" {
				rep.header.Set("Location", r.URL.Path+strings.TrimPrefix(l, parentOf(l)))
			}
		})},
	// RFC7643-3.1-18
	{"put.meta-without-created", "meta in the PUT response has no created",
		afterEach(putUser, func(o *scim.Object) { o.Complex("meta").Delete("created") })},
	// RFC7643-3.1-25
	{"put.version-of-request", "the PUT response has meta of the request", instead(putUser, func(next http.Handler, r *http.Request) *reply {
		sent, err := scim.Decode(readBody(r))
		rep := serve(next, r)
		o := rep.object()
		if m := sent.Complex("meta"); err == nil && m != nil && rep.ok() && o != nil {
			o.Set("meta", m)
			rep.body = o.AppendJSON(nil)
		}
		return rep
	})},
	// RFC7643-4.1.2-13
	{"put.leaves-groups", "a PUT without groups removes the user from its groups", instead(putUser, leavesGroups)},
	// RFC7644-3.1-05
	{"groups.user-groups-old-name", "groups of a user has the first displayName of a renamed group", firstGroupNames},
	// RFC7643-4.1.2-12
	{"groups.user-groups-ref-of-user", "$ref in groups of a user is the URL of the user", inUserGroups(anyUser, func(u, g *scim.Object) {
		if l := u.Complex("meta").Text("location"); l != "" {
			g.Set("$ref", l)
		}
	})},
	// RFC7643-4.1.2-11
	{"groups.deleted-group-stays", "groups of a user still contains a deleted group", deletedGroupsStay},
	// RFC7643-7-23
	{"groups.user-groups-on-request", "groups of a user is returned only if attributes names it",
		afterEach(func(r *http.Request) bool { return anyUser(r) && r.URL.Query().Get("attributes") == "" },
			func(o *scim.Object) { o.Delete("groups") })},
	// RFC7643-7-23
	{"groups.user-groups-not-in-lists", "users in lists have no groups", afterEach(listUsers, func(o *scim.Object) { o.Delete("groups") })},
	// RFC7643-8.7.1-17
	{"groups.member-type-lower-case", "type of a member is in lower case", inMembers(func(m *scim.Object) {
		if t := m.Text("type"); t != "" {
			m.Set("type", strings.ToLower(t))
		}
	})},
	// RFC7643-4.2-06
	{"groups.member-ref-below-groups", "$ref of a member that is a user is below /Groups", inMembers(func(m *scim.Object) {
		if ref := m.Text("$ref"); ref != "" {
			m.Set("$ref", strings.Replace(ref, "/Users/", "/Groups/", 1))
		}
	})},
	// RFC7643-4.2-05
	{"groups.member-value-is-ref", "value of a member is the URL of the member", inMembers(func(m *scim.Object) {
		if ref := m.Text("$ref"); ref != "" {
			m.Set("value", ref)
		}
	})},
	// RFC7644-3.11-03
	{"me.location-header-missing", "the response of /Me has no Location header",
		after(both(ofMe, func(r *http.Request) bool { return r.Method == http.MethodGet }),
			func(_ *http.Request, rep *reply) { rep.header.Del("Location") })},
	// RFC9110-13.1.2-01
	{"etag.if-none-match-lists-unread", "a list of tags in If-None-Match is ignored",
		withoutPrecondition(withHeader(either(readUser, readGroup), "If-None-Match", func(v string) bool { return strings.Contains(v, ",") }),
			"If-None-Match")},
	// RFC9110-13.1.2-01
	{"etag.if-none-match-strong", "If-None-Match with the current tag without W/ is ignored",
		withoutPrecondition(withHeader(either(readUser, readGroup), "If-None-Match", func(v string) bool { return !strings.Contains(v, "W/") }),
			"If-None-Match")},
	// RFC9110-13.1.1-01
	{"etag.rejected-but-performed", "a PUT or PATCH with an old tag returns 412 and is performed",
		instead(withHeader(either(putUser, patchUser), "If-Match", anyValue), func(next http.Handler, r *http.Request) *reply {
			body := readBody(r)
			rep := serve(next, r)
			if rep.status == http.StatusPreconditionFailed {
				again := derivedRequest(r, r.Method, r.URL.Path, r.URL.RawQuery, body)
				again.Header.Del("If-Match")
				serve(next, again)
			}
			return rep
		})},
	// RFC7643-4.1.1-02
	{"create.name-of-inactive-free", "a new user may have the userName of an inactive user", instead(createUser, createsBesideInactive)},
}
