package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// tenant is a client of one service provider. The test fails if a response names another service provider.
type tenant struct {
	name, base, token string
	others            []string // texts that name other tenants; they must not occur in responses
}

// reply is a response of a service provider.
type reply struct {
	status int
	header http.Header
	text   string
}

func (r reply) json(t require.TestingT) map[string]any {
	var o map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.text), &o), r.text)
	return o
}

func (r reply) id(t require.TestingT) string {
	require.Equal(t, http.StatusCreated, r.status, r.text)
	id, _ := r.json(t)["id"].(string)
	require.NotEmpty(t, id)
	return id
}

// send sends a request. header contains alternating names and values.
func (c *tenant) send(t require.TestingT, method, path, body string, header ...string) reply {
	req, err := http.NewRequestWithContext(context.Background(), method, c.base+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+c.token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	r := reply{status: res.StatusCode, header: res.Header, text: string(text)}
	require.NotEqual(t, http.StatusInternalServerError, r.status, "%s %s: %s", method, path, text)
	for _, other := range c.others {
		require.NotContains(t, r.text+r.header.Get("Location"), other, "%s %s at %s", method, path, c.name)
	}
	return r
}

const (
	userSchema  = `"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"]`
	groupSchema = `"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"]`
	bothSchemas = `"schemas":["urn:ietf:params:scim:schemas:core:2.0:User","urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"]`
	enterprise  = `"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"`
)

func userBody(name string, more ...string) string {
	return `{` + strings.Join(append([]string{userSchema, fmt.Sprintf(`"userName":%q`, name)}, more...), ",") + `}`
}

func groupBody(name string, members ...string) string {
	list := []string{}
	for _, id := range members {
		list = append(list, fmt.Sprintf(`{"value":%q}`, id))
	}
	return fmt.Sprintf(`{%s,"displayName":%q,"members":[%s]}`, groupSchema, name, strings.Join(list, ","))
}

func searchBody(members string) string {
	return `{"schemas":["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],` + members + `}`
}

func bulkBody(operations string) string {
	return `{"schemas":["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],"Operations":[` + operations + `]}`
}

// eachTenants runs a test on SQLite and PostgreSQL with two tenants, the default one and another, in both orders.
func eachTenants(t *testing.T, run func(t *testing.T, own, other *tenant)) {
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			databaseURL := ""
			if database == "postgres" {
				databaseURL = sqldbtest.PostgresURL(t)
			}
			config := tenants.Config{Name: "globex", Tokens: []tenants.Token{tenants.NewToken("token-globex")}}
			s, err := sandbox.ServeSCIM(t.Context(),
				sandbox.SCIMOptions{Listen: "127.0.0.1:0", DB: databaseURL, Tokens: []string{"token-default"}, Tenants: []tenants.Config{config}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
			first := &tenant{name: tenants.Default, base: s.URL(), token: "token-default", others: []string{"/t/globex"}}
			second := &tenant{name: "globex", base: s.TenantURL("globex"), token: "token-globex", others: []string{s.URL()}}
			t.Run("from the default tenant", func(t *testing.T) { run(t, first, second) })
			t.Run("from the other tenant", func(t *testing.T) { run(t, second, first) })
		})
	}
}

// state returns all resources of a tenant with their versions.
func (c *tenant) state(t require.TestingT) string {
	r := c.send(t, http.MethodGet, "/?count=1000", "")
	require.Equal(t, http.StatusOK, r.status, r.text)
	return r.text
}

