package mgmtapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/connections"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

// bad is an input that an operation must reject.
type bad struct {
	what   string
	do     string
	body   string
	header map[string]string
	codes  []string // acceptable error codes
	names  string   // text that the error response must contain; "" accepts any response
}

// The test sends bad input to every operation of the document: unknown ids and ids of another kind, invalid parameters, cursors and
// filters, no body, malformed JSON, and bodies with one member that has the wrong type, is too long, is out of bounds or is unknown to a
// profile. Each operation must reject it with the status and code of the error table, name the cause, and not change stored data.
func TestOperations_RejectBadInput(t *testing.T) {
	w := newOrganization(t)
	tried, reached := 0, 0
	for _, to := range w.ops {
		inputs := w.inputs(to)
		before := w.dump(t)
		for _, b := range inputs {
			w.try(t, to, b)
		}
		for table, rows := range w.dump(t) {
			if !slices.Equal(before[table], rows) {
				t.Errorf("%s: a rejected request has changed the table %s:\n%s", to.operation.OperationID, table, cmp.Diff(before[table], rows))
			}
		}
		tried += len(inputs)
		if _, known := w.path(to); known {
			reached++
		}
	}
	t.Logf("%d inputs to %d operations, %d of them with ids of existing entities", tried, len(w.ops), reached)
	require.Greater(t, reached, len(w.ops)*8/10, "most paths have ids of existing entities")
}

// organization has one entity of each kind.
type organization struct {
	env *apitest.Env
	ids map[string]string
	ops []target
}

// reachable is a ConnectionTester that accepts every connection.
type reachable struct{}

func (reachable) TestConnection(context.Context, connections.Endpoint) error { return nil }

