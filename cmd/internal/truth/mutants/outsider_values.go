package mutants

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// mapStrings returns v with the result of fn for each string in it. It does not change schemas.
func mapStrings(v any, fn func(text string) any) any {
	switch v := v.(type) {
	case string:
		return fn(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = mapStrings(v[i], fn)
		}
		return out
	case *scim.Object:
		for name, item := range v.Copy().All() {
			if !strings.EqualFold(name, "schemas") {
				v.Set(name, mapStrings(item, fn))
			}
		}
	}
	return v
}

// storing returns a wrapper that changes each string that a POST or PUT of a user stores.
func storing(fn func(text string) any) wrap {
	return before(either(createUser, putUser), func(o *scim.Object) { mapStrings(o, fn) })
}

// inElements returns a wrapper that changes the elements of the usual multi-valued attributes of new users.
func inElements(fn func(element *scim.Object)) wrap {
	return before(createUser, func(o *scim.Object) {
		for _, name := range []string{"emails", "phoneNumbers", "ims", "photos", "addresses", "entitlements", "roles"} {
			for _, item := range o.Array(name) {
				if e, ok := item.(*scim.Object); ok {
					fn(e)
				}
			}
		}
	})
}

// echoed returns a wrapper that returns the members of the request in addition to those of the resource.
func echoed(m match) wrap {
	return instead(m, func(next http.Handler, r *http.Request) *reply {
		sent, err := scim.Decode(readBody(r))
		rep := serve(next, r)
		o := rep.object()
		if err != nil || !rep.ok() || o == nil {
			return rep
		}
		for name, v := range sent.All() {
			if !hasMember(o, name) && !strings.EqualFold(name, "password") && v != nil {
				o.Set(name, v)
			}
		}
		rep.body = o.AppendJSON(nil)
		return rep
	})
}

// managerNames stores the manager.displayName that clients send, although it is readOnly.
func managerNames(next http.Handler) http.Handler {
	sentNames := &memory{}
	store := instead(createUser, func(next http.Handler, r *http.Request) *reply {
		sent, err := scim.Decode(readBody(r))
		rep := serve(next, r)
		if name := sent.Complex(scim.EnterpriseUserSchema).Complex("manager").Text("displayName"); err == nil && rep.ok() && name != "" {
			sentNames.put(rep.object().Text("id"), name)
		}
		return rep
	})
	return afterEach(anyUser, func(o *scim.Object) {
		m := o.Complex(scim.EnterpriseUserSchema).Complex("manager")
		if name, _ := sentNames.at(o.Text("id")).(string); m != nil && name != "" {
			m.Set("displayName", name)
		}
	})(store(next))
}

var escapeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;")