// A request for a resource of another tenant gets the same response as a request for a resource that does not exist, and changes nothing.
func TestTenants_ForeignResourcesInvisible(t *testing.T) {
	t.Parallel()
	eachTenants(t, func(t *testing.T, own, other *tenant) {
		ann := other.send(t, http.MethodPost, "/Users", userBody("ann@"+own.name, `"externalId":"x1"`, `"emails":[{"value":"ann@x.example"}]`))
		boss := other.send(t, http.MethodPost, "/Users",
			fmt.Sprintf(`{%s,"userName":"boss@%s",%s:{"manager":{"value":%q}}}`, bothSchemas, own.name, enterprise, ann.id(t)))
		team := other.send(t, http.MethodPost, "/Groups", groupBody("team", ann.id(t), boss.id(t)))
		page := other.send(t, http.MethodGet, "/Users?cursor&count=1", "").json(t)
		cursor, _ := page["nextCursor"].(string)
		require.NotEmpty(t, cursor, page)
		before := other.state(t)

		mine := own.send(t, http.MethodPost, "/Users", userBody("mine@"+own.name)).id(t)
		group := own.send(t, http.MethodPost, "/Groups", groupBody("mine", mine)).id(t)
		version := ann.header.Get("ETag")
		require.NotEmpty(t, version)
		// madeUp changes the last character of an id: the result has the format of an id but belongs to no resource.
		madeUp := func(id string) string {
			return id[:len(id)-1] + map[bool]string{true: "b", false: "a"}[id[len(id)-1] == 'a']
		}
		theirs := strings.NewReplacer("{user}", ann.id(t), "{group}", team.id(t), "{base}", other.base)
		nobodys := strings.NewReplacer("{user}", madeUp(ann.id(t)), "{group}", madeUp(team.id(t)), "{base}", "http://nobody.example/scim/v2")
		forget := func(r *strings.Replacer, text string) string {
			for _, placeholder := range []string{"{user}", "{group}", "{base}"} {
				text = strings.ReplaceAll(text, r.Replace(placeholder), placeholder)
			}
			return text
		}
		filtered := func(endpoint, filter string) string { return endpoint + "?filter=" + url.QueryEscape(filter) }
		const operation = `{"method":%q,"path":%q%s}`
		for _, test := range []struct {
			name, method, path, body string
			status                   int
			header                   []string
		}{
			{"GET by id", "GET", "/Users/{user}", "", 404, nil},
			{"HEAD by id", "HEAD", "/Users/{user}", "", 404, nil},
			{"GET of a group", "GET", "/Groups/{group}", "", 404, nil},
			{"GET with the version", "GET", "/Users/{user}", "", 404, []string{"If-None-Match", version}},
			{"PUT", "PUT", "/Users/{user}", userBody("z"), 404, nil},
			{"PUT with the version", "PUT", "/Users/{user}", userBody("z"), 404, []string{"If-Match", version}},
			{"PUT with any version", "PUT", "/Users/{user}", userBody("z"), 404, []string{"If-Match", "*"}},
			{"PATCH", "PATCH", "/Users/{user}", patchBody(`{"op":"replace","path":"nickName","value":"z"}`), 404, nil},
			{"PATCH with the version", "PATCH", "/Users/{user}", patchBody(`{"op":"replace","path":"nickName","value":"z"}`), 404,
				[]string{"If-Match", version}},
			{"PATCH of a group", "PATCH", "/Groups/{group}", patchBody(`{"op":"remove","path":"members"}`), 404, nil},
			{"DELETE", "DELETE", "/Users/{user}", "", 404, nil},
			{"DELETE with the version", "DELETE", "/Users/{user}", "", 404, []string{"If-Match", version}},
			{"DELETE of a group", "DELETE", "/Groups/{group}", "", 404, nil},
			{"a filter by id", "GET", filtered("/Users", `id eq "{user}"`), "", 200, nil},
			{"a filter by id at the root", "GET", filtered("/", `id eq "{user}" or id eq "{group}"`), "", 200, nil},
			{"a filter by member", "GET", filtered("/Groups", `members.value eq "{user}"`), "", 200, nil},
			{"a filter by members as a value path", "GET", filtered("/Groups", `members[value eq "{user}"]`), "", 200, nil},
			{"a filter by group", "GET", filtered("/Users", `groups.value eq "{group}"`), "", 200, nil},
			{"a filter by manager", "GET",
				filtered("/Users", `urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value eq "{user}"`), "", 200, nil},
			{"a filter by location", "GET", filtered("/Users", `meta.location eq "{base}/Users/{user}"`), "", 200, nil},
			{"a search", "POST", "/Users/.search", searchBody(`"filter":"id eq \"{user}\""`), 200, nil},
			{"a search at the root", "POST", "/.search", searchBody(`"filter":"id eq \"{user}\" or id eq \"{group}\""`), 200, nil},
			{"a new group with the member", "POST", "/Groups", groupBody("thieves", "{user}"), 400, nil},
			{"a new group with the group", "POST", "/Groups", groupBody("thieves", "{group}"), 400, nil},
			{"a new group with a reference", "POST", "/Groups",
				`{` + groupSchema + `,"displayName":"thieves","members":[{"$ref":"{base}/Users/{user}"}]}`, 400, nil},
			{"adding the member", "PATCH", "/Groups/" + group, patchBody(`{"op":"add","path":"members","value":[{"value":"{user}"}]}`), 400, nil},
			{"removing the member", "PATCH", "/Groups/" + group, patchBody(`{"op":"remove","path":"members[value eq \"{user}\"]"}`), 204, nil},
			{"replacing the members", "PUT", "/Groups/" + group, groupBody("mine", mine, "{user}"), 400, nil},
			{"groups of a user, which are readOnly", "PUT", "/Users/" + mine, userBody("mine@"+own.name, `"groups":[{"value":"{group}"}]`), 200,
				nil},
			{"a bulk request with the ids", "POST", "/Bulk", bulkBody(strings.Join([]string{
				fmt.Sprintf(operation, "DELETE", "/Users/{user}", ""),
				fmt.Sprintf(operation, "PUT", "/Users/{user}", `,"data":`+userBody("z")),
				fmt.Sprintf(operation, "PATCH", "/Groups/{group}", `,"data":`+patchBody(`{"op":"remove","path":"members"}`)),
				fmt.Sprintf(operation, "POST", "/Groups", `,"bulkId":"g","data":`+groupBody("thieves", "{user}")),
				fmt.Sprintf(operation, "POST", "/Groups", `,"bulkId":"h","data":`+groupBody("thieves", "bulkId:{user}")),
				fmt.Sprintf(operation, "DELETE", "{base}/Users/{user}", ""),
			}, ",")), 200, nil},
		} {
			t.Run(test.name, func(t *testing.T) {
				var answers [2]string
				for i, r := range []*strings.Replacer{theirs, nobodys} {
					path := r.Replace(test.path)
					if strings.Contains(test.path, "?") { // the query is escaped, so its placeholders are escaped too
						path = strings.NewReplacer(url.QueryEscape("{user}"), r.Replace("{user}"), url.QueryEscape("{group}"), r.Replace("{group}"),
							url.QueryEscape("{base}"), url.QueryEscape(r.Replace("{base}"))).Replace(test.path)
					}
					// The request contains the name of the other tenant, and an error response may repeat it. So send must not check for this name.
					asker := *own
					asker.others = nil
					got := asker.send(t, test.method, path, r.Replace(test.body), test.header...)
					require.Equal(t, test.status, got.status, "%s", got.text)
					if test.status == 200 && (test.method == "GET" || strings.Contains(test.path, ".search")) {
						require.Contains(t, got.text, `"totalResults":0`)
					}
					answers[i] = forget(r, got.text)
				}
				require.Empty(t, cmp.Diff(answers[0], answers[1]), "the responses for an existing and a missing resource are equal")
			})
		}

		t.Run("a manager of another tenant is stored as a string", func(t *testing.T) {
			var answers [2]map[string]any
			for i, r := range []*strings.Replacer{theirs, nobodys} {
				made := own.send(t, http.MethodPost, "/Users",
					r.Replace(fmt.Sprintf(`{%s,"userName":"managed",%s:{"manager":{"value":"{user}"}}}`, bothSchemas, enterprise)))
				id := made.id(t)
				require.NoError(t, json.Unmarshal([]byte(forget(r, made.text)), &answers[i]))
				delete(answers[i], "id")
				delete(answers[i], "meta")
				require.Equal(t, http.StatusNoContent, own.send(t, http.MethodDelete, "/Users/"+id, "").status)
			}
			require.Empty(t, cmp.Diff(answers[0], answers[1]))
		})
		t.Run("a cursor of another tenant is rejected", func(t *testing.T) {
			for _, r := range []reply{
				own.send(t, http.MethodGet, "/Users?count=1&cursor="+url.QueryEscape(cursor), ""),
				own.send(t, http.MethodPost, "/Users/.search", searchBody(fmt.Sprintf(`"count":1,"cursor":%q`, cursor))),
			} {
				require.Equal(t, http.StatusBadRequest, r.status, r.text)
				require.Equal(t, "invalidCursor", r.json(t)["scimType"], r.text)
			}
		})
		t.Run("lists and totals contain own resources only", func(t *testing.T) {
			for _, path := range []string{"/Users", "/Users?sortBy=userName", "/Users?cursor&count=10",
				filtered("/Users", `userName co "`+own.name+`"`)} {
				require.EqualValues(t, 1, own.send(t, http.MethodGet, path, "").json(t)["totalResults"], path)
			}
		})
		t.Run("names are unique per tenant", func(t *testing.T) {
			id := own.send(t, http.MethodPost, "/Users", userBody("ann@"+own.name)).id(t)
			require.Equal(t, http.StatusConflict, own.send(t, http.MethodPost, "/Users", userBody("ANN@"+own.name)).status)
			require.Equal(t, http.StatusNoContent, own.send(t, http.MethodDelete, "/Users/"+id, "").status)
		})
		t.Run("locations have the base URL of the tenant", func(t *testing.T) {
			r := own.send(t, http.MethodGet, "/Groups/"+group, "")
			require.Contains(t, r.text, own.base+"/Users/"+mine)
			require.Equal(t, own.base+"/Groups/"+group, r.header.Get("Location"))
			for _, path := range []string{"/ServiceProviderConfig", "/Schemas", "/ResourceTypes", "/Users"} {
				require.Contains(t, own.send(t, http.MethodGet, path, "").text, own.base+"/", path)
			}
		})
		t.Run("a token of another tenant is rejected", func(t *testing.T) {
			outsider := *own
			outsider.token = other.token
			want := outsider.send(t, http.MethodGet, "/Users/"+mine, "").text
			for _, path := range []string{"/Users", "/Users/" + mine, "/Users/" + madeUp(mine), "/Me", "/Bulk", "/.search", "/nowhere",
				"/ServiceProviderConfig"} {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
					r := outsider.send(t, method, path, "{}")
					require.Equal(t, http.StatusUnauthorized, r.status, "%s %s", method, path)
					require.Equal(t, want, r.text, "%s %s", method, path)
				}
			}
		})

		require.Empty(t, cmp.Diff(before, other.state(t)), "the other tenant is unchanged")
		for _, path := range []string{"/Users/" + mine, "/Groups/" + group} {
			require.Equal(t, http.StatusNoContent, own.send(t, http.MethodDelete, path, "").status)
		}
		for _, path := range []string{"/Users/" + ann.id(t), "/Users/" + boss.id(t), "/Groups/" + team.id(t)} {
			require.Equal(t, http.StatusNoContent, other.send(t, http.MethodDelete, path, "").status)
		}
	})
}

