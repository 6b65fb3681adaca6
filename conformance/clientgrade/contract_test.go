package clientgrade_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/clientgrade"
)

// The requests of document C in docs/generated/management-requirements.md.
const (
	lookup     = "/Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100"
	groupsCrew = "/Groups?filter=displayName%20eq%20%22Crew%22&startIndex=1&count=100"
	nobody     = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`
	createAnn  = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ann","active":true,"groups":[],"password":"x"}`
	account    = `{"id":"1","userName":"ann","active":true}`
)

func patchOf(operation string) string {
	return `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[` + operation + `]}`
}

// listed returns the requests of a client that follows the contract, up to the deactivation of ann.
func listed() talk {
	return talk{}.say("GET", "/Users?startIndex=1&count=100", "", 200, nobody).
		say("GET", lookup, "", 200, nobody).say("POST", "/Users", createAnn, 201, account).
		say("GET", "/Users/1", "", 200, account).say("PUT", "/Users/1", account, 200, account).
		say("GET", groupsCrew, "", 404, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404"}`).
		say("POST", "/Groups", `{"displayName":"Crew","members":[{"value":"1"}]}`, 201, `{"id":"3"}`)
}

func catalogEnd(c talk) talk {
	return c.say("PATCH", "/Groups/3",
		patchOf(`{"op":"replace","value":{"id":"3","displayName":"Crew"}},{"op":"remove","path":"members[value eq \"2\"]"},{"op":"add",`+
			`"path":"members","value":[{"value":"1"}]}`), 204, "").
		say("PATCH", "/Users/1", patchOf(`{"op":"replace","value":{"password":"y"}}`), 204, "").
		say("PATCH", "/Users/1", patchOf(`{"op":"replace","value":{"active":false}}`), 204, "")
}

func wizardEnd(c talk) talk {
	return c.say("GET", "/Groups/3", "", 200, `{"id":"3"}`).say("PUT", "/Groups/3", `{"id":"3","displayName":"Crew"}`, 200, "").
		say("GET", "/Users/1", "", 200, account).say("PUT", "/Users/1", `{"id":"1","userName":"ann","active":false}`, 200, "")
}

func gradeUnder(t *testing.T, contract clientgrade.Contract, conversation talk) map[string]conformance.Outcome {
	t.Helper()
	s := small(t)
	s.Contract = contract
	return outcomes(clientgrade.Grade(s, right(t), "http://127.0.0.1", conversation))
}

func TestContract_ListedRequestsPass(t *testing.T) {
	for contract, conversation := range map[clientgrade.Contract]talk{
		clientgrade.Catalog: catalogEnd(listed()), clientgrade.Wizard: wizardEnd(listed()),
	} {
		for id, o := range gradeUnder(t, contract, conversation) {
			require.Contains(t, []conformance.Outcome{conformance.Pass, conformance.Skip}, o, "%s: %s", contract, id)
		}
	}
	taken := talk{}.say("GET", lookup, "", 200, nobody).say("POST", "/Users", createAnn, 409, "").say("GET", groupsCrew, "", 200, nobody)
	require.Equal(t, conformance.Pass, gradeUnder(t, clientgrade.Catalog, taken)["contract.conflict-stops"])
	require.Equal(t, conformance.Warn, gradeUnder(t, clientgrade.Resilient, taken)["cope.links-on-conflict"],
		"the other contract expects the opposite")
	patient := listed()[:2].say("POST", "/Users", createAnn, 429, "").say("POST", "/Users", createAnn, 201, account)
	require.Equal(t, conformance.Pass, gradeUnder(t, clientgrade.Catalog, patient)["contract.lookup-before-create"])
}

func TestContract_OtherRequestsFail(t *testing.T) {
	for _, c := range []struct {
		name, check string
		contract    clientgrade.Contract
		talk        talk
	}{
		{"a PATCH in a wizard app", "contract.requests", clientgrade.Wizard, catalogEnd(listed())},
		{"a PUT of a group in a catalog app", "contract.requests", clientgrade.Catalog, wizardEnd(listed())},
		{"a lookup by externalId", "contract.requests", clientgrade.Catalog,
			listed().say("GET", "/Users?filter=externalId%20eq%20%22u%22&startIndex=1&count=100", "", 200, nobody)},
		{"another page size", "contract.requests", clientgrade.Catalog, listed().say("GET", "/Users?startIndex=1&count=50", "", 200, nobody)},
		{"a lookup without paging", "contract.requests", clientgrade.Wizard,
			listed().say("GET", "/Users?filter=userName%20eq%20%22ann%22", "", 200, nobody)},
		{"a GET of the configuration", "contract.requests", clientgrade.Wizard, listed().say("GET", "/ServiceProviderConfig", "", 200, "{}")},
		{"a deletion of a user", "contract.requests", clientgrade.Catalog, listed().say("DELETE", "/Users/1", "", 204, "")},
		{"a search", "contract.requests", clientgrade.Catalog, listed().say("POST", "/Users/.search", "{}", 200, nobody)},
		{"a PATCH with a path", "contract.user-patch", clientgrade.Catalog,
			listed().say("PATCH", "/Users/1", patchOf(`{"op":"replace","path":"active","value":false}`), 204, "")},
		{"a PATCH of a name", "contract.user-patch", clientgrade.Catalog,
			listed().say("PATCH", "/Users/1", patchOf(`{"op":"replace","value":{"title":"x"}}`), 204, "")},
		{"a PATCH with two operations", "contract.user-patch", clientgrade.Catalog,
			listed().say("PATCH", "/Users/1", patchOf(`{"op":"replace","value":{"active":true,"title":"x"}}`), 204, "")},
		{"a PATCH without operations", "contract.user-patch", clientgrade.Catalog, listed().say("PATCH", "/Users/1", "{}", 400, "")},
		{"a remove by value", "contract.group-patch", clientgrade.Catalog,
			listed().say("PATCH", "/Groups/3", patchOf(`{"op":"remove","path":"members","value":[{"value":"1"}]}`), 204, "")},
		{"a rename by a path", "contract.group-patch", clientgrade.Catalog,
			listed().say("PATCH", "/Groups/3", patchOf(`{"op":"replace","path":"displayName","value":"x"}`), 204, "")},
		{"a PUT without a GET", "contract.read-before-put", clientgrade.Wizard, listed().say("PUT", "/Users/1", account, 200, "")},
		{"a create without a lookup", "contract.lookup-before-create", clientgrade.Wizard, talk{}.say("POST", "/Users", createAnn, 201, account)},
		{"a create after a lookup that found the user", "contract.lookup-before-create", clientgrade.Wizard,
			talk{}.say("GET", lookup, "", 200, `{"Resources":[`+account+`]}`).say("POST", "/Users", createAnn, 201, account)},
		{"a create without a password", "contract.create-body", clientgrade.Catalog, talk{}.say("POST", "/Users", person("ann"), 201, account)},
		{"another form after 405", "contract.no-other-form", clientgrade.Catalog,
			listed().say("PATCH", "/Users/1", patchOf(`{"op":"replace","value":{"active":false}}`), 405, "").say("GET", "/Users/1", "", 200,
				account).say("PUT", "/Users/1", account, 200, "")},
		{"another body after 400", "contract.no-other-form", clientgrade.Catalog,
			listed().say("PATCH", "/Users/1", patchOf(`{"op":"replace","value":{"active":false}}`), 400, "").say("PATCH", "/Users/1",
				patchOf(`{"op":"replace","path":"active","value":false}`), 200, "")},
		{"a lookup after 409", "contract.conflict-stops", clientgrade.Catalog,
			talk{}.say("GET", lookup, "", 200, nobody).say("POST", "/Users", createAnn, 409, "").say("GET", lookup, "", 200, nobody)},
		{"a lookup by externalId after 409", "contract.conflict-stops", clientgrade.Catalog,
			talk{}.say("GET", lookup, "", 200, nobody).say("POST", "/Users", createAnn, 409, "").say("GET",
				"/Users?filter=externalId%20eq%20%22u%22", "", 200, nobody)},
		{"a second create after 409", "contract.conflict-stops", clientgrade.Wizard,
			talk{}.say("GET", lookup, "", 200, nobody).say("POST", "/Users", createAnn, 409, "").say("POST", "/Users", createAnn, 201, account)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := gradeUnder(t, c.contract, c.talk)
			require.Equal(t, conformance.Fail, got[c.check], "%v", got)
		})
	}
}

func TestContract_WantedStayActive(t *testing.T) {
	s, ok := clientgrade.ScenarioNamed("returner")
	require.True(t, ok)
	s.Contract = clientgrade.Wizard
	put := func(active string) conformance.Outcome {
		conversation := talk{}.say("GET", "/Users/1", "", 200, "{}").say("PUT", "/Users/1",
			`{"userName":"ada.returner@example.com","active":`+active+`}`, 200, "{}")
		return outcomes(clientgrade.Grade(s, right(t), "http://127.0.0.1", conversation))["contract.wanted-stay-active"]
	}
	require.Equal(t, conformance.Pass, put("true"))
	require.Equal(t, conformance.Fail, put("false"))
}