func newOrganization(t *testing.T) *organization {
	t.Helper()
	w := &organization{ids: map[string]string{}}
	w.env = apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.Work, o.Connections = doneWork{}, reachable{} })
	w.env.Unrecorded()
	for _, seed := range []struct{ do, body, name, value string }{
		{"POST /api/v1/users",
			`{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"Ann","lastName":"Other"},` +
				`"credentials":{"password":{"value":"Correct-horse-7"},"recovery_question":{"question":"Who?","answer":"the cat"}}}`, "user", "id"},
		{"POST /api/v1/groups", `{"profile":{"name":"One"}}`, "group", "id"},
		{"PUT /api/v1/groups/{group}/users/{user}", "", "", ""},
		{"POST /api/v1/groups/{group}/owners", `{"id":"{user}","type":"USER"}`, "owner", "id"},
		{"POST /api/v1/groups/rules",
			`{"type":"group_rule","name":"Others","conditions":{"expression":{"type":"urn:svc:expression:1.0",` +
				`"value":"user.lastName==\"Nobody\""}},"actions":{"assignUserToGroups":{"groupIds":["{group}"]}}}`, "grouprule", "id"},
		{"POST /api/v1/apps", `{"name":"scim2_test_app","label":"Provisioned"}`, "app", "id"},
		{"POST /api/v1/apps/{app}/connections/default?activate=true", `{"baseUrl":"https://scim.example.com","profile":{"token":"secret"}}`, "",
			""},
		{"POST /api/v1/apps/{app}/users", `{"id":"{user}"}`, "", ""},
		{"PUT /api/v1/apps/{app}/groups/{group}", "", "", ""},
		{"POST /api/v1/apps/{app}/group-push/mappings", `{"sourceGroupId":"{group}","targetGroupName":"Pushed"}`, "push", "id"},
		{"POST /api/v1/apps/{app}/credentials/keys/generate?validityYears=2", "", "appkey", "kid"},
		{"POST /api/v1/apps",
			`{"name":"oidc_client","label":"Client","signOnMode":"OPENID_CONNECT",` +
				`"credentials":{"oauthClient":{"token_endpoint_auth_method":"client_secret_basic"}},` +
				`"settings":{"oauthClient":{"application_type":"service","grant_types":["client_credentials"],"response_types":["token"]}}}`, "client",
			"id"},
		{"POST /api/v1/apps/{client}/grants", `{"scopeId":"svc.users.read","issuer":"{base}"}`, "grant", "id"},
		{"POST /api/v1/users/{user}/roles", `{"type":"USER_ADMIN"}`, "userrole", "id"},
		{"POST /api/v1/groups/{group}/roles", `{"type":"APP_ADMIN"}`, "grouprole", "id"},
		{"POST /oauth2/v1/clients/{client}/roles", `{"type":"APP_ADMIN"}`, "clientrole", "id"},
		{"POST /api/v1/iam/roles", `{"label":"Desk","description":"Helps","permissions":["svc.users.read"]}`, "role", "id"},
		{"POST /api/v1/iam/resource-sets", `{"label":"Set","description":"Some","resources":["/api/v1/groups/{group}"]}`, "set", "id"},
		{"GET /api/v1/iam/resource-sets/{set}/resources", "", "resource", "resources.0.id"},
		{"POST /api/v1/iam/resource-sets/{set}/bindings", `{"role":"{role}","members":["/api/v1/users/{user}"]}`, "", ""},
		{"GET /api/v1/iam/resource-sets/{set}/bindings/{role}/members", "", "member", "members.0.id"},
		{"POST /api/v1/users/{user}/factors",
			`{"factorType":"question","provider":"SVC","profile":{"question":"first_award","answer":"a medal"}}`, "factor", "id"},
		{"POST /api/v1/users/{user}/factors", `{"factorType":"webauthn","provider":"FIDO"}`, "securitykey", "id"},
		{"POST /api/v1/org/factors/hardware_token/tokens",
			`{"serialNumber":"7886622","publicId":"ccccccijgibu","privateId":"b74be6169486","aesKey":"1fcc6ce8a0b1a3f1b5d6f3bd7b9f3c2a"}`,
			"hardware", "id"},
		{"POST /api/v1/meta/types/user", `{"name":"guest","displayName":"Guest"}`, "type", "id"},
		{"GET /api/v1/mappings?sourceId={app}", "", "mapping", "0.id"},
		{"GET /api/v1/policies?type=PASSWORD", "", "policy", "0.id"},
		{"GET /api/v1/policies?type=SVC_SIGN_ON", "", "signonpolicy", "0.id"},
		{"POST /api/v1/policies/{signonpolicy}/rules",
			`{"name":"Nobody","conditions":{"people":{"users":{"include":[]}}},"actions":{"signon":{"access":"ALLOW","requireFactor":true}}}`,
			"signonrule", "id"},
		{"POST /api/v1/inlineHooks",
			`{"name":"Hook","type":"com.svc.oauth2.tokens.transform","version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0",` +
				`"config":{"uri":"https://hooks.example.com","method":"POST"}}}`, "hook", "id"},
		{"POST /api/v1/templates/sms", `{"name":"Code","type":"SMS_VERIFY_CODE","template":"${code}"}`, "template", "id"},
		{"POST /api/v1/hook-keys", `{"name":"Key"}`, "hookkey", "id"},
		{"GET /api/v1/hook-keys/{hookkey}", "", "hookkeypublic", "keyId"},
		{"GET /api/v1/authorizationServers/default/scopes", "", "scope", "0.id"},
		{"GET /api/v1/authorizationServers/default/claims", "", "claim", "0.id"},
		{"GET /api/v1/authorizationServers/default/credentials/keys", "", "serverkey", "0.kid"},
		{"GET /api/v1/authorizationServers/default/policies", "", "accesspolicy", "0.id"},
		{"GET /api/v1/authorizationServers/default/policies/{accesspolicy}/rules", "", "accessrule", "0.id"},
		{"POST /sandbox/v1/api-tokens", `{"name":"Token","userId":"{user}"}`, "apitoken", "id"},
		{"POST /api/v1/authn", `{"username":"ann@example.com","password":"Correct-horse-7"}`, "sessiontoken", "sessionToken"},
		{"POST /api/v1/sessions", `{"sessionToken":"{sessiontoken}"}`, "session", "id"},
	} {
		w.seed(t, seed.do, seed.body, seed.name, seed.value)
	}
	w.ops = targets(t, w.env)
	return w
}

// seed sends a request that creates an entity. If name is not empty, it stores the value of the response at the path value in w.ids[name].
func (w *organization) seed(t *testing.T, do, body, name, value string) {
	t.Helper()
	a := w.env.Do(t, w.fill(do), w.fill(strings.ReplaceAll(body, "{base}", w.env.Server.URL)), nil)
	require.Less(t, a.Status, 300, "%s: %s", do, a.Body)
	if name != "" {
		w.ids[name] = a.Value(value)
		require.NotEmpty(t, w.ids[name], "%s: %s", do, a.Body)
	}
}

