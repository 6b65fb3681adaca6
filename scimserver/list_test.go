package scimserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

func TestFilter(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "Ann", object{"externalId": "A1", "displayName": "Ann Ärmel", "title": "boss", "active": true,
			"name":     object{"familyName": "Lee"},
			"emails":   []object{{"value": "ann@example.com", "type": "work", "primary": true}, {"value": "home@example.com", "type": "home"}},
			"schemas":  []string{scim.UserSchema, scim.EnterpriseUserSchema},
			"password": "topsecret", scim.EnterpriseUserSchema: object{"employeeNumber": "7", "manager": object{"value": "m1"}}})
		bob := h.newUser(t, "bob", object{"externalId": "a1", "active": false, "emails": []object{{"value": "ANN@example.com", "type": "home"}}})
		h.newUser(t, "carol", object{"nickName": "100%_"})
		team := h.newGroup(t, "Team", ann.id(), bob.id())
		crew := h.newGroup(t, "crew", team.id())
		created := ann.body.Complex("meta").Text("created")

		for _, test := range []struct{ filter, want string }{
			{`userName eq "ANN"`, "Ann"},
			{`USERNAME EQ "ann"`, "Ann"},
			{`userName eq "nobody"`, ""},
			{`userName ne "ann"`, "bob carol"},
			{`userName co "AR"`, "carol"},
			{`userName sw "B"`, "bob"},
			{`userName ew "B"`, "bob"},
			{`userName gt "ann"`, "bob carol"},
			{`userName ge "ann"`, "Ann bob carol"},
			{`userName lt "bob"`, "Ann"},
			{`userName le "bob"`, "Ann bob"},
			{`title pr`, "Ann"},
			{`not (title pr)`, "bob carol"},
			{`not(title pr)`, "bob carol"},
			{`externalId eq "a1"`, "bob"},
			{`externalId eq "A1"`, "Ann"},
			{`displayName eq "ann ärmel"`, "Ann"},
			{`id eq "` + bob.id() + `"`, "bob"},
			{`id eq "' OR 1=1 --"`, ""},
			{`active eq true`, "Ann"},
			{`active eq false`, "bob"},
			{`name.familyName eq "lee"`, "Ann"},
			{`urn:ietf:params:scim:schemas:core:2.0:User:name.familyName eq "lee"`, "Ann"},
			{`urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:employeeNumber eq "7"`, "Ann"},
			{`urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value eq "m1"`, "Ann"},
			{`emails.value eq "ann@example.com"`, "Ann bob"},
			{`emails eq "ann@example.com"`, "Ann bob"},
			{`emails[type eq "work" and value co "ann"]`, "Ann"},
			{`emails[type eq "home" and value eq "ann@example.com"]`, "bob"},
			{`emails.type eq "home" and emails.value eq "ann@example.com"`, "Ann bob"},
			{`emails[type eq "work"].value eq "ann@example.com"`, "Ann"},
			{`emails[not (type eq "home")]`, "Ann"},
			{`nickName eq "100%_"`, "carol"},
			{`nickName co "%"`, "carol"},
			{`userName co "%"`, ""},
			{`userName eq "ann" or userName eq "bob"`, "Ann bob"},
			{`userName eq "ann" or userName eq "bob" and active eq true`, "Ann"},
			{`(userName eq "ann" or userName eq "bob") and active eq false`, "bob"},
			{`schemas eq "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"`, "Ann"},
			{`meta.resourceType eq "User"`, "Ann bob carol"},
			{`meta.created ge "` + created + `"`, "Ann bob carol"},
			{`meta.created lt "` + created + `"`, ""},
			{`meta.lastModified gt "2999-01-01T00:00:00Z"`, ""},
			{`meta.location eq "` + h.url + "/Users/" + bob.id() + `"`, "bob"},
			{`groups.value eq "` + team.id() + `"`, "Ann bob"},
			{`groups[value eq "` + crew.id() + `" and type eq "indirect"]`, "Ann bob"},
			{`groups.display eq "team" and active eq true`, "Ann"},
			{`groups pr`, "Ann bob"},
			{`not (groups pr)`, "carol"},
			{`userName eq "x\"; DROP TABLE users --"`, ""},
			{`userName eq "\u0061nn"`, "Ann"},
			{`  userName   eq   "ann"  `, "Ann"},
		} {
			t.Run(test.filter, func(t *testing.T) {
				total, names := h.get(t, filtered("/Users", test.filter)).list(t, "userName")
				require.Equal(t, test.want, strings.Join(names, " "))
				require.Equal(t, fmt.Sprint(len(names)), total)

				search := object{"schemas": []string{scim.SearchRequestMessage}, "filter": test.filter}
				a := h.do(t, http.MethodPost, "/Users/.search", search)
				_, found := a.list(t, "userName")
				require.Equal(t, names, found, "the same result by .search")
			})
		}
		for _, test := range []struct{ filter, want string }{
			{`displayName eq "team"`, "Team"},
			{`members.value eq "` + ann.id() + `"`, "Team"},
			{`members[value eq "` + bob.id() + `"]`, "Team"},
			{`members eq "` + bob.id() + `"`, "Team"},
			{`members[value eq "` + bob.id() + `" and type eq "User"]`, "Team"},
			{`members.type eq "Group"`, "crew"},
			{`members.display eq "BOB"`, "Team"},
			{`members.$ref eq "` + h.url + "/Users/" + bob.id() + `"`, "Team"},
			{`members.value eq "nobody"`, ""},
			{`members.value eq "` + ann.id() + `" and displayName eq "crew"`, ""},
			{`members.value eq "` + ann.id() + `" or displayName eq "crew"`, "Team crew"},
			{`members pr`, "Team crew"},
			{`not (members.value eq "` + ann.id() + `")`, "crew"},
		} {
			t.Run(test.filter, func(t *testing.T) {
				total, names := h.get(t, filtered("/Groups", test.filter)).list(t, "displayName")
				require.Equal(t, test.want, strings.Join(names, " "))
				require.Equal(t, fmt.Sprint(len(names)), total)
			})
		}
		for _, filter := range []string{``, ` `, `userName`, `userName eq`, `userName eq "ann`, `userName xx "ann"`, `userName eq ann`,
			`userName eq 'ann'`, `eq "ann"`,
			`(userName eq "ann"`, `userName eq "ann")`, `userName eq "ann" and`, `emails[type eq "work"`, `not userName eq "ann"`, `active gt true`,
			`password eq "topsecret"`, `password pr`, `userName eq "a\u0000b"`,
			strings.Repeat("(", 3000) + `title pr` + strings.Repeat(")", 3000), "userName eq \"\xff\"",
			strings.Repeat(`title pr or `, 2000) + `title pr`} {
			t.Run("refuses "+filter[:min(len(filter), 40)], func(t *testing.T) {
				h.do(t, http.MethodGet, filtered("/Users", filter), nil).wantError(t, http.StatusBadRequest, scim.InvalidFilter)
			})
		}
		t.Run("both encodings of a space are equal", func(t *testing.T) {
			for _, path := range []string{"/Users?filter=userName+eq+%22ann%22", "/Users?filter=userName%20eq%20%22ann%22"} {
				total, _ := h.get(t, path).list(t, "id")
				require.Equal(t, "1", total)
			}
		})
	})
}

