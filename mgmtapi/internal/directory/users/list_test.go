package users_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// crowd creates users a, b, c..., one minute apart, and deactivates the first one.
func crowd(t *testing.T, e *apitest.Env) {
	t.Helper()
	for i, name := range []string{"Ann", "Bob", "Çem", "bea", "Eve"} {
		e.Clock.Advance(time.Minute)
		e.Do(t, "POST /api/v1/users", fmt.Sprintf(
			`{"profile":{"login":"%c@example.com","email":"%s@example.org","firstName":%q,"lastName":"L%d","department":%q}}`,
			'a'+i, strings.ToLower(name[:1]), name, i, []string{"x", "X", "y", "", "ß"}[i]), nil)
	}
	e.Do(t, "POST /api/v1/users/a@example.com/lifecycle/deactivate", "", nil)
}

func logins(a *apitest.Answer) string {
	var out []string
	for i := 0; a.Value(fmt.Sprintf("%d.id", i)) != ""; i++ {
		out = append(out, strings.TrimSuffix(a.Value(fmt.Sprintf("%d.profile.login", i)), "@example.com"))
	}
	return strings.Join(out, " ")
}

func TestList_FilterAndSearch(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		crowd(t, e)
		for _, c := range []struct{ name, key, value, want string }{
			{"without parameters DEPROVISIONED users are omitted", "", "", "admin b c d e"},
			{"q matches a prefix of the first name, case-insensitive", "q", "B", "admin b d"},
			{"q matches a prefix of the login", "q", "e@ex", "e"},
			{"q omits DEPROVISIONED users", "q", "ann", ""},
			{"filter by status includes DEPROVISIONED users", "filter", `status eq "DEPROVISIONED"`, "a"},
			{"filter is case-sensitive", "filter", `profile.firstName eq "bob"`, ""},
			{"filter by first name", "filter", `profile.firstName eq "Bob"`, "b"},
			{"filter by login ignores case and diacritics", "filter", `profile.login eq "Ç@EXAMPLE.com"`, "c"},
			{"filter by time", "filter", `lastUpdated gt "2026-03-04T05:10:07.000Z"`, "a e"},
			{"filter by the second that is shown", "filter", `lastUpdated eq "2026-03-04T06:08:07+01:00"`, "b"},
			{"filter with or and parentheses", "filter",
				`(status eq "DEPROVISIONED" or profile.lastName eq "L2") and lastUpdated ge "2026-01-01T00:00:00Z"`, "a c"},
			{"search is case-insensitive", "search", `profile.firstName eq "BOB"`, "b"},
			{"search does not ignore diacritics", "search", `profile.firstName sw "cem"`, ""},
			{"search starts with", "search", `profile.firstName sw "be"`, "d"},
			{"search contains", "search", `profile.email co "@EXAMPLE.org"`, "a b c d e"},
			{"search by an attribute without index", "search", `profile.department eq "x"`, "a b"},
			{"search for a present attribute", "search", `profile.department pr`, "a b c e"},
			{"search for a missing attribute matches nothing", "search", `profile.department lt "zzz" and profile.login sw "d"`, ""},
			{"search by order", "search", `profile.lastName ge "l3"`, "d e"},
			{"search by status, case-insensitive", "search", `status eq "deprovisioned"`, "a"},
			{"search by creation", "search", `created le "2026-03-04T05:07:07Z"`, "admin a"},
		} {
			t.Run(c.name, func(t *testing.T) {
				path := "/api/v1/users?limit=200"
				if c.key != "" {
					path += "&" + c.key + "=" + url.QueryEscape(c.value)
				}
				a := e.Do(t, "GET "+path, "", nil)
				require.Equal(t, 200, a.Status, "%s", a.Body)
				require.Empty(t, cmp.Diff(c.want, logins(a)))
			})
		}
	})
}