// A token whose subject has the id of another tenant's user represents no user.
func TestTenants_MeNeverForeignUser(t *testing.T) {
	t.Parallel()
	databaseURL := "sqlite:" + t.TempDir() + "/scim.db"
	serve := func(texts ...string) *sandbox.SCIMServer {
		config := tenants.Config{Name: "globex", Tokens: []tenants.Token{tenants.NewToken("token-globex")}}
		s, err := sandbox.ServeSCIM(t.Context(),
			sandbox.SCIMOptions{Listen: "127.0.0.1:0", DB: databaseURL, Tokens: append([]string{"token-default"}, texts...),
				Tenants: []tenants.Config{config}})
		require.NoError(t, err)
		return s
	}
	s := serve()
	at := func(base, token string) *tenant { return &tenant{base: base, token: token} }
	theirs := at(s.TenantURL("globex"), "token-globex").send(t, http.MethodPost, "/Users", userBody("ann")).id(t)
	mine := at(s.URL(), "token-default").send(t, http.MethodPost, "/Users", userBody("bob")).id(t)
	require.NoError(t, s.Close(t.Context()))

	s = serve("token-bob;me="+mine, "token-ann;me="+theirs+";read-only")
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	bob := at(s.URL(), "token-bob").send(t, http.MethodGet, "/Me", "")
	require.Equal(t, http.StatusOK, bob.status)
	require.Equal(t, s.URL()+"/Users/"+mine, bob.header.Get("Location"))
	require.Equal(t, http.StatusOK,
		at(s.URL(), "token-bob").send(t, http.MethodPatch, "/Me", patchBody(`{"op":"replace","path":"nickName","value":"B"}`)).status)
	require.Equal(t, http.StatusNotFound, at(s.URL(), "token-ann").send(t, http.MethodGet, "/Me", "").status)
	require.Equal(t, http.StatusForbidden, at(s.URL(), "token-ann").send(t, http.MethodDelete, "/Me", "").status)
	require.Equal(t, http.StatusNotImplemented, at(s.URL(), "token-default").send(t, http.MethodGet, "/Me", "").status)
	require.Equal(t, http.StatusOK, at(s.TenantURL("globex"), "token-globex").send(t, http.MethodGet, "/Users/"+theirs, "").status)
}

