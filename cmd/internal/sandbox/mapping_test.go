package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// account returns the account of a user on a target, nil if absent.
func account(t *testing.T, base, token, id string) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/Users/"+id, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil
	}
	var out map[string]any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&out))
	return out
}

// A custom attribute of a user is mapped to an attribute of the application and from there to an attribute of the SCIM resource: at
// creation, at an update, when the mapping changes, and when the value is cleared.
func TestMappedAttribute_ReachesTarget(t *testing.T) {
	t.Parallel()
	const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	base, token := newSCIMServer(t)
	do(t, api, http.MethodPost, "/api/v1/meta/schemas/user/default",
		`{"definitions":{"custom":{"properties":{"budget":{"title":"Budget","type":"integer"}}}}}`, nil)
	app := newApp(t, api, base, token)
	do(t, api, http.MethodPost, "/api/v1/meta/schemas/apps/"+app+"/default", fmt.Sprintf(`{"definitions":{"custom":{"properties":{
		"cost":{"title":"Cost center","type":"string","externalName":"costCenter","externalNamespace":%[1]q},
		"boss":{"title":"Manager","type":"string","externalName":"organization","externalNamespace":%[1]q},
		"prefix":{"title":"Prefix","type":"string","externalName":"name.honorificPrefix"},
		"home":{"title":"Address","type":"string","externalName":"emails[type eq \"home\"].value"},
		"inner":{"title":"Stays here","type":"string"}}}}}`, enterprise), nil)
	var mappings []struct{ ID string }
	do(t, api, http.MethodGet, "/api/v1/mappings?targetId="+app, "", &mappings)
	require.Len(t, mappings, 1)
	mapping := "/api/v1/mappings/" + mappings[0].ID
	do(t, api, http.MethodPost, mapping,
		`{"properties":{"cost":{"expression":"\"cc-\" + user.budget"},"boss":{"expression":"user.manager"},
		"prefix":{"expression":"user.honorificPrefix"},"home":{"expression":"user.secondEmail"},"inner":{"expression":"user.login"},
		"secondEmail":null}}`, nil)

	user := newUser(t, api, "map@chain.example")
	do(t, api, http.MethodPost, "/api/v1/users/"+user,
		`{"profile":{"budget":7,"manager":"Eva","honorificPrefix":"Dr","secondEmail":"map@home.example","displayName":"Map",`+
			`"mobilePhone":"+46 70 174 06 05"}}`, nil)
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	var assigned appUser
	synchronized := func() bool {
		do(t, api, http.MethodGet, "/api/v1/apps/"+app+"/users/"+user, "", &assigned)
		return assigned.SyncState == "SYNCHRONIZED"
	}
	eventually(t, "the user arrives", synchronized)
	at := account(t, base, token, assigned.ExternalID)
	require.Contains(t, at["schemas"], enterprise)
	require.Equal(t, map[string]any{"costCenter": "cc-7", "organization": "Eva"}, at[enterprise])
	require.Equal(t, "Dr", at["name"].(map[string]any)["honorificPrefix"])
	require.Len(t, at["emails"], 2)
	require.Equal(t, "map@home.example", at["emails"].([]any)[1].(map[string]any)["value"])
	require.Equal(t, "home", at["emails"].([]any)[1].(map[string]any)["type"])
	require.NotContains(t, at, "inner")

	// Another client sets attributes of the account that are not mapped. The engine must preserve these attributes.
	atTarget(t, base, token, http.MethodPatch, "/Users/"+assigned.ExternalID,
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"add","value":{"nickName":"own","`+enterprise+
			`:division":"West"}}]}`)

	do(t, api, http.MethodPost, "/api/v1/users/"+user,
		`{"profile":{"budget":8,"manager":null,"honorificPrefix":null,"secondEmail":null,"displayName":null,"mobilePhone":null}}`, nil)
	eventually(t, "cleared values are cleared on the target", func() bool {
		at = account(t, base, token, assigned.ExternalID)
		return at[enterprise].(map[string]any)["costCenter"] == "cc-8"
	})
	require.Equal(t, map[string]any{"costCenter": "cc-8", "division": "West"}, at[enterprise])
	require.NotContains(t, at["name"], "honorificPrefix")
	require.Len(t, at["emails"], 1)
	require.NotContains(t, at, "displayName")
	require.NotContains(t, at, "phoneNumbers")
	require.Equal(t, "own", at["nickName"], "unmapped values are preserved")
	eventually(t, "the app user is synchronized", synchronized)

	do(t, api, http.MethodPost, mapping,
		`{"properties":{"cost":{"expression":"String.toUpperCase(\"cc-\" + user.budget)"},"prefix":{"expression":"\"Prof\""}}}`, nil)
	eventually(t, "a change of the mapping arrives", func() bool {
		at = account(t, base, token, assigned.ExternalID)
		return at[enterprise].(map[string]any)["costCenter"] == "CC-8"
	})
	require.Equal(t, "Prof", at["name"].(map[string]any)["honorificPrefix"])
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", `{}`, nil)
	before := len(attempts(t, api, app, user))
	do(t, api, http.MethodPost, mapping, `{"properties":{"inner":{"expression":"user.login + \"x\""}}}`, nil)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", `{}`, nil)
	for _, a := range attempts(t, api, app, user)[before:] {
		require.Equal(t, http.MethodGet, a.Method, "an attribute without externalName changes nothing on the target")
	}
}