func TestPaging(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		var all []string
		for i := range 9 {
			all = append(all, fmt.Sprintf("u%d", (i*4)%9))
			h.newUser(t, all[i], object{"title": "t"})
		}
		for _, filter := range []string{"", "&filter=userName+sw+%22u%22", "&filter=title+pr"} {
			for _, test := range []struct {
				params string
				start  string
				want   []string
			}{
				{"", "1", all},
				{"startIndex=1&count=4", "1", all[:4]},
				{"startIndex=5&count=4", "5", all[4:8]},
				{"startIndex=9&count=4", "9", all[8:]},
				{"startIndex=10", "10", nil},
				{"startIndex=999999999999999999999", "2147483647", nil},
				{"startIndex=0&count=1", "1", all[:1]},
				{"startIndex=-7&count=1", "1", all[:1]},
				{"startIndex=4", "4", all[3:]},
				{"count=0", "1", nil},
				{"count=-1", "1", nil},
				{"count=99999999999999999999", "1", all},
			} {
				t.Run(test.params+filter, func(t *testing.T) {
					a := h.get(t, "/Users?"+test.params+filter)
					total, names := a.list(t, "userName")
					require.Equal(t, "9", total)
					require.Equal(t, test.start, a.json("startIndex"))
					require.Equal(t, append([]string{}, test.want...), names)
				})
			}
		}
		for _, params := range []string{"count=ten", "startIndex=1.5", "count=", "count=1&count=2", "filter=title+pr&filter=userName+pr"} {
			t.Run("refuses "+params, func(t *testing.T) {
				h.do(t, http.MethodGet, "/Users?"+params, nil).wantError(t, http.StatusBadRequest, scim.InvalidValue)
			})
		}
		t.Run("search returns the same pages", func(t *testing.T) {
			a := h.do(t, http.MethodPost, "/Users/.search",
				object{"schemas": []string{scim.SearchRequestMessage}, "startIndex": 5, "count": 4, "attributes": []string{"userName"}})
			total, names := a.list(t, "userName")
			require.Equal(t, "9", total)
			require.Equal(t, all[4:8], names)
			require.NotContains(t, a.text, `"meta"`)
		})
	})
}