func TestList_Sorted(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	crowd(t, e)
	for _, c := range []struct{ query, want string }{
		{"sortBy=profile.firstName", "a d b admin e c"},
		{"sortBy=profile.firstName&sortOrder=DESC", "c e admin b d a"},
		{"sortBy=lastUpdated&sortOrder=desc", "a e d c b admin"},
	} {
		for _, limit := range []int{200, 1, 2} {
			t.Run(fmt.Sprintf("%s by %d", c.query, limit), func(t *testing.T) {
				var got []string
				next := "GET /api/v1/users?search=" + url.QueryEscape(`profile.login pr`) + "&" + c.query + fmt.Sprintf("&limit=%d", limit)
				for next != "" {
					a := e.Do(t, next, "", nil)
					require.Equal(t, 200, a.Status, "%s", a.Body)
					got = append(got, logins(a))
					if next = a.Value("link:next"); next != "" {
						next = "GET " + next
					}
				}
				joined := strings.Join(got, " ")
				if strings.Contains(c.query, "lastUpdated") { // a and e were changed at the same time, so their order depends on their ids
					require.ElementsMatch(t, strings.Fields(c.want), strings.Fields(joined))
					require.True(t, strings.HasSuffix(joined, "d c b admin"), joined)
					return
				}
				require.Equal(t, c.want, joined)
			})
		}
	}
}

// TestList_Paged verifies that consecutive pages neither repeat nor omit a user.
func TestList_Paged(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		crowd(t, e)
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/users?limit=2&after=", Equal: map[string]any{"#": 2}, Save: map[string]string{"next": "link:next"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Len(t, a.Header.Values("Link"), 2, "one Link header per relation")
					require.Contains(t, a.Value("link:self"), e.Server.URL+"/api/v1/users?limit=2")
					require.Contains(t, a.Value("link:next"), "limit=2")
				}},
			apitest.Step{Name: "a user created between two pages appears at the end", Do: "POST /api/v1/users", Body: without("f@example.com")},
			apitest.Step{Do: "GET {{next}}", Equal: map[string]any{"0.profile.login": "c@example.com", "1.profile.login": "d@example.com"},
				Save: map[string]string{"next": "link:next"}},
			apitest.Step{Do: "GET {{next}}", Equal: map[string]any{"#": 2, "1.profile.login": "f@example.com"}, Lacks: []string{"link:next"}},
			apitest.Step{Name: "a list for q has no further pages", Do: "GET /api/v1/users?q=b&limit=1", Equal: map[string]any{"#": 1},
				Lacks: []string{"link:next"}},
			apitest.Step{Name: "a limit above the maximum is lowered", Do: "GET /api/v1/users?limit=100000", Equal: map[string]any{"#": 6}},
			apitest.Step{Name: "an empty limit is absent", Do: "GET /api/v1/users?limit=", Equal: map[string]any{"#": 6}},
			apitest.Step{Name: "credentials can be omitted", Do: "GET /api/v1/users",
				Header: map[string]string{"Content-Type": `application/json; svc-response="omitCredentials,omitTransitioningToStatus"`},
				Lacks:  []string{"0.credentials"}},
		)
	})
}

func TestList_RejectsInvalidQueries(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	for query, code := range map[string]string{
		"limit=0": "E0000001", "limit=-1": "E0000001", "limit=x": "E0000001", "limit=1.5": "E0000001",
		"after=garbage": "E0000029", "search=profile.login+pr&sortBy=profile.login&after=garbage": "E0000029",
		"search=id+pr&sortBy=hat":   "E0000031",
		"filter=nonsense":           "E0000031",
		`filter=status+ne+"ACTIVE"`: "E0000031", `filter=not+(status+eq+"ACTIVE")`: "E0000031", `filter=status+sw+"A"`: "E0000031",
		`filter=hat+eq+"x"`: "E0000031", `filter=Status+eq+"ACTIVE"`: "E0000031", "filter=status+eq+5": "E0000031",
		`filter=lastUpdated+gt+"yesterday"`: "E0000031",
		`search=profile.title+co+"x"`:       "E0000031", `search=profile.hat+eq+"x"`: "E0000031", `search=created+sw+"2026"`: "E0000031",
		`search=status[a+eq+"b"]`:       "E0000031",
		`search=id+pr&filter=id+eq+"x"`: "E0000033", `q=x&filter=id+eq+"x"`: "E0000033", "q=x&search=id+pr": "E0000033",
	} {
		t.Run(query, func(t *testing.T) {
			e.Run(t, apitest.Step{Do: "GET /api/v1/users?" + strings.ReplaceAll(query, `"`, "%22"), Status: 400, Code: code})
		})
	}
}
