package scimserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

func TestSort(t *testing.T) {
	const enterprise = scim.EnterpriseUserSchema
	eachStore(t, func(t *testing.T, h *harness) {
		// Resources with equal keys are sorted in this order of creation.
		ids := map[string]string{}
		for _, u := range []struct {
			name string
			more object
		}{
			{"dan",
				object{"externalId": "b", "title": "Boss", "active": true, "emails": []object{{"value": "z@x"}, {"value": "a@x", "primary": true}}}},
			{"Bob",
				object{"externalId": "B", "active": false, "name": object{"familyName": "Zorn"},
					"emails": []object{{"value": "m@x"}, {"value": "b@x"}}}},
			{"carol", object{"externalId": "a", "title": "assistant", "name": object{"familyName": "ärmel"}, "displayName": "x"}},
			{"ann",
				object{"title": "boss", "name": object{"familyName": "adams"}, "displayName": "X",
					enterprise: object{"employeeNumber": "10", "manager": object{"value": "m"}}}},
			{"eve", object{enterprise: object{"employeeNumber": "9"}}},
		} {
			ids[u.name] = h.newUser(t, u.name, u.more).id()
		}
		group := h.newGroup(t, "team", ids["carol"])
		h.newGroup(t, "adam's", ids["dan"], group.id())
		h.patch(t, "/Users/"+ids["carol"], op("replace", "nickName", "c")).want(t, http.StatusOK)

		for _, test := range []struct{ by, want string }{
			{"userName", "ann Bob carol dan eve"},
			{"USERNAME", "ann Bob carol dan eve"},
			{"urn:ietf:params:scim:schemas:core:2.0:User:userName", "ann Bob carol dan eve"},
			{"externalId", "Bob carol dan ann eve"},
			{"title", "carol dan ann Bob eve"},
			{"displayName", "carol ann dan Bob eve"},
			{"active", "Bob dan carol ann eve"},
			{"name.familyName", "ann Bob carol dan eve"},
			{"emails", "dan Bob carol ann eve"},
			{"emails.value", "dan Bob carol ann eve"},
			{"emails.type", "dan Bob carol ann eve"},
			{enterprise + ":employeeNumber", "ann eve dan Bob carol"},
			{enterprise + ":manager.value", "ann dan Bob carol eve"},
			{"groups.display", "dan carol Bob ann eve"},
			{"meta.created", "dan Bob carol ann eve"},
			{"meta.resourceType", "dan Bob carol ann eve"},
			{"unknown", "dan Bob carol ann eve"},
			{"urn:example:none:attribute", "dan Bob carol ann eve"},
		} {
			t.Run(test.by, func(t *testing.T) {
				want := strings.Fields(test.want)
				wantReversed := make([]string, len(want))
				for i, name := range want {
					wantReversed[len(want)-1-i] = name
				}
				sortBy := "sortBy=" + url.QueryEscape(test.by)
				for order, want := range map[string][]string{"": want, "&sortOrder=ascending": want, "&sortOrder=Descending": wantReversed} {
					for _, filter := range []string{"", "&filter=userName+pr", "&filter=userName+co+%22%22"} {
						total, names := h.get(t, "/Users?"+sortBy+order+filter).list(t, "userName")
						require.Equal(t, "5", total)
						if test.by == "meta.created" && strings.Join(names, " ") != strings.Join(want, " ") {
							t.Fatal(names) // resources of the same millisecond are in the order of creation, too
						}
						require.Equal(t, want, names, order+filter)
						var paged []string
						for start := 1; start <= 5; start += 2 {
							total, page := h.get(t, fmt.Sprintf("/Users?%s%s%s&count=2&startIndex=%d", sortBy, order, filter, start)).list(t, "userName")
							require.Equal(t, "5", total)
							paged = append(paged, page...)
						}
						require.Equal(t, want, paged, "the pages together equal the list")
					}
				}
				a := h.do(t, http.MethodPost, "/Users/.search", object{"schemas": []string{scim.SearchRequestMessage}, "sortBy": test.by, "count": 3})
				_, names := a.list(t, "userName")
				require.Equal(t, want[:3], names, "the same result by .search")
			})
		}
		t.Run("sorting can be combined with a filter and a projection", func(t *testing.T) {
			total, names := h.get(t, "/Users?sortBy=title&attributes=userName&filter="+url.QueryEscape(`title pr`)).list(t, "userName")
			require.Equal(t, "3", total)
			require.Equal(t, []string{"carol", "dan", "ann"}, names)
		})
		t.Run("by lastModified", func(t *testing.T) {
			_, names := h.get(t, "/Users?sortBy=meta.lastModified&sortOrder=descending&count=5").list(t, "userName")
			_, ascending := h.get(t, "/Users?sortBy=meta.lastModified").list(t, "userName")
			require.Len(t, names, 5)
			for i, name := range names {
				require.Equal(t, ascending[4-i], name)
			}
		})
		t.Run("sortOrder has no effect without sortBy", func(t *testing.T) {
			for _, order := range []string{"descending", "sideways"} {
				_, names := h.get(t, "/Users?sortOrder="+order).list(t, "userName")
				require.Equal(t, []string{"dan", "Bob", "carol", "ann", "eve"}, names)
			}
		})
		t.Run("a root query sorts the types together", func(t *testing.T) {
			for params, want := range map[string]string{
				"sortBy=displayName":                                    "adam's team x X - - -",
				"sortBy=displayName&sortOrder=descending":               "- - - X x team adam's",
				"sortBy=displayName&count=3&startIndex=2":               "team x X",
				"sortBy=displayName&sortOrder=descending&startIndex=7":  "adam's",
				"sortBy=userName&attributes=displayName&startIndex=6":   "team adam's",
				"sortBy=displayName&count=0":                            "",
				"sortBy=displayName&filter=displayName+pr&startIndex=2": "team x X",
			} {
				var names []string
				for _, r := range h.get(t, "?"+params).body.Array("Resources") {
					name := r.(*scim.Object).Text("displayName")
					if name == "" {
						name = "-"
					}
					names = append(names, name)
				}
				require.Equal(t, want, strings.Join(names, " "), params)
			}
		})
		for _, params := range []string{"sortBy=userName&sortOrder=sideways", "sortBy=name", "sortBy=meta", "sortBy=password",
			"sortBy=" + enterprise, "sortBy=%22", "sortBy=a.b.c", "sortBy=userName&sortBy=title"} {
			t.Run("refuses "+params, func(t *testing.T) {
				h.do(t, http.MethodGet, "/Users?"+params, nil).wantError(t, http.StatusBadRequest, scim.InvalidValue)
			})
		}
	})
}