var outsiderValues = []Mutant{
	// RFC7643-2.3.1-01
	{"create.html-escaped", "the characters &, <, > and \" are stored as HTML entities",
		storing(func(text string) any { return escapeHTML.Replace(text) })},
	// RFC7643-2.3.1-01
	{"create.beyond-bmp-lost", "characters beyond U+FFFF are stored as question marks", storing(func(text string) any {
		return strings.Map(func(c rune) rune {
			if c > 0xFFFF {
				return '?'
			}
			return c
		}, text)
	})},
	// RFC7643-2.3.1-01
	{"create.trimmed", "spaces at both ends of a string are not stored", storing(func(text string) any { return strings.TrimSpace(text) })},
	// RFC7643-2.3.1-01
	{"create.blanks-joined", "consecutive spaces and line breaks are stored as one space",
		storing(func(text string) any { return strings.Join(strings.Fields(text), " ") })},
	// RFC7643-2.3.1-01
	{"create.backslashes-doubled", "a backslash is stored twice",
		storing(func(text string) any { return strings.ReplaceAll(text, `\`, `\\`) })},
	// RFC7643-2.3.1-01
	{"create.leading-zeros-lost", "employeeNumber loses its leading zeros", before(either(createUser, putUser), func(o *scim.Object) {
		if e := o.Complex(scim.EnterpriseUserSchema); e != nil {
			if n, err := strconv.Atoi(e.Text("employeeNumber")); err == nil {
				e.Set("employeeNumber", strconv.Itoa(n))
			}
		}
	})},
	// RFC7643-2.3-02
	{"create.digits-as-number", "a string of digits is returned as a number", afterEach(anyUser, func(o *scim.Object) {
		e := o.Complex(scim.EnterpriseUserSchema)
		if n, err := strconv.Atoi(e.Text("employeeNumber")); err == nil {
			e.Set("employeeNumber", n)
		}
	})},
	// RFC7643-8.7.1-08
	{"create.element-display-lost", "display of elements is not stored", inElements(func(e *scim.Object) { e.Delete("display") })},
	// RFC7643-8.7.1-08
	{"create.element-primary-lost", "primary of elements is not stored", inElements(func(e *scim.Object) { e.Delete("primary") })},
	// RFC7643-4.1.2-03
	{"create.element-type-narrow", "a type other than work, home and other is stored as other", inElements(func(e *scim.Object) {
		if t := e.Text("type"); t != "" && t != "work" && t != "home" {
			e.Set("type", "other")
		}
	})},
	// RFC7643-8.7.1-02
	{"create.name-parts-lost", "middleName, honorificPrefix and honorificSuffix are not stored",
		before(either(createUser, putUser), func(o *scim.Object) {
			for _, part := range []string{"middleName", "honorificPrefix", "honorificSuffix"} {
				if n := o.Complex("name"); n != nil {
					n.Delete(part)
				}
			}
		})},
	// RFC7643-8.7.1-05
	{"create.timezone-lost", "timezone and preferredLanguage are not stored", dropOnCreate("timezone", "preferredLanguage")},
	// RFC7643-8.7.1-14
	{"create.entitlements-lost", "entitlements are not stored", dropOnCreate("entitlements")},
	// RFC7643-8.7.1-15
	{"create.certificates-lost", "x509Certificates are not stored", dropOnCreate("x509Certificates")},
	// RFC7643-7-17
	{"create.manager-name-taken", "manager.displayName of the request is stored although it is readOnly", managerNames},
	// RFC7644-3.3-06
	{"create.echoes-request", "the POST response contains members of the request that were not stored", echoed(createUser)},
	// RFC7644-3.1-05
	{"put.echoes-request", "the PUT response contains members of the request that were not stored", echoed(putUser)},
	// RFC7643-3-01
	{"create.schemas-as-text", "schemas of a user is a string", afterEach(anyUser, func(o *scim.Object) {
		if list := o.Array("schemas"); len(list) == 1 {
			o.Set("schemas", list[0])
		}
	})},
	// RFC7643-2.5-01
	{"create.absent-as-empty-text", "an absent displayName, nickName or title is returned as an empty string",
		afterEach(either(createUser, readUser, putUser, patchUser), func(o *scim.Object) {
			for _, name := range []string{"displayName", "nickName", "title"} {
				if !hasMember(o, name) {
					o.Set(name, "")
				}
			}
		})},
	// RFC7643-2.3.5-01
	{"create.date-as-number", "created and lastModified are numbers of milliseconds", afterEach(anyUser, func(o *scim.Object) {
		for _, name := range []string{"created", "lastModified"} {
			if t, err := time.Parse(time.RFC3339Nano, o.Complex("meta").Text(name)); err == nil {
				complexOf(o, "meta").Set(name, t.UnixMilli())
			}
		}
	})},
	// RFC7643-4.1.1-13
	{"bulk.password-echoed", "the bulk response contains the passwords of the request",
		instead(postBulk, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			rep := serve(next, r)
			o := rep.object()
			if err != nil || !rep.ok() || o == nil {
				return rep
			}
			for i, item := range o.Array("Operations") {
				if list := sent.Array("Operations"); i < len(list) {
					op, _ := list[i].(*scim.Object)
					if d := op.Complex("data"); method(op, "POST") && d.Text("password") != "" {
						objectOf(item).Set("response", d)
					}
				}
			}
			rep.body = o.AppendJSON(nil)
			return rep
		})},
}

// outdated returns a wrapper: after each write of a resource, the first read returns the state before the write. For a new resource, the
// first read returns 404.
func outdated(write, read match) wrap {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		waiting := map[string]*reply{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := r.URL.Path
			switch {
			case write(r):
				was := serve(next, derivedRequest(r, http.MethodGet, key, "", nil))
				rep := serve(next, r)
				if r.Method == http.MethodPost {
					key, was = key+"/"+rep.object().Text("id"), failure(404, "")
				}
				if rep.ok() {
					mu.Lock()
					waiting[key] = was
					mu.Unlock()
				}
				rep.send(w)
			case read(r):
				mu.Lock()
				was := waiting[key]
				delete(waiting, key)
				mu.Unlock()
				if was != nil {
					was.send(w)
					return
				}
				next.ServeHTTP(w, r)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// lateIndex returns a wrapper: after each write of a resource, the first filtered list that would contain the resource omits it.
func lateIndex(write, read match) wrap {
	return func(next http.Handler) http.Handler {
		fresh := &memory{}
		noted := after(write, func(r *http.Request, rep *reply) {
			if _, _, id := place(r); rep.ok() {
				fresh.put(id, true)
			}
		})
		return keep(with(read, "filter"), func(_ *http.Request, o *scim.Object) bool {
			if fresh.at(o.Text("id")) != true {
				return true
			}
			fresh.put(o.Text("id"), nil)
			return false
		})(noted(next))
	}
}

// oldGroups wraps next: after a change of any group, the first read of each user returns the groups that the previous read of the user
// returned.
func oldGroups(next http.Handler) http.Handler {
	var mu sync.Mutex
	changed, shown := 0, map[string]int{}
	counted := after(either(createGroup, putGroup, patchGroup, deleteGroup), func(_ *http.Request, rep *reply) {
		if rep.ok() {
			mu.Lock()
			changed++
			mu.Unlock()
		}
	})
	groupsOf := &memory{}
	return afterEach(readUser, func(o *scim.Object) {
		mu.Lock()
		id := o.Text("id")
		stale := shown[id] != changed
		shown[id] = changed
		mu.Unlock()
		now := o.Array("groups")
		if was, _ := groupsOf.at(id).([]any); stale {
			o.Delete("groups")
			if len(was) > 0 {
				o.Set("groups", was)
			}
		}
		groupsOf.put(id, now)
	})(counted(next))
}

// oldTotals wraps next: each list has the totalResults that the first list with the same filter had.
func oldTotals(next http.Handler) http.Handler {
	totals := &memory{}
	return after(either(listUsers, listGroups), func(r *http.Request, rep *reply) {
		o := rep.object()
		if !rep.ok() || o == nil {
			return
		}
		key := r.URL.Path + "?" + r.URL.Query().Get("filter")
		if was := totals.at(key); was != nil {
			o.Set("totalResults", was)
			rep.body = o.AppendJSON(nil)
			return
		}
		totals.put(key, totalOf(rep))
	})(next)
}

// listedOnce wraps next: after the deletion of a user, the first list whose filter names the user contains the user.
func listedOnce(next http.Handler) http.Handler {
	gone := &deletedUsers{}
	var mu sync.Mutex
	noted := instead(deleteUser, func(next http.Handler, r *http.Request) *reply {
		was := stored(next, r)
		rep := serve(next, r)
		if rep.ok() && was != nil {
			mu.Lock()
			gone.add(was.Text("userName"), was)
			mu.Unlock()
		}
		return rep
	})
	return after(with(listUsers, "filter"), func(r *http.Request, rep *reply) {
		o := rep.object()
		if !rep.ok() || o == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for name, was := range gone.users {
			if strings.Contains(r.URL.Query().Get("filter"), string(scim.AppendValue(nil, name))) {
				o.Set("Resources", append(o.Array("Resources"), was))
				o.Set("totalResults", totalOf(rep)+1)
				rep.body = o.AppendJSON(nil)
				delete(gone.users, name)
				return
			}
		}
	})(noted(next))
}

var outsiderDelayed = []Mutant{
	// RFC7644-3.1-05
	{"read.readable-late", "the first read of a new user returns 404", outdated(createUser, readUser)},
	// RFC7644-3.1-05
	{"patch.readable-late", "the first read after a PATCH returns the previous state", outdated(patchUser, readUser)},
	// RFC7644-3.6-01
	{"delete.readable-once", "the first read after a DELETE returns the user", outdated(deleteUser, readUser)},
	// RFC7644-3.6-02
	{"delete.listed-once", "after a DELETE, the first list whose filter contains the userName of the user contains the user", listedOnce},
	// RFC7644-3.1-05
	{"groups.readable-late", "the first read after a change of a group returns the previous members",
		outdated(either(patchGroup, putGroup), readGroup)},
	// RFC7644-3.1-05
	{"groups.user-groups-late", "the first read of a user after a change of a group has the previous groups", oldGroups},
	// RFC7644-3.4.2.2-03
	{"filter.patched-late", "the first list with a filter after a PATCH does not contain the user", lateIndex(patchUser, listUsers)},
	// RFC7644-3.4.2.2-03
	{"put.found-late", "the first list with a filter after a PUT does not contain the user", lateIndex(putUser, listUsers)},
	// RFC7644-3.4.2-04
	{"list.total-remembered", "totalResults is calculated only for the first of several equal queries", oldTotals},
	// RFC7644-3.4.3-07
	{"search.outdated", "a search returns the resources of the previous search with the same message", func(next http.Handler) http.Handler {
		results := &memory{}
		return instead(anySearch, func(next http.Handler, r *http.Request) *reply {
			key := r.URL.Path + string(readBody(r))
			rep := serve(next, r)
			was, _ := results.at(key).([]byte)
			if rep.ok() {
				results.put(key, rep.body)
				if was != nil {
					rep = &reply{status: rep.status, header: rep.header, body: was}
				}
			}
			return rep
		})(next)
	}},
	// RFC7644-3.4.2.4-13
	{"list.start-before-filter", "startIndex counts the users that do not match the filter",
		func(next http.Handler) http.Handler {
			return instead(func(r *http.Request) bool { return with(listUsers, "filter")(r) && !r.URL.Query().Has("cursor") },
				func(next http.Handler, r *http.Request) *reply {
					start, ok := integerOf(r, "startIndex")
					if !ok || start < 2 {
						return serve(next, r)
					}
					q := r.URL.Query()
					earlier := at(next, r, "/Users", url.Values{"count": {strconv.Itoa(start - 1)}, "sortBy": q["sortBy"], "attributes": {"id"}})
					q.Set("startIndex", "1")
					q.Set("count", strconv.Itoa(1000))
					rep := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, q.Encode(), nil))
					o := rep.object()
					if !rep.ok() || !earlier.ok() || o == nil {
						return rep
					}
					skipped := map[string]bool{}
					eachResource(earlier.object(), func(u *scim.Object) { skipped[u.Text("id")] = true })
					rest := []any{}
					for _, item := range o.Array("Resources") {
						if !skipped[objectOf(item).Text("id")] {
							rest = append(rest, item)
						}
					}
					if n, ok := integerOf(r, "count"); ok && n >= 0 && n < len(rest) {
						rest = rest[:n]
					}
					o.Set("Resources", rest)
					o.Set("startIndex", start)
					o.Set("itemsPerPage", len(rest))
					rep.body = o.AppendJSON(nil)
					return rep
				})(next)
		}},
}
