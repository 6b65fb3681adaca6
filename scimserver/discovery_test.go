package scimserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

func TestServiceProviderConfig_MatchesBehavior(t *testing.T) {
	h := serve(t, newMapStore(), func(o *scimserver.Options) {
		o.Limits = scimserver.Limits{MaxPage: 7, DefaultPage: 3}
	})
	a := h.get(t, "/ServiceProviderConfig")
	sameJSON(t, `{
		"schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
		"patch": {"supported": true}, "bulk": {"supported": true, "maxOperations": 1000, "maxPayloadSize": 8388608},
		"filter": {"supported": true, "maxResults": 7}, "changePassword": {"supported": true},
		"sort": {"supported": true}, "etag": {"supported": true},
		"pagination": {"cursor": true, "index": true, "defaultPaginationMethod": "index",
			"defaultPageSize": 3, "maxPageSize": 7, "cursorTimeout": 3600},
		"authenticationSchemes": [{"type": "oauthbearertoken", "name": "OAuth Bearer Token",
			"description": "A bearer token in the Authorization header",
			"specUri": "https://www.rfc-editor.org/info/rfc6750", "primary": true}],
		"meta": {"resourceType": "ServiceProviderConfig", "location": "`+h.url+`/ServiceProviderConfig"}}`, a.body)

	for i := range 9 {
		h.newUser(t, fmt.Sprintf("user %d", i))
	}
	_, page := h.get(t, "/Users?count=100").list(t, "id")
	require.Len(t, page, 7, "maxResults")
	_, page = h.get(t, "/Users").list(t, "id")
	require.Len(t, page, 3, "defaultPageSize")
}

func TestDiscovery_Lists(t *testing.T) {
	h := serve(t, newMapStore())
	for _, test := range []struct {
		path, kind string
		ids        []string
	}{
		{"/Schemas", "Schema", []string{scim.UserSchema, scim.GroupSchema, scim.EnterpriseUserSchema,
			scim.ServiceProviderConfigSchema, scim.ResourceTypeSchema, scim.SchemaSchema}},
		{"/ResourceTypes", "ResourceType", []string{"User", "Group"}},
	} {
		t.Run(test.path, func(t *testing.T) {
			a := h.get(t, test.path+"?startIndex=2&count=1&attributes=id")
			_, ids := a.list(t, "id")
			require.Equal(t, test.ids, ids, "paging does not apply")
			for _, v := range a.body.Array("Resources") {
				listed := v.(*scim.Object)
				id := listed.Text("id")
				single := h.get(t, test.path+"/"+url.PathEscape(id))
				require.True(t, scim.Equal(listed, single.body), "%s is equal as single document and in the list", id)
				require.Equal(t, h.url+test.path+"/"+id, listed.Complex("meta").Text("location"))
				require.Equal(t, test.kind, listed.Complex("meta").Text("resourceType"))
				require.NotEmpty(t, listed.Array("schemas"))
			}
			h.do(t, http.MethodGet, test.path+"/unknown", nil).wantError(t, http.StatusNotFound, "")
		})
	}
	t.Run("a resource type names its schema, extensions and endpoint", func(t *testing.T) {
		a := h.get(t, "/ResourceTypes/User")
		require.Equal(t, `"/Users"`, a.json("endpoint"))
		require.Equal(t, `"`+scim.UserSchema+`"`, a.json("schema"))
		require.Equal(t, `[{"schema":"`+scim.EnterpriseUserSchema+`","required":false}]`, a.json("schemaExtensions"))
	})
}

func TestDiscovery_ReadOnly(t *testing.T) {
	h := serve(t, newMapStore())
	for _, path := range []string{"/ServiceProviderConfig", "/Schemas", "/Schemas/" + scim.UserSchema, "/ResourceTypes",
		"/ResourceTypes/User"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			a := h.do(t, method, path, `{}`).wantError(t, http.StatusMethodNotAllowed, "")
			require.Equal(t, "GET, HEAD, OPTIONS", a.header.Get("Allow"), path)
		}
		h.do(t, http.MethodGet, path+`?filter=id+pr`, nil).wantError(t, http.StatusForbidden, "")
	}
}