func TestSortByEveryType(t *testing.T) {
	device := &schema.ResourceType{ID: "Device", Name: "Device", Endpoint: "/Devices",
		Schema: &schema.Schema{ID: "urn:example:2.0:Device", Attributes: []*schema.Attribute{
			{Name: "label"}, {Name: "size", Type: schema.Decimal, Uniqueness: schema.Server}, {Name: "bought", Type: schema.DateTime},
			{Name: "ports", Type: schema.Integer, MultiValued: true},
			{Name: "blob", Type: schema.Binary}, {Name: "long"},
		}}}
	types := []*schema.ResourceType{device}
	for name, store := range map[string]scimserver.Store{"map store": newMapStore(), "sqlite": sqliteStore(t, types...)} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, store, func(o *scimserver.Options) { o.Types = types })
			same := strings.Repeat("ä", 1000)
			for _, d := range []object{
				{"label": "1", "size": 10, "bought": "2024-01-01T01:00:00+02:00", "ports": []int{30, 1}, "blob": "Yg==", "long": same + "a"},
				{"label": "2", "size": 9.5, "bought": "2023-12-31T23:30:00Z", "ports": []int{4}, "blob": "YQ==", "long": same},
				{"label": "3", "size": -2, "bought": "2023-12-31T23:30:00.5Z", "ports": []int{200}, "long": "z"},
			} {
				d["schemas"] = []string{device.Schema.ID}
				h.do(t, http.MethodPost, "/Devices", d).want(t, http.StatusCreated)
			}
			for by, want := range map[string]string{"size": "3 2 1", "bought": "1 2 3", "ports": "2 1 3", "blob": "2 1 3"} {
				_, labels := h.get(t, "/Devices?sortBy="+by).list(t, "label")
				require.Equal(t, want, strings.Join(labels, " "), by)
			}
			_, labels := h.get(t, "/Devices?sortBy=long").list(t, "label")
			require.Equal(t, "3", labels[0], "a truncated value is sorted by its start")
		})
	}
}

// TestSort_MaxSortStart checks that the server rejects a sorted query whose startIndex exceeds the limit.
func TestSort_MaxSortStart(t *testing.T) {
	h := serve(t, newMapStore(), func(o *scimserver.Options) {
		o.Limits.MaxSortStart = 3
		o.Limits.MaxPage = 1
	})
	for i := range 6 {
		h.newUser(t, fmt.Sprint(i))
	}
	for start, want := range map[int]int{4: http.StatusOK, 5: http.StatusOK, 7: http.StatusBadRequest, 2147483647: http.StatusBadRequest} {
		a := h.do(t, http.MethodGet, fmt.Sprintf("/Users?sortBy=userName&count=1&startIndex=%d", start), nil).want(t, want)
		if want == http.StatusBadRequest {
			a.wantError(t, want, scim.TooMany)
		}
	}
	h.get(t, "/Users?startIndex=2147483647")
}