// fill replaces each placeholder {name} by w.ids[name].
func (w *organization) fill(text string) string {
	for name, id := range w.ids {
		text = strings.ReplaceAll(text, "{"+name+"}", id)
	}
	return text
}

// pathIDs are the ids for the variables of paths. The first row with a matching prefix and variable applies.
var pathIDs = []struct{ path, variable, id string }{
	{"/api/v1/api-tokens/", "id", "{apitoken}"},
	{"/api/v1/templates/sms/", "templateId", "{template}"},
	{"/api/v1/hook-keys/public/", "keyId", "{hookkeypublic}"},
	{"/api/v1/hook-keys/", "*", "{hookkey}"},
	{"/api/v1/inlineHooks/", "id", "{hook}"},
	{"/api/v1/org/factors/hardware_token/", "tokenId", "{hardware}"},
	{"/api/v1/org/factors/", "id", "svc_sms"},
	{"/api/v1/authorizationServers/", "authServerId", "default"},
	{"/api/v1/authorizationServers/", "policyId", "{accesspolicy}"},
	{"/api/v1/authorizationServers/", "ruleId", "{accessrule}"},
	{"/api/v1/authorizationServers/", "scopeId", "{scope}"},
	{"/api/v1/authorizationServers/", "claimId", "{claim}"},
	{"/api/v1/authorizationServers/", "kid", "{serverkey}"},
	{"/oauth2/", "authServerId", "default"},
	{"/api/v1/policies/{policyId}/rules", "policyId", "{signonpolicy}"},
	{"/api/v1/policies/{policyId}/rules", "ruleId", "{signonrule}"},
	{"/api/v1/policies/", "policyId", "{policy}"},
	{"/api/v1/groups/rules/", "ruleId", "{grouprule}"},
	{"/api/v1/apps/{appId}/group-push/", "mappingId", "{push}"},
	{"/api/v1/apps/{appId}/grants", "appId", "{client}"},
	{"/api/v1/apps/{appId}/grants", "grantId", "{grant}"},
	{"/api/v1/apps/", "kid", "{appkey}"},
	{"/api/v1/apps/", "featureName", "USER_PROVISIONING"},
	{"/api/v1/mappings/", "mappingId", "{mapping}"},
	{"/api/v1/meta/types/", "typeId", "{type}"},
	{"/api/v1/meta/schemas/", "schemaId", "default"},
	{"/api/v1/sessions/", "sessionId", "{session}"},
	{"/api/v1/iam/", "resourceSetIdOrLabel", "{set}"},
	{"/api/v1/iam/", "roleIdOrLabel", "{role}"},
	{"/api/v1/iam/", "permissionType", "svc.users.read"},
	{"/api/v1/iam/", "memberId", "{member}"},
	{"/api/v1/iam/", "resourceId", "{resource}"},
	{"/api/v1/users/", "assignmentId", "{userrole}"},
	{"/api/v1/groups/", "assignmentId", "{grouprole}"},
	{"/oauth2/", "assignmentId", "{clientrole}"},
	{"/api/v1/users/", "assignee", "{user}"},
	{"/api/v1/groups/", "assignee", "{group}"},
	{"/oauth2/", "assignee", "{client}"},
	{"/sandbox/v1/fido/", "factorId", "{securitykey}"},
	{"/sandbox/v1/", "factorId", nobody}, // factors of the types push and web, which do not exist here
	{"/", "ownerId", "{owner}"},
	{"/", "factorId", "{factor}"},
	{"/", "clientId", "{client}"},
	{"/", "appName", "scim2_test_app"},
	{"/", "appInstanceId", "{app}"},
	{"/", "appId", "{app}"},
	{"/", "app", "{app}"},
	{"/", "groupId", "{group}"},
	{"/", "targetGroupId", "{group}"},
	{"/", "userId", "{user}"},
	{"/", "user", "{user}"},
}

// createdVariables are the path variables that name an object which the operation creates.
var createdVariables = map[string]string{"createRolePermission": "permissionType"}

// path returns the path of the operation with ids of existing entities, and whether all variables have such an id.
func (w *organization) path(to target) (string, bool) {
	path, known := to.path, true
	for _, p := range to.operation.Parameters {
		if p.Value.In == openapi3.ParameterInPath {
			id := w.id(to, p.Value.Name)
			known = known && id != nobody
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(id))
		}
	}
	return path, known
}

const nobody = "nobody"

