package scimserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// Single sentences of the RFCs that no other test covers.

// TestMembersAndSchemas_OrderIgnored checks RFC 7643 sections 2.3.8 and 3.
func TestMembersAndSchemas_OrderIgnored(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		members := []string{
			`"schemas":["` + scim.EnterpriseUserSchema + `","` + scim.UserSchema + `"]`, `"userName":"ann"`,
			`"name":{"familyName":"L","givenName":"A"}`,
			`"roles":[{"type":"any","value":"whatever I like"}]`, `"entitlements":[{"value":"free text"}]`,
			`"` + scim.EnterpriseUserSchema + `":{"manager":{"value":"m"},"department":"D"}`,
		}
		forth := h.do(t, http.MethodPost, "/Users", "{"+strings.Join(members, ",")+"}").want(t, http.StatusCreated)
		slices.Reverse(members)
		back := h.do(t, http.MethodPut, "/Users/"+forth.id(), "{"+strings.Join(members, ",")+"}").want(t, http.StatusOK)
		require.True(t, scim.Equal(without(forth.body, "meta"), without(back.body, "meta")), "%s\n%s", forth.text, back.text)
		require.Equal(t, `"whatever I like"`, string(scim.AppendValue(nil, forth.body.Array("roles")[0].(*scim.Object).Text("value"))))
		require.Equal(t, `[{"value":"free text"}]`, forth.json("entitlements"))
		require.Equal(t, `"L"`, forth.json("name.familyName"), "core attributes are at the top level")
	})
}

// TestCommonAttributes_NotRedefinable checks RFC 7643 section 3.1: a schema cannot change the common attributes, and every type has them.
func TestCommonAttributes_NotRedefinable(t *testing.T) {
	types, err := schema.Load(fstest.MapFS{
		"schema.json": {
			Data: []byte(`{"schemas":["` + scim.SchemaSchema +
				`"],"id":"urn:example:Room","name":"Room","attributes":[{"name":"number","required":true},
			{"name":"id","mutability":"readWrite","returned":"request"},{"name":"externalId","caseExact":false,"mutability":"readOnly"},
			{"name":"meta","type":"complex","subAttributes":[{"name":"created","type":"string"}]}]}`)},
		"type.json": {Data: []byte(`{"schemas":["` + scim.ResourceTypeSchema + `"],"id":"Room","name":"Room","endpoint":"/Rooms",` +
			`"schema":"urn:example:Room"}`)},
	})
	require.NoError(t, err)
	h := serve(t, sqliteStore(t, types...), func(o *scimserver.Options) { o.Types = types })
	a := h.do(t, http.MethodPost, "/Rooms",
		object{"schemas": []string{"urn:example:Room"}, "number": "1", "id": "mine", "externalId": "X",
			"meta": object{"created": "never"}}).want(t, http.StatusCreated)
	require.NotEqual(t, "mine", a.id())
	require.Equal(t, `"X"`, a.json("externalId"))
	require.Equal(t, `"Room"`, a.json("meta.resourceType"))
	require.NotContains(t, a.text, "never")
	a = h.get(t, "/Rooms/"+a.id()+"?attributes=number")
	require.NotEmpty(t, a.id(), "always returned")
	for filter, want := range map[string]string{`externalId eq "x"`: "0", `externalId eq "X"`: "1", `id eq "` + a.id() + `"`: "1",
		`meta.created gt "2001-01-01T00:00:00Z"`: "1"} {
		total, _ := h.get(t, filtered("/Rooms", filter)).list(t, "id")
		require.Equal(t, want, total, filter)
	}
	h.patch(t, "/Rooms/"+a.id(), op("replace", "id", "x")).wantError(t, http.StatusBadRequest, scim.Mutability)

	ann := h.newUser(t, "ann")
	require.NotEqual(t, ann.id(), a.id(), "ids are unique over all types")
	for _, path := range []string{"/Rooms/" + ann.id(), "/Users/" + a.id(), "/Groups/" + ann.id()} {
		h.do(t, http.MethodGet, path, nil).wantError(t, http.StatusNotFound, "")
	}
}