// For all sequences of operations of two tenants, each tenant sees only the effects of its own operations.
func TestTenants_Independent(t *testing.T) {
	t.Parallel()
	eachTenants(t, func(t *testing.T, first, second *tenant) {
		rapid.Check(t, func(t *rapid.T) {
			clients := []*tenant{first, second}
			users := []map[string]string{{}, {}} // ids by userName: the expected users of each tenant
			defer func() {
				for i, c := range clients {
					for _, id := range users[i] {
						c.send(t, http.MethodDelete, "/Users/"+id, "")
					}
				}
			}()
			names := []string{"ann", "bob", "carl"}
			for range rapid.IntRange(1, 10).Draw(t, "operations") {
				who := rapid.IntRange(0, 1).Draw(t, "who")
				c, have := clients[who], users[who]
				name := rapid.SampledFrom(names).Draw(t, "name")
				// The id is that of a user of either tenant.
				id := users[rapid.IntRange(0, 1).Draw(t, "whose")][name]
				own := have[name] == id
				found := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}
				switch rapid.SampledFrom([]string{"create", "read", "find", "delete", "join"}).Draw(t, "operation") {
				case "create":
					r := c.send(t, http.MethodPost, "/Users", userBody(name))
					if _, there := have[name]; there {
						require.Equal(t, http.StatusConflict, r.status)
					} else {
						have[name] = r.id(t)
					}
				case "read":
					if id != "" {
						require.Equal(t, found[own], c.send(t, http.MethodGet, "/Users/"+id, "").status)
					}
				case "find":
					list := c.send(t, http.MethodGet, "/Users?attributes=userName", "").json(t)
					require.EqualValues(t, len(have), list["totalResults"])
					for _, item := range list["Resources"].([]any) {
						u := item.(map[string]any)
						require.Equal(t, have[u["userName"].(string)], u["id"])
					}
				case "delete":
					if id != "" {
						status := c.send(t, http.MethodDelete, "/Users/"+id, "").status
						require.Equal(t, map[bool]int{true: http.StatusNoContent, false: http.StatusNotFound}[own], status)
						if own {
							delete(have, name)
						}
					}
				case "join":
					if id != "" {
						r := c.send(t, http.MethodPost, "/Groups", groupBody("team", id))
						require.Equal(t, map[bool]int{true: http.StatusCreated, false: http.StatusBadRequest}[own], r.status)
						if own {
							c.send(t, http.MethodDelete, "/Groups/"+r.id(t), "")
						}
					}
				}
			}
		})
	})
}

