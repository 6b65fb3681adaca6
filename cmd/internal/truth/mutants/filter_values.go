package mutants

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// filteringGroups returns a wrapper that replaces the matches of a pattern in filters on groups.
func filteringGroups(pattern, replacement string) wrap {
	re := regexp.MustCompile(pattern)
	return filtering(listGroups, func(f string) string { return re.ReplaceAllString(f, replacement) })
}

// rawQuery returns a wrapper that returns an empty list of users if the encoded query matches the pattern.
func rawQuery(pattern string) wrap {
	re := regexp.MustCompile(pattern)
	return instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if re.MatchString(r.URL.RawQuery) {
			return emptyList()
		}
		return serve(next, r)
	})
}

// staleDisplayNames wraps next so that filters on displayName use the values that users had at creation.
func staleDisplayNames(next http.Handler) http.Handler {
	var ids sync.Map // ids by displayName
	return instead(either(createUser, listUsers), func(next http.Handler, r *http.Request) *reply {
		if m := displayNameOperand.FindStringSubmatch(r.URL.Query().Get("filter")); m != nil {
			if id, ok := ids.Load(m[1]); ok {
				r = derivedRequest(r, http.MethodGet, r.URL.Path, url.Values{"filter": {`id eq "` + id.(string) + `"`}}.Encode(), nil)
			}
		}
		rep := serve(next, r)
		if o := rep.object(); o != nil && createUser(r) && rep.ok() {
			ids.Store(o.Text("displayName"), o.Text("id"))
		}
		return rep
	})(next)
}

var displayNameOperand = regexp.MustCompile(`^displayName eq "([^"\\]*)"$`)

var filterValues = []Mutant{
	{"filter.ascii-only", "filters with non-ASCII characters match no user", filterAnswer(func(f string) bool {
		return strings.ContainsFunc(f, func(r rune) bool { return r > 127 })
	}, emptyList)},
	{"filter.surrogates-lost", "escaped surrogate pairs are not decoded", sub(`\\ud83d\\ude80`, `?`)},
	{"filter.escapes-beyond-ascii-lost", "escaped non-ASCII characters are not decoded", sub(`\\u00eb`, `?`)},
	{"filter.folds-ascii-only", "only ASCII letters are compared case-insensitively", sub(`ÅSTRÖM ÇELIK`, `?`)},
	{"filter.accents-ignored", "accents are ignored in comparisons", sub(`Muller`, `Müller`)},
	{"filter.percent-raw", "percent-encoded spaces are not decoded", rawQuery(`%20eq`)},
	{"filter.percent-lower-case", "percent-encoding with lower-case hex digits is not decoded", rawQuery(`%2e`)},
	{"filter.percent-letters", "percent-encoded letters are not decoded", rawQuery(`%75ser`)},
	{"filter.plus-kept", "a plus sign in a query is not decoded to a space", rawQuery(`\+eq\+`)},
	{"filter.decoded-twice", "the query is percent-decoded twice", filtering(listUsers, func(f string) string {
		if twice, err := url.QueryUnescape(f); err == nil {
			return twice
		}
		return f
	})},
	{"filter.stale", "after a change of displayName, filters still match the displayName with which the user was created", staleDisplayNames},
	{"filter.stale-removals", "filters still find users by a removed email address",
		sub(`emails\.value eq "([^"]*)goes@`, `emails.value eq "${1}stays@`)},
	{"filter.of-shown-only", "filters compare only attributes that the attributes parameter names",
		instead(with(listUsers, "attributes"), func(next http.Handler, r *http.Request) *reply {
			if q := r.URL.Query(); q.Get("attributes") == "userName" && strings.Contains(q.Get("filter"), "userType") {
				return emptyList()
			}
			return serve(next, r)
		})},
	{"filter.password-compared", "sw and co on password are not rejected", sub(`password (sw|co) "(Scimconf-|Probe)"`, `id pr`)},
	{"filter.password-ordered", "gt on password is not rejected", sub(`password gt "S"`, `id pr`)},
	{"filter.group-eq-is-sw", "eq in filters on /Groups acts as sw", filteringGroups(` eq `, ` sw `)},
	{"filter.group-ignored", "filters on /Groups are ignored", filtering(listGroups, func(string) string { return "" })},
	{"filter.group-first-side", "only the left operand of the operator \"or\" is evaluated in filters on /Groups",
		filteringGroups(` or .*$`, ``)},
	{"filter.group-members-none", "filters on members match no group",
		instead(with(listGroups, "filter"), func(next http.Handler, r *http.Request) *reply {
			if strings.Contains(r.URL.Query().Get("filter"), "members") {
				return emptyList()
			}
			return serve(next, r)
		})},
	{"filter.group-members-all", "conditions on members are always true", filteringGroups(`members(\.value eq "[^"]*"|\[.*\])`, `id pr`)},
	{"filter.user-groups-none", "filters on the attribute groups match no user", filterAnswer(contains("groups.value"), emptyList)},
	{"filter.user-groups-all", "conditions on the attribute groups are always true", sub(`groups\.value eq "[^"]*"`, `id pr`)},
	{"filter.user-groups-unread", "users found by a filter on the attribute groups have no id", afterEach(func(r *http.Request) bool {
		return listUsers(r) && strings.Contains(r.URL.Query().Get("filter"), "groups.value")
	}, func(o *scim.Object) { o.Delete("id") })},
}