// TestComparisonsByTypeAndCharacteristic checks RFC 7643 sections 2.3.4, 2.3.6, 2.3.7, 2.4 and 3.1, and RFC 7644 section 3.4.2.2.
func TestComparisonsByTypeAndCharacteristic(t *testing.T) {
	types, err := schema.Load(
		fstest.MapFS{"device.json": {Data: []byte(deviceSchema)}, "asset.json": {Data: []byte(assetSchema)},
			"type.json": {Data: []byte(deviceType)}})
	require.NoError(t, err)
	h := serve(t, sqliteStore(t, types...), func(o *scimserver.Options) { o.Types = types })
	h.newDevice(t, "s1",
		object{"ports": 10, "weight": 2.50, "key": "AAEC", "site": "https://example.com/Path",
			"disks": []object{{"name": "a", "primary": true}, {"name": "b"}}})
	ann := h.newUser(t, "ann", object{"emails": []object{{"value": "a@example.com"}}})
	root := strings.TrimSuffix(h.url, prefix)
	h.newGroup(t, "team", ann.id())
	version := ann.body.Complex("meta").Text("version")
	for _, test := range []struct{ endpoint, filter, want string }{
		{"/Devices", `ports gt 9`, "1"}, {"/Devices", `ports lt 9`, "0"}, {"/Devices", `weight eq 2.5`, "1"}, {"/Devices", `weight gt 10`, "0"},
		{"/Devices", `key eq "AAEC"`, "1"}, {"/Devices", `key eq "aaec"`, "0"},
		{"/Devices", `site eq "https://example.com/Path"`, "1"}, {"/Devices", `site eq "https://example.com/path"`, "0"},
		{"/Devices", `disks[primary eq false and name eq "b"]`, "1"}, {"/Devices", `disks[primary eq false and name eq "a"]`, "0"},
		{"/Devices", `disks.primary eq false`, "1"}, {"/Devices", `disks[name eq "b" and primary pr]`, "0"},
		{"/Users", `emails[primary eq false]`, "1"}, {"/Users", `emails[primary ne true]`, "1"}, {"/Users", `emails[primary eq true]`, "0"},
		{"/Users", `meta.version eq ` + string(scim.AppendValue(nil, version)), "1"},
		{"/Users", `meta.version eq ` + string(scim.AppendValue(nil, strings.ToLower(version))), "0"},
		{"/Groups", `members.$ref eq "` + root + prefix + `/Users/` + strings.ToUpper(ann.id()) + `"`, "0"},
		{"/Groups", `members.$ref eq "Users/` + ann.id() + `"`, "1"}, {"/Groups", `members.$ref eq "/Users/` + ann.id() + `"`, "1"},
		{"/Groups", `members.$ref eq "sers/` + ann.id() + `"`, "0"},
	} {
		total, _ := h.get(t, filtered(test.endpoint, test.filter)).list(t, "id")
		require.Equal(t, test.want, total, test.filter)
	}
	for _, order := range []string{"gt", "ge", "lt", "le"} {
		h.do(t, http.MethodGet, filtered("/Devices", `key `+order+` "AAEC"`), nil).wantError(t, http.StatusBadRequest, scim.InvalidFilter)
		h.do(t, http.MethodGet, filtered("/Devices", `on `+order+` true`), nil).wantError(t, http.StatusBadRequest, scim.InvalidFilter)
	}
}

// TestWriteOnlyAttributes_Unreadable checks RFC 7643 section 7: a write-only attribute is secret, regardless of the rest of its definition.
func TestWriteOnlyAttributes_Unreadable(t *testing.T) {
	types := []*schema.ResourceType{schema.UserType(), schema.GroupType()}
	types[0].Extensions = append(types[0].Extensions,
		schema.Extension{Schema: &schema.Schema{ID: "urn:example:Vault", Attributes: []*schema.Attribute{
			{Name: "pin", Mutability: schema.WriteOnly}, {Name: "always", Mutability: schema.WriteOnly, Returned: schema.Always},
			{Name: "keys", Type: schema.Complex, MultiValued: true,
				SubAttributes: []*schema.Attribute{{Name: "name"}, {Name: "value", Mutability: schema.WriteOnly, Returned: schema.Request}}},
		}}})
	run := func(t *testing.T, h *harness) {
		vault := object{"pin": "s3cret-pin", "always": "s3cret-always", "keys": []object{{"name": "k", "value": "s3cret-key"}}}
		quiet := func(a *response) *response {
			t.Helper()
			require.Less(t, a.status, 300, a.text)
			require.NotContains(t, a.text, "s3cret", a.call)
			return a
		}
		a := quiet(h.newUser(t, "ann", object{"urn:example:Vault": vault}))
		require.Contains(t, a.text, `"keys":[{"name":"k"}]`)
		path := "/Users/" + a.id()
		for _, query := range []string{"", "?attributes=urn:example:Vault",
			"?attributes=urn:example:Vault:pin,urn:example:Vault:always,urn:example:Vault:keys.value", "?excludedAttributes=title"} {
			quiet(h.get(t, path+query))
			quiet(h.get(t, "/Users"+query))
			quiet(h.do(t, http.MethodPut, path+query, user("ann", object{"urn:example:Vault": vault})))
			quiet(
				h.patch(t, path+query, op("replace", "urn:example:Vault:pin", "s3cret-2"),
					op("replace", "urn:example:Vault:keys", []object{{"name": "k", "value": "s3cret-3"}})))
		}
		for _, name := range []string{"pin", "always", "keys.value"} {
			attribute := "urn:example:Vault:" + name
			for _, expression := range []string{attribute + ` pr`, attribute + ` sw "s"`, attribute + ` eq "s3cret-pin"`,
				`urn:example:Vault:keys[value eq "s3cret-key"]`} {
				h.do(t, http.MethodGet, filtered("/Users", expression), nil).wantError(t, http.StatusBadRequest, scim.InvalidFilter)
			}
			h.do(t, http.MethodGet, "/Users?sortBy="+url.QueryEscape(attribute), nil).want(t, http.StatusBadRequest)
		}
		require.NotContains(t, h.get(t, "/Schemas/urn:example:Vault").text, `"returned":"always"`)
	}
	t.Run("map store", func(t *testing.T) { run(t, serve(t, newMapStore(), func(o *scimserver.Options) { o.Types = types })) })
	t.Run("sqlite", func(t *testing.T) {
		run(t, serve(t, sqliteStore(t, types...), func(o *scimserver.Options) { o.Types = types }))
	})
}