// Two tenants that are written concurrently, with the same names, contain only their own resources.
func TestTenants_ParallelWritesSeparate(t *testing.T) {
	t.Parallel()
	eachTenants(t, func(t *testing.T, first, second *tenant) {
		const writers, names = 4, 6
		var mu sync.Mutex
		ids := map[*tenant]map[string]string{first: {}, second: {}}
		conflicts := map[*tenant]int{}
		var wg sync.WaitGroup
		start := make(chan struct{})
		faults := make(chan error, 2*writers)
		for _, c := range []*tenant{first, second} {
			for range writers {
				wg.Go(func() {
					<-start
					faults <- func() (fault error) {
						defer func() {
							if caught, ok := recover().(checkFailed); ok {
								fault = caught
							}
						}()
						for i := range names {
							name := fmt.Sprint("user", i)
							r := c.send(checker{}, http.MethodPost, "/Users", userBody(name, fmt.Sprintf(`"displayName":%q`, c.name)))
							if r.status == http.StatusConflict {
								mu.Lock()
								conflicts[c]++
								mu.Unlock()
								continue
							}
							id := r.id(checker{})
							require.Equal(checker{}, c.base+"/Users/"+id, r.header.Get("Location"))
							group := c.send(checker{}, http.MethodPost, "/Groups", groupBody(name, id))
							require.Equal(checker{}, http.StatusCreated, group.status, group.text)
							mu.Lock()
							ids[c][name] = id
							mu.Unlock()
						}
						return nil
					}()
				})
			}
		}
		close(start)
		wg.Wait()
		close(faults)
		for fault := range faults {
			require.NoError(t, fault)
		}
		seen := map[string]bool{}
		for _, c := range []*tenant{first, second} {
			require.Len(t, ids[c], names)
			require.Equal(t, (writers-1)*names, conflicts[c])
			list := c.send(t, http.MethodGet, "/Users", "").json(t)
			require.EqualValues(t, names, list["totalResults"])
			for _, item := range list["Resources"].([]any) {
				u := item.(map[string]any)
				require.Equal(t, c.name, u["displayName"])
				require.Equal(t, ids[c][u["userName"].(string)], u["id"])
				require.Len(t, u["groups"], 1)
			}
			for _, id := range slices.Collect(maps.Values(ids[c])) {
				require.False(t, seen[id], "ids are unique")
				seen[id] = true
			}
			groups := c.send(t, http.MethodGet, "/Groups", "").json(t)
			require.EqualValues(t, names, groups["totalResults"])
			for _, item := range append(list["Resources"].([]any), groups["Resources"].([]any)...) {
				location := item.(map[string]any)["meta"].(map[string]any)["location"].(string)
				require.Equal(t, http.StatusNoContent, c.send(t, http.MethodDelete, strings.TrimPrefix(location, c.base), "").status)
			}
		}
	})
}

// checker is a require.TestingT for goroutines, which must not stop a test: it panics with the failure.
type checker struct{}

type checkFailed string

func (e checkFailed) Error() string { return string(e) }

func (checker) Errorf(format string, args ...any) { panic(checkFailed(fmt.Sprintf(format, args...))) }
func (checker) FailNow()                          { panic(checkFailed("failed")) }

func TestTenants_DisjointTables(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "t", "type", "member", "user", "scim", "chat", "default", "1"})
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, "words"), "-")
	}).Filter(func(name string) bool { return tenants.CheckName(name) == nil })
	tables := func(tenant, resourceType string) []string {
		begin := sandbox.TablesOf(tenant)
		return []string{begin + "_member", begin + "_type_" + resourceType}
	}
	rapid.Check(t, func(t *rapid.T) {
		first, second := name.Draw(t, "first"), name.Draw(t, "second")
		if first == second {
			return
		}
		for _, table := range tables(first, word.Draw(t, "type")) {
			require.NotContains(t, tables(second, word.Draw(t, "other type")), table)
		}
	})
}