func TestCustomType_Served(t *testing.T) {
	types := []*schema.ResourceType{schema.UserType(), schema.GroupType(), {
		ID: "Device", Name: "Device", Endpoint: "/Devices",
		Schema: &schema.Schema{ID: "urn:example:2.0:Device", Name: "Device", Attributes: []*schema.Attribute{
			{Name: "serial", Type: schema.String, Required: true, CaseExact: true, Mutability: schema.Immutable, Returned: schema.Always,
				Uniqueness: schema.Server},
			{Name: "note", Type: schema.String, Returned: schema.Request},
			{Name: "pin", Type: schema.String, Mutability: schema.WriteOnly, Returned: schema.Never},
		}},
	}}
	run := func(t *testing.T, h *harness) {
		device := object{"schemas": []string{"urn:example:2.0:Device"}, "serial": "S1", "note": "n", "pin": "1234"}
		a := h.do(t, http.MethodPost, "/Devices", device).want(t, http.StatusCreated)
		path := "/Devices/" + a.id()
		require.Equal(t, `"n"`, a.json("note"), "included in the response to a write that named it")
		require.Equal(t, "null", a.json("pin"))
		a = h.get(t, path)
		require.Equal(t, "null", a.json("note"), "returned on request only")
		require.Equal(t, `"n"`, h.get(t, path+"?attributes=note").json("note"))
		require.Equal(t, `"S1"`, h.get(t, path+"?attributes=note&excludedAttributes=").json("serial"), "always returned")

		device["serial"] = "S2"
		h.do(t, http.MethodPut, path, device).wantError(t, http.StatusBadRequest, scim.Mutability)
		total, _ := h.get(t, filtered("/Devices", `serial eq "s1"`)).list(t, "id")
		require.Equal(t, "0", total, "serial is compared exactly")
		total, _ = h.get(t, filtered("/Devices", `serial eq "S1"`)).list(t, "id")
		require.Equal(t, "1", total)
		h.patch(t, path, op("replace", "note", "m")).want(t, http.StatusOK)
		require.Equal(t, `"m"`, h.get(t, path+"?attributes=note").json("note"))
		h.get(t, "/Schemas/urn:example:2.0:Device")
		h.do(t, http.MethodDelete, path, nil).want(t, http.StatusNoContent)
	}
	t.Run("map store", func(t *testing.T) {
		run(t, serve(t, newMapStore(), func(o *scimserver.Options) { o.Types = types }))
	})
	t.Run("sqlite", func(t *testing.T) {
		run(t, serve(t, sqliteStore(t, types...), func(o *scimserver.Options) { o.Types = types }))
	})
}

func TestNew_RejectsBadOptions(t *testing.T) {
	good := func() scimserver.Options {
		return scimserver.Options{Store: newMapStore(), Tokens: scimserver.StaticTokens(token)}
	}
	_, err := scimserver.New(good())
	require.NoError(t, err)
	for name, change := range map[string]func(*scimserver.Options){
		"no store":                        func(o *scimserver.Options) { o.Store = nil },
		"no tokens":                       func(o *scimserver.Options) { o.Tokens = nil },
		"a prefix without a slash":        func(o *scimserver.Options) { o.Prefix = "scim" },
		"a relative base URL":             func(o *scimserver.Options) { o.BaseURL = "/scim" },
		"a base URL with a query":         func(o *scimserver.Options) { o.BaseURL = "https://example.com/?a" },
		"a password cost that is too low": func(o *scimserver.Options) { o.PasswordCost = 1 },
		"two types at one endpoint":       func(o *scimserver.Options) { o.Types = []*schema.ResourceType{schema.UserType(), schema.UserType()} },
		"an endpoint of the protocol": func(o *scimserver.Options) {
			rt := schema.UserType()
			rt.Endpoint = "/Schemas"
			o.Types = []*schema.ResourceType{rt}
		},
		"an endpoint of two segments": func(o *scimserver.Options) {
			rt := schema.UserType()
			rt.Endpoint = "/a/b"
			o.Types = []*schema.ResourceType{rt}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := good()
			change(&o)
			_, err := scimserver.New(o)
			require.Error(t, err)
		})
	}
}
