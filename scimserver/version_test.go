package scimserver_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// TestVersionsInPaths checks paths with and without a version. The harness mounts the server at /scim/v2.
func TestVersionsInPaths(t *testing.T) {
	h := serve(t, newMapStore())
	ann := h.newUser(t, "ann")
	root := strings.TrimSuffix(h.url, prefix)
	self := ann.body.Complex("meta").Text("location")
	for _, base := range []string{"/scim/v2", "/scim", "/scim/v2/v2"} {
		a := h.do(t, http.MethodGet, root+base+"/Users/"+ann.id(), nil).want(t, http.StatusOK)
		require.Equal(t, self, a.body.Complex("meta").Text("location"), "a resource has one location")
		h.do(t, http.MethodGet, root+base+"/Users", nil).want(t, http.StatusOK)
		h.do(t, http.MethodGet, root+base+"/ServiceProviderConfig", nil).want(t, http.StatusOK)
		created := h.do(t, http.MethodPost, root+base+"/Users", user("bob"+base)).want(t, http.StatusCreated)
		require.True(t, strings.HasPrefix(created.header.Get("Location"), h.url+"/Users/"))
	}
	for _, base := range []string{"/scim/v1", "/scim/v9", "/scim/v2/v1", "/scim/v2/v22", "/scim/v0"} {
		for _, call := range [][2]string{{"GET", "/Users"}, {"GET", "/Users/" + ann.id()}, {"POST", "/Users"}, {"DELETE", "/Users/" + ann.id()},
			{"GET", ""}, {"POST", "/Bulk"}} {
			h.do(t, call[0], root+base+call[1], nil).wantError(t, http.StatusBadRequest, scim.InvalidVers)
		}
	}
	h.do(t, http.MethodGet, root+"/scim/v9/Users", nil, header("Authorization", "")).wantError(t, http.StatusUnauthorized, "")
	h.do(t, http.MethodGet, root+"/scim/version/Users", nil).wantError(t, http.StatusNotFound, "")
	h.do(t, http.MethodGet, root+"/scim2/v2/Users", nil).wantError(t, http.StatusNotFound, "")
	h.get(t, "/Users/"+ann.id())
}

// TestReferences_SameInEveryVersion checks RFC 7643 section 2.4: references to a resource are equal with, without and with another version.
func TestReferences_SameInEveryVersion(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "ann")
		root := strings.TrimSuffix(h.url, prefix)
		group := h.do(t, http.MethodPost, "/Groups", object{"schemas": []string{scim.GroupSchema}, "displayName": "team",
			"members": []object{{"value": ann.id(), "$ref": root + "/scim/v1/Users/" + ann.id()}}}).want(t, http.StatusCreated)
		h.newUser(t, "bob",
			object{scim.EnterpriseUserSchema: object{"manager": object{"value": ann.id(), "$ref": root + "/scim/Users/" + ann.id()}}})
		for _, base := range []string{"/scim/v1", "/scim/v2", "/scim", "/scim/v12"} {
			ref := root + base + "/Users/" + ann.id()
			for _, test := range []struct{ endpoint, filter, want string }{
				{"/Groups", `members.$ref eq "` + ref + `"`, group.id()},
				{"/Groups", `members[$ref eq "` + ref + `"]`, group.id()},
				{"/Users", `meta.location eq "` + ref + `"`, ann.id()},
			} {
				_, found := h.get(t, filtered(test.endpoint, test.filter)).list(t, "id")
				require.Equal(t, []string{test.want}, found, test.filter)
			}
			_, found := h.get(t, filtered("/Users", scim.EnterpriseUserSchema+`:manager.$ref eq "`+ref+`"`)).list(t, "userName")
			require.Equal(t, []string{"bob"}, found, ref)
		}
		for _, other := range []string{root + "/scim/v2/Groups/" + ann.id(), root + "/scim/v2/Users/" + ann.id() + "x",
			root + "/scim/vx/Users/" + ann.id()} {
			total, _ := h.get(t, filtered("/Groups", `members.$ref eq "`+other+`"`)).list(t, "id")
			require.Equal(t, "0", total, other)
		}
		require.Equal(t, h.url+"/Users/"+ann.id(), h.get(t, "/Groups/"+group.id()).body.Array("members")[0].(*scim.Object).Text("$ref"),
			"a reference has the supported version")
	})
}

// TestServedOverTLS checks RFC 7644 section 7.2: the handler works over TLS 1.2 or later, and its locations have the scheme https.
func TestServedOverTLS(t *testing.T) {
	handler, err := scimserver.New(
		scimserver.Options{Store: newMapStore(), Tokens: scimserver.StaticTokens(token), Prefix: prefix, PasswordCost: 4})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // suppresses the log of the failed handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.TLSClientConfig.MinVersion, transport.TLSClientConfig.MaxVersion = version, version
		t.Cleanup(transport.CloseIdleConnections)
		h := &harness{url: server.URL + prefix, http: &http.Client{Transport: transport}}
		a := h.newUser(t, tls.VersionName(version))
		require.True(t, strings.HasPrefix(a.header.Get("Location"), "https://"), a.header)
		require.Equal(t, h.url+"/Users/"+a.id(), a.header.Get("Location"))
	}
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.MaxVersion = tls.VersionTLS11
	_, err = (&http.Client{Transport: transport}).Get(server.URL + prefix + "/Users")
	require.Error(t, err, "older TLS versions are rejected")
}

// TestFilters_MatchShownValues checks RFC 7644 section 3.4.2.2: a filter matches the values in the response to the creation or change,
// including defaults.
func TestFilters_MatchShownValues(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		bare := h.newUser(t, "bare")
		patched := h.patch(t, "/Users/"+h.newUser(t, "patched").id(), op("add", "active", false)).want(t, http.StatusOK)
		for _, a := range []*response{bare, patched} {
			self := ` and id eq "` + a.id() + `"`
			for _, name := range []string{"active", "userName", "displayName", "title", "locale", "emails", "name", "groups", "meta", "schemas",
				"id", "externalId"} {
				_, shown := a.body.Get(name)
				total, _ := h.get(t, filtered("/Users", name+" pr"+self)).list(t, "id")
				require.Equal(t, shown, total == "1", "%s pr", name)
			}
			for _, value := range []string{"true", "false", "null"} {
				total, _ := h.get(t, filtered("/Users", "active eq "+value+self)).list(t, "id")
				require.Equal(t, a.json("active") == value, total == "1", "active eq %s", value)
			}
		}
	})
}