func (w *organization) id(to target, variable string) string {
	for _, s := range pathIDs {
		if strings.HasPrefix(to.path, s.path) && (s.variable == variable || s.variable == "*") {
			return w.fill(s.id)
		}
	}
	return nobody
}

const jsonMedia = "application/json"

// inputs returns the bad inputs for an operation.
func (w *organization) inputs(to target) []bad {
	path, known := w.path(to)
	do := to.method + " " + path
	all := w.badIDs(to)
	if !known {
		return all
	}
	required := "" // the query string with the required parameter, if the operation has one
	for _, p := range to.operation.Parameters {
		if p := p.Value; p.In == openapi3.ParameterInQuery && p.Required {
			all = append(all, bad{what: "without " + p.Name, do: do, codes: []string{"E0000001", "E0000003"}})
			required = "?" + url.Values{p.Name: {w.good(p)}}.Encode()
		}
	}
	for _, p := range to.operation.Parameters {
		if p := p.Value; p.In == openapi3.ParameterInQuery {
			for _, value := range badValues(to, p) {
				all = append(all, bad{what: p.Name, do: do + "?" + url.Values{p.Name: {value}}.Encode(), codes: codesOf(to, p), body: "{}"})
			}
		}
	}
	nul := bad{what: "a parameter with U+0000", codes: []string{"E0000001"}, names: "nobody-reads", body: "{}"}
	nul.do = do + "?" + strings.TrimPrefix(required+"&", "?") + url.Values{nul.names: {"a\x00b"}}.Encode()
	if to.operation.RequestBody == nil {
		// these endpoints reject the parameter with an OAuth error
		if !strings.Contains(path, "/.well-known/") && !strings.HasSuffix(path, "/v1/keys") {
			all = append(all, nul)
		}
		return withoutBodies(to, all)
	}
	content := to.operation.RequestBody.Value.Content[jsonMedia]
	if content == nil {
		return withoutBodies(to, all)
	}
	if content.Schema.Value.Type.Is("array") {
		nul.body = "[]"
	}
	all = append(all, nul)
	do += required
	unread := []string{"E0000003"}
	if to.operation.RequestBody.Value.Required {
		all = append(all, bad{what: "no body", do: do, codes: unread}, bad{what: "null", do: do, body: "null", codes: unread})
	}
	for what, body := range map[string]string{
		"half an object": `{"a":`, "a string": `"a"`, "two values": `{}{}`, "invalid UTF-8": "{\"a\":\"\xff\"}",
		"deep":               strings.Repeat(`{"a":`, 20000),
		"a duplicate member": `{"nobody-reads":1,"nobody-reads":1}`, "a nested duplicate member": `{"a":[{"b":{}},{"c":1,"\u0063":2}]}`,
		"a duplicate member in an array": `[{"a":{"b":null,"b":null}}]`,
	} {
		all = append(all, bad{what: what, do: do, body: body, codes: unread})
	}
	for what, body := range map[string]string{
		"a[1].b.c": `{"a":[1,{"b":{"c":"x\u0000y"}}]}`, "a.\\\"\\\\x00b\\\"": `{"a":{"\u0000b":1}}`, "[0].a": `[{"a":"\u0000"}]`,
	} {
		all = append(all, bad{what: "U+0000", do: do, body: body, codes: []string{"E0000001"}, names: what})
	}
	all = append(all,
		bad{what: "another media type", do: do, body: "{}", header: header{"Content-Type": "text/plain"}, codes: []string{"E0000021"}})
	schema := content.Schema.Value
	if schema.Type.Is("array") {
		all = append(all, bad{what: "not an array", do: do, body: "{}", codes: unread})
	} else if schema.Type.Is("object") {
		all = append(all, bad{what: "an array", do: do, body: "[]", codes: unread})
	}
	for _, m := range badMembers(schema, "", 0, nil) {
		if o, ok := m.body.(map[string]any); ok && to.operation.OperationID == "assignUserToApplication" && o["id"] == nil {
			o["id"] = w.ids["user"] // otherwise the operation would fail because the user is missing, and not check the profile
		}
		body, _ := json.Marshal(m.body)
		all = append(all, bad{what: m.what, do: do, body: string(body), codes: []string{"E0000001"}, names: m.names})
	}
	return all
}

// withoutBodies removes the bodies of all inputs if the operation accepts no body.
func withoutBodies(to target, all []bad) []bad {
	if to.operation.RequestBody == nil {
		for i := range all {
			all[i].body = ""
		}
	}
	return all
}