// TestProjection_SameOnEveryMethod checks RFC 7644 section 3.9: attributes and excludedAttributes have the same meaning in every response
// with a resource.
func TestProjection_SameOnEveryMethod(t *testing.T) {
	var me string
	eachStore(t, func(t *testing.T, h *harness) {
		body := func(name string) object {
			return user(name, object{"title": "boss", "nickName": "n", "name": object{"givenName": "A", "familyName": "L"}, "password": "topsecret",
				"emails":                  []object{{"value": "a@example.com", "type": "work"}, {"value": "b@example.com"}},
				scim.EnterpriseUserSchema: object{"department": "D", "division": "E", "manager": object{"value": "m", "$ref": "../Users/m"}}})
		}
		me = h.newUser(t, "ann", body("ann")).id()
		path := "/Users/" + me
		h.newGroup(t, "team", me)
		find := object{"schemas": []string{scim.SearchRequestMessage}, "filter": `userName eq "ann"`}
		listed := func(a *response) *scim.Object {
			return a.want(t, http.StatusOK).body.Array("Resources")[0].(*scim.Object)
		}
		methods := map[string]func(t *testing.T, query string) *scim.Object{
			"GET": func(t *testing.T, query string) *scim.Object { return h.get(t, path+"?"+query).body },
			"list": func(t *testing.T, query string) *scim.Object {
				return listed(h.get(t, filtered("/Users", `userName eq "ann"`, query)))
			},
			"sorted list": func(t *testing.T, query string) *scim.Object {
				return listed(h.get(t, filtered("/Users", `userName eq "ann"`, "sortBy=title", query)))
			},
			"cursor": func(t *testing.T, query string) *scim.Object {
				return listed(h.get(t, filtered("/Users", `userName eq "ann"`, "cursor=", query)))
			},
			"root query": func(t *testing.T, query string) *scim.Object {
				return listed(h.get(t, filtered("", `userName eq "ann"`, query)))
			},
			"PUT": func(t *testing.T, query string) *scim.Object {
				return h.do(t, "PUT", path+"?"+query, body("ann")).want(t, 200).body
			},
			"PATCH": func(t *testing.T, query string) *scim.Object {
				return h.patch(t, path+"?"+query, op("replace", "title", "boss")).want(t, 200).body
			},
			"GET /Me": func(t *testing.T, query string) *scim.Object { return h.get(t, "/Me?"+query).body },
			"PUT /Me": func(t *testing.T, query string) *scim.Object {
				return h.do(t, "PUT", "/Me?"+query, body("ann")).want(t, 200).body
			},
			"PATCH /Me": func(t *testing.T, query string) *scim.Object {
				return h.patch(t, "/Me?"+query, op("add", "title", "boss")).want(t, 200).body
			},
			"search": func(t *testing.T, query string) *scim.Object {
				return listed(h.do(t, "POST", "/Users/.search", searchOf(t, find, query)))
			},
			"root search": func(t *testing.T, query string) *scim.Object {
				return listed(h.do(t, "POST", "/.search", searchOf(t, find, query)))
			},
		}
		const ext = scim.EnterpriseUserSchema
		all := `{"emails":[{"value":"a@example.com","type":"work"},{"value":"b@example.com"}],
			"groups":"?","id":"?","meta":"?","name":{"givenName":"A","familyName":"L"},"nickName":"n","title":"boss","userName":"ann",
			"` + ext + `":{"department":"D","division":"E","manager":{"value":"m","$ref":"../Users/m"}}}`
		for _, test := range []struct{ query, want string }{
			{"", all},
			{"attributes=", all},
			{"attributes=title", `{"id":"?","title":"boss"}`},
			{"attributes=TITLE&attributes=%20nickname%20", `{"id":"?","title":"boss","nickName":"n"}`},
			{"attributes=name.givenName,emails.TYPE", `{"id":"?","name":{"givenName":"A"},"emails":[{"type":"work"}]}`},
			{"attributes=name.givenName,name", `{"id":"?","name":{"givenName":"A","familyName":"L"}}`},
			{"attributes=" + scim.UserSchema + ":name.familyName", `{"id":"?","name":{"familyName":"L"}}`},
			{"attributes=" + ext, `{"id":"?","` + ext + `":{"department":"D","division":"E","manager":{"value":"m","$ref":"../Users/m"}}}`},
			{"attributes=" + strings.ToUpper(ext) + ":Division," + ext + ":manager.$ref",
				`{"id":"?","` + ext + `":{"division":"E","manager":{"$ref":"../Users/m"}}}`},
			{"attributes=meta.location,groups.display", `{"id":"?","meta":{"location":"?"},"groups":[{"display":"team"}]}`},
			{"attributes=password,unknown,urn:example:unknown:x", `{"id":"?"}`},
			{"attributes=id,schemas", `{"id":"?"}`},
			{"excludedAttributes=id,schemas,unknown", all},
			{"excludedAttributes=meta,groups,emails,name,title,nickName," + ext, `{"id":"?","userName":"ann"}`},
			{"excludedAttributes=meta,groups,emails.type,name.givenName,title,nickName," + ext + ":manager.$ref," + scim.UserSchema + ":userName",
				`{"id":"?","emails":[{"value":"a@example.com"},{"value":"b@example.com"}],"name":{"familyName":"L"},"` + ext +
					`":{"department":"D","division":"E","manager":{"value":"m"}}}`},
		} {
			for name, answer := range methods {
				t.Run(name+" "+test.query, func(t *testing.T) {
					got := answer(t, test.query)
					require.NotEmpty(t, got.Array("schemas"), "schemas is always present")
					got = without(got, "schemas")
					want, err := scim.Decode([]byte(test.want))
					require.NoError(t, err)
					fillPlaceholders(got, want)
					require.True(t, scim.Equal(want, got), "want %s\ngot  %s", want.AppendJSON(nil), got.AppendJSON(nil))
				})
			}
			t.Run("POST "+test.query, func(t *testing.T) {
				a := h.do(t, "POST", "/Users?"+test.query, body("ann2")).want(t, http.StatusCreated)
				defer h.do(t, "DELETE", "/Users/"+a.id(), nil)
				require.Equal(t, h.url+"/Users/"+a.id(), a.header.Get("Location"), "independent of the projection")
				require.NotEmpty(t, a.header.Get("ETag"))
				got := without(a.body, "schemas")
				want, err := scim.Decode([]byte(strings.ReplaceAll(test.want, `"ann"`, `"ann2"`)))
				require.NoError(t, err)
				want.Delete("groups") // the new user is in no group
				fillPlaceholders(got, want)
				require.True(t, scim.Equal(want, got), "want %s\ngot  %s", want.AppendJSON(nil), got.AppendJSON(nil))
			})
		}
		for _, path := range []string{path, "/Users", "", "/Me"} {
			h.do(t, "GET", path+"?attributes=title&excludedAttributes=name", nil).wantError(t, http.StatusBadRequest, scim.InvalidValue)
		}
		results := h.bulk(t, bulkOf(bulkOp("PATCH", path, patchOf(op("replace", "title", "boss")))))
		_, shown := results[0].Get("response")
		require.False(t, shown, "a bulk result contains no resource to project")
	}, meIs(&me))
}

// fillPlaceholders replaces each "?" in want by the actual value.
func fillPlaceholders(got, want *scim.Object) {
	for name, value := range want.All() {
		there, _ := got.Get(name)
		if value == "?" && there != nil {
			want.Set(name, there)
		}
		inner, isObject := value.(*scim.Object)
		if o, ok := there.(*scim.Object); ok && isObject {
			fillPlaceholders(o, inner)
		}
	}
}

// searchOf returns the body of a search request with the attributes and excludedAttributes of a query string.
func searchOf(t *testing.T, search object, query string) string {
	t.Helper()
	values, err := url.ParseQuery(query)
	require.NoError(t, err)
	body := merge(object{}, []object{search})
	for name, lists := range values {
		names := []string{}
		for _, list := range lists {
			names = append(names, strings.Split(list, ",")...)
		}
		body[name] = names
	}
	text, err := json.Marshal(body)
	require.NoError(t, err, fmt.Sprint(body))
	return string(text)
}