func TestRootQuery(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		h.newUser(t, "ann", object{"displayName": "same"})
		h.newUser(t, "bob")
		h.newGroup(t, "same")
		h.newGroup(t, "other")
		for _, test := range []struct{ params, total, want string }{
			{"", "4", "User User Group Group"},
			{"startIndex=2&count=2", "4", "User Group"},
			{"startIndex=4", "4", "Group"},
			{"count=0", "4", ""},
			{`filter=` + url.QueryEscape(`displayName eq "SAME"`), "2", "User Group"},
			{`filter=` + url.QueryEscape(`userName pr`), "2", "User User"},
			{`filter=` + url.QueryEscape(`meta.resourceType eq "Group"`), "2", "Group Group"},
			{`filter=` + url.QueryEscape(`unknown eq "x"`), "0", ""},
		} {
			t.Run(test.params, func(t *testing.T) {
				a := h.get(t, "?"+test.params)
				require.Equal(t, test.total, a.json("totalResults"))
				var types []string
				for _, r := range a.body.Array("Resources") {
					types = append(types, r.(*scim.Object).Complex("meta").Text("resourceType"))
				}
				require.Equal(t, test.want, strings.Join(types, " "))
			})
		}
		a := h.do(t, http.MethodPost, "/.search", object{"schemas": []string{scim.SearchRequestMessage}, "filter": `displayName eq "same"`})
		total, _ := a.list(t, "id")
		require.Equal(t, "2", total)
	})
}