// badIDs returns inputs with invalid ids, unknown ids and ids of another kind for each variable of the path.
func (w *organization) badIDs(to target) []bad {
	var all []bad
	for _, p := range to.operation.Parameters {
		if p.Value.In != openapi3.ParameterInPath || createdVariables[to.operation.OperationID] == p.Value.Name {
			continue
		}
		other := w.ids["group"]
		if w.id(to, p.Value.Name) == other || strings.HasPrefix(to.path, "/api/v1/groups/{assignee}") {
			other = w.ids["user"]
		}
		if p.Value.Name == "memberId" || p.Value.Name == "ownerId" {
			other = w.ids["app"]
		}
		for what, id := range map[string]string{
			"an unknown id": nobody, "an id of another kind": other, "a malformed id": "\u00e4 \n'", "one with U+0000": "a\x00b",
			"a long one": strings.Repeat("x", 5000),
		} {
			path := to.path
			for _, v := range to.operation.Parameters {
				if v.Value.In == openapi3.ParameterInPath && v.Value.Name != p.Value.Name {
					path = strings.ReplaceAll(path, "{"+v.Value.Name+"}", url.PathEscape(w.id(to, v.Value.Name)))
				}
			}
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(id))
			body := "" // malformed, because the operation checks whether the object exists before it reads the body
			if to.operation.RequestBody != nil {
				body = `{"broken`
			}
			code := "E0000007"
			// the operation checks the state token in the body before the id in the path
			if strings.HasPrefix(to.path, "/api/v1/authn/factors/") {
				body, code = `{"stateToken":"unknown"}`, "E0000011"
			}
			all = append(all, bad{what: what + " for " + p.Value.Name, do: to.method + " " + path, body: body, codes: []string{code}})
		}
	}
	return all
}

// good returns a valid value of a required parameter.
func (w *organization) good(p *openapi3.Parameter) string {
	switch {
	case p.Name == "targetAid":
		return w.ids["client"]
	case len(p.Schema.Value.Enum) > 0:
		return fmt.Sprint(p.Schema.Value.Enum[0])
	case p.Schema.Value.Type.Is("boolean"):
		return "true"
	case p.Schema.Value.Type.Is("integer"):
		return "2"
	default:
		return "/api/v1/users"
	}
}

// badValues returns invalid values of a parameter.
func badValues(to target, p *openapi3.Parameter) []string {
	s := p.Schema.Value
	switch {
	case s.Type.Is("boolean"):
		return []string{"maybe", "1"}
	case s.Type.Is("integer"):
		return []string{"many", "-1", "1.5", "99999999999999999999"}
	case len(s.Enum) > 0:
		return []string{"nothing"}
	case p.Name == "after":
		return []string{"abc", "\u00e4\n", strings.Repeat("x", 5000)}
	case p.Name == "filter", p.Name == "search" && to.operation.OperationID != "listGroupRules":
		return []string{"((((", `nothing eq "x"`, `id eq`, `id eq "x" and`, `"x" eq id`}
	case p.Name == "since", p.Name == "until", p.Name == "lastUpdated":
		return []string{"yesterday", "2026-13-45T99:99:99Z"}
	case s.MaxLength != nil:
		return []string{strings.Repeat("x", int(*s.MaxLength)+1)}
	default:
		return nil
	}
}

// codesOf returns the error codes for an invalid value of a parameter.
func codesOf(to target, p *openapi3.Parameter) []string {
	switch {
	case p.Schema.Value.Type.Is("integer"), p.Schema.Value.Type.Is("boolean"), len(p.Schema.Value.Enum) > 0:
		return []string{"E0000001"}
	case p.Name == "after":
		return []string{"E0000029"}
	case p.Name == "filter" && to.operation.OperationID == "listLogEvents":
		return []string{"E0000053"}
	case p.Name == "filter", p.Name == "search":
		return []string{"E0000031"}
	default:
		return []string{"E0000001"}
	}
}

// member is a body with one bad member.
type member struct {
	what, names string
	body        any
}

// badMembers returns bodies of the schema with one invalid member each. wrap embeds the value of a member in a complete body.
func badMembers(s *openapi3.Schema, at string, depth int, wrap func(any) any) []member {
	if wrap == nil {
		wrap = func(v any) any { return v }
	}
	var all []member
	add := func(what string, value any) {
		if at == "" { // inputs adds the inputs whose whole body is invalid
			return
		}
		name := at[strings.LastIndexByte(at, '.')+1:]
		all = append(all, member{what: at + " " + what, names: strings.TrimSuffix(name, "[0]"), body: wrap(value)})
	}
	switch {
	case s.Type == nil || depth > 5:
	case s.Type.Is("object"):
		add("is not an object", 5)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[name].Value
			if p.ReadOnly {
				continue
			}
			all = append(all,
				badMembers(p, strings.TrimPrefix(at+"."+name, "."), depth+1, func(v any) any { return wrap(map[string]any{name: v}) })...)
		}
		if at == "profile" && len(s.Properties) == 0 {
			all = append(all, member{what: "an unknown attribute", names: "unknownAttribute", body: wrap(map[string]any{"unknownAttribute": 1})})
		}
	case s.Type.Is("array"):
		add("is not an array", "x")
		all = append(all, badMembers(s.Items.Value, at+"[0]", depth+1, func(v any) any { return wrap([]any{v}) })...)
	case s.Type.Is("string"):
		add("is not a string", 5)
		add("is an object", map[string]any{"a": 1})
		add("has U+0000", "a\x00b")
		if s.MaxLength != nil {
			add("is too long", strings.Repeat("x", int(*s.MaxLength)+1))
		}
		if len(s.Enum) > 0 {
			add("is not in the list", "nothing")
		}
	case s.Type.Is("boolean"):
		add("is not a boolean", "yes")
	case s.Type.Is("integer"), s.Type.Is("number"):
		add("is not a number", "many")
		if s.Min != nil {
			add("is too small", *s.Min-1)
		}
		if s.Max != nil {
			add("is too large", *s.Max+1)
		}
	}
	return all
}

// try sends a bad input and checks the error response.
func (w *organization) try(t *testing.T, to target, b bad) {
	t.Helper()
	a := w.env.Do(traced{t, b.do + "\n" + clip(b.body)}, b.do, b.body, b.header)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s: %s %s\n%d %s\n%s", to.operation.OperationID, b.what, clip(b.do), clip(b.body), a.Status, a.Body,
			fmt.Sprintf(format, args...))
	}
	code := a.Value("errorCode")
	switch {
	case a.Status < 400 || a.Status >= 500:
		fail("is not rejected")
	case strings.HasPrefix(to.path, "/oauth2/{authServerId}/"): // these operations return OAuth errors
		if a.Value("error") != "invalid_request" || a.Value("error_description") == "" || a.Status != statuses[b.codes[0]] {
			fail("is rejected with an error other than invalid_request")
		}
	case !slices.Contains(b.codes, code):
		fail("is rejected with a code other than %s", b.codes)
	case statuses[code] != a.Status:
		fail("the status of %s is %d", code, statuses[code])
	case a.Value("errorSummary") == "" || a.Value("errorId") == "" || a.Value("errorLink") != code:
		fail("is rejected without a complete error body")
	case b.names != "" && !strings.Contains(string(a.Body), b.names):
		fail("no cause names %s", b.names)
	}
}

// statuses maps error codes to statuses, according to the error table.
var statuses = map[string]int{
	"E0000001": http.StatusBadRequest, "E0000003": http.StatusBadRequest, "E0000007": http.StatusNotFound, "E0000021": http.StatusBadRequest,
	"E0000029": http.StatusBadRequest, "E0000031": http.StatusBadRequest, "E0000053": http.StatusBadRequest,
	"E0000060": http.StatusNotImplemented,
	"E0000011": http.StatusUnauthorized,
}

// dump returns all stored rows by table, except the log, where rejections may be recorded.
func (w *organization) dump(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, name := range w.rows(t, "SELECT name FROM sqlite_master WHERE type = 'table'") {
		name = strings.Trim(name, "[]")
		if !strings.HasPrefix(name, "log_events") && name != "sqlite_sequence" { // sqlite_sequence also counts log events
			all[name] = w.rows(t, "SELECT * FROM "+name)
		}
	}
	return all
}

// rows returns the rows of a query as strings.
func (w *organization) rows(t *testing.T, query string) []string {
	t.Helper()
	rows, err := w.env.Store.Reader().Query(t.Context(), query)
	require.NoError(t, err, query)
	defer func() { require.NoError(t, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var out []string
	for rows.Next() {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		require.NoError(t, rows.Scan(to...))
		out = append(out, fmt.Sprint(values))
	}
	require.NoError(t, rows.Err())
	return out
}