func TestTooManyResults(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for i := range 3 {
			h.newUser(t, fmt.Sprint("user", i), object{"title": "t"})
		}
		search := object{"schemas": []string{scim.SearchRequestMessage}}
		h.get(t, "/Users")
		h.get(t, "?count=1")
		h.newGroup(t, "team") // the fourth resource, which exceeds the limit of three results
		h.get(t, "/Users")
		h.get(t, "/Users?sortBy=title")
		h.get(t, filtered("", `meta.resourceType eq "User"`))
		for _, path := range []string{"", "?count=1", "?count=0", "?cursor=", "?sortBy=displayName", "?filter=meta.created+pr"} {
			h.do(t, http.MethodGet, path, nil).wantError(t, http.StatusBadRequest, scim.TooMany)
		}
		h.do(t, http.MethodPost, "/.search", search).wantError(t, http.StatusBadRequest, scim.TooMany)
		h.newUser(t, "user3", object{"title": "t"})
		for _, path := range []string{"/Users", "/Users?filter=title+pr&count=1", "/Users?sortBy=title&cursor="} {
			h.do(t, http.MethodGet, path, nil).wantError(t, http.StatusBadRequest, scim.TooMany)
		}
		h.get(t, filtered("/Users", `userName ne "user3"`))
	}, func(o *scimserver.Options) { o.Limits.MaxResults = 3 })
}

func TestRootQueryMixesTypes(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "ann", object{"displayName": "Ann", "active": true, "title": "boss"})
		h.newUser(t, "bob", object{"active": false})
		h.newGroup(t, "Team", ann.id())
		h.newGroup(t, "crew")
		for _, test := range []struct{ filter, want string }{
			{`meta.resourceType eq "User"`, "ann bob"},
			{`meta.resourceType eq "user" or meta.resourceType eq "Group"`, "Team crew"}, // caseExact
			{`meta.resourceType ne "User"`, "Team crew"},
			{`userName eq "ann" or displayName eq "team"`, "ann Team"},
			{`userName eq "ann" and displayName eq "team"`, ""},
			{`members.value eq "` + ann.id() + `" or active eq true`, "ann Team"},
			{`not (userName pr)`, "Team crew"},
			{`members pr`, "Team"},
			{`groups pr`, "ann"},
			{`id eq "` + ann.id() + `"`, "ann"},
			{`title eq "boss" or unknown pr`, "ann"},
			{`urn:ietf:params:scim:schemas:core:2.0:Group:displayName eq "crew"`, "crew"},
		} {
			t.Run(test.filter, func(t *testing.T) {
				search := object{"schemas": []string{scim.SearchRequestMessage}, "filter": test.filter,
					"attributes": []string{"userName", "displayName"}}
				for _, a := range []*response{h.get(t, filtered("", test.filter, "attributes=userName,displayName")),
					h.do(t, http.MethodPost, "/.search", search).want(t, http.StatusOK)} {
					var names []string
					for _, r := range a.body.Array("Resources") {
						o := r.(*scim.Object)
						require.NotEmpty(t, o.Text("id"))
						require.Nil(t, o.Complex("meta"))
						name := o.Text("userName")
						if name == "" {
							name = o.Text("displayName")
						}
						names = append(names, name)
					}
					require.Equal(t, test.want, strings.Join(names, " "))
					require.Equal(t, fmt.Sprint(len(names)), a.json("totalResults"))
				}
			})
		}
	})
}

func TestSearch_RejectsBadInput(t *testing.T) {
	h := serve(t, newMapStore())
	for name, test := range map[string]struct {
		body     any
		scimType scim.Type
	}{
		"a body that is not a search": {object{"schemas": []string{scim.PatchOpMessage}}, scim.InvalidSyntax},
		"no schemas":                  {object{"filter": "title pr"}, scim.InvalidSyntax},
		"a bad filter":                {object{"schemas": []string{scim.SearchRequestMessage}, "filter": "title"}, scim.InvalidFilter},
		"a count in words":            {object{"schemas": []string{scim.SearchRequestMessage}, "count": "ten"}, scim.InvalidValue},
		"both projections": {
			object{"schemas": []string{scim.SearchRequestMessage}, "attributes": []string{"a"}, "excludedAttributes": []string{"b"}},
			scim.InvalidValue},
	} {
		t.Run(name, func(t *testing.T) {
			h.do(t, http.MethodPost, "/Users/.search", test.body).wantError(t, http.StatusBadRequest, test.scimType)
		})
	}
}
