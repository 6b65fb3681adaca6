package clientgrade_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/clientgrade"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/scim"
)

// talk is a sequence of exchanges, one per second.
type talk []observed.Exchange

func (c talk) say(method, path, body string, status int, answer string) talk {
	path, query, _ := strings.Cut(path, "?")
	return append(c, observed.Exchange{
		At: time.Date(2026, 1, 31, 10, 0, len(c), 0, time.UTC), Millis: 10, Method: method, Path: path, Query: query, RequestBody: body,
		Status: status, ResponseBody: answer,
		RequestHeader:  http.Header{"Content-Type": {scim.MediaType}, "Authorization": {"Bearer [redacted]"}},
		ResponseHeader: http.Header{"Content-Type": {scim.MediaType}},
	})
}

func person(name string) string {
	return fmt.Sprintf(`{"schemas":[%q],"userName":%q}`, scim.UserSchema, name)
}

func resource(t *testing.T, text string) *scim.Resource {
	t.Helper()
	r, err := scim.DecodeResource([]byte(text))
	require.NoError(t, err)
	return r
}

// scenario expects ann with a name and without a job, ben deleted, and a group with the member ann.
const scenario = `
name: small
title: A little of everything
do: [Provision ann.]
exists: [{userName: zoe}]
meddle: [{userName: ann, set: {nickName: Annie}}]
exactly: true
want:
  users:
    - {userName: ann, attributes: {active: false, name.familyName: Ode, emails.value: ann@example.com,
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department": R&D}}
    - {userName: ben, absent: true}
  groups: [{displayName: Crew, members: [Ann]}, {displayName: Old, absent: true}]
`

const ann = `{"id":"1","userName":"Ann","active":false,"nickName":"Annie","name":{"familyName":"Ode"},` +
	`"emails":[{"value":"x@example.com"},{"value":"ann@example.com"}],` +
	`"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"department":"R&D"}}`

func small(t *testing.T) clientgrade.Scenario {
	t.Helper()
	s, err := clientgrade.Parse([]byte(scenario))
	require.NoError(t, err)
	return s
}

// right returns the state that the scenario expects.
func right(t *testing.T) clientgrade.State {
	return clientgrade.State{
		Users:  []*scim.Resource{resource(t, ann), resource(t, `{"id":"2","userName":"zoe"}`)},
		Groups: []*scim.Resource{resource(t, `{"id":"3","displayName":"Crew","members":[{"value":"1"}]}`)},
	}
}

var asked = talk{}.say("GET", "/Users?filter=userName%20eq%20%22ann%22", "", 200, "")

func outcomes(r *conformance.Result) map[string]conformance.Outcome {
	out := map[string]conformance.Outcome{}
	for _, c := range r.Checks {
		if c.Check.Area() == "cope" || c.Check.Area() == "contract" {
			out[c.Check.ID] = c.Outcome
		}
	}
	return out
}

func TestGrade_CleanOnCorrectClient(t *testing.T) {
	r := clientgrade.Grade(small(t), right(t), "http://127.0.0.1", asked)
	for id, o := range outcomes(r) {
		require.Contains(t, []conformance.Outcome{conformance.Pass, conformance.Skip}, o, id)
	}
	require.Equal(t, conformance.Clean, r.Verdict)
	all := outcomes(r)
	for _, contract := range clientgrade.Contracts() {
		s := small(t)
		s.Contract = contract
		maps.Copy(all, outcomes(clientgrade.Grade(s, right(t), "http://127.0.0.1", asked)))
	}
	s := small(t)
	s.Profiles = profiles.All()
	maps.Copy(all, outcomes(clientgrade.Grade(s, right(t), "http://127.0.0.1", asked)))
	require.Len(t, all, len(clientgrade.Expectations()))
}

func TestGrade_UntestedWithoutRequests(t *testing.T) {
	r := clientgrade.Grade(small(t), right(t), "http://127.0.0.1", nil)
	require.Equal(t, conformance.Untested, r.Verdict)
}

func TestGrade_DetectsEachViolation(t *testing.T) {
	user := func(change string) func(*testing.T, *clientgrade.State) {
		return func(t *testing.T, s *clientgrade.State) {
			old, replacement, _ := strings.Cut(change, "=>")
			require.Contains(t, ann, old)
			s.Users[0] = resource(t, strings.Replace(ann, old, replacement, 1))
		}
	}
	add := func(text string) func(*testing.T, *clientgrade.State) {
		return func(t *testing.T, s *clientgrade.State) { s.Users = append(s.Users, resource(t, text)) }
	}
	group := func(texts ...string) func(*testing.T, *clientgrade.State) {
		return func(t *testing.T, s *clientgrade.State) {
			s.Groups = nil
			for _, text := range texts {
				s.Groups = append(s.Groups, resource(t, text))
			}
		}
	}
	const crew = `{"id":"3","displayName":"Crew","members":[{"value":"1"}]}`
	for _, c := range []struct {
		name, check string
		state       func(*testing.T, *clientgrade.State)
		talk        talk
	}{
		{"a user is missing", "cope.users", func(_ *testing.T, s *clientgrade.State) { s.Users = s.Users[1:] }, asked},
		{"a user is still active", "cope.users", user(`"active":false=>"active":true`), asked},
		{"a leaver without active", "cope.users", user(`"active":false,=>`), asked},
		{"a wrong name", "cope.users", user(`Ode=>Old`), asked},
		{"an address is missing", "cope.users", user(`"ann@example.com"=>"b@example.com"`), asked},
		{"an attribute of an extension is missing", "cope.users", user(`"department"=>"division"`), asked},
		{"a user exists that must not", "cope.users", add(`{"id":"9","userName":"BEN"}`), asked},
		{"a group is missing", "cope.groups", group(), asked},
		{"a group has no members", "cope.groups", group(`{"id":"3","displayName":"Crew"}`), asked},
		{"a group has one more member", "cope.groups", group(`{"id":"3","displayName":"Crew","members":[{"value":"1"},{"value":"2"}]}`), asked},
		{"a group exists that must not", "cope.groups", group(crew, `{"id":"4","displayName":"Old"}`), asked},
		{"two users have one name", "cope.no-duplicates", add(`{"id":"9","userName":"ANN"}`), asked},
		{"two groups have one name", "cope.no-duplicates", group(crew, `{"id":"4","displayName":"crew"}`), asked},
		{"a test user was left", "cope.nothing-else", add(`{"id":"9","userName":"test"}`), asked},
		{"a test group was left", "cope.nothing-else", group(crew, `{"id":"4","displayName":"test"}`), asked},
		{"a foreign change was overwritten", "cope.keeps-foreign-changes", user(`"nickName":"Annie",=>`), asked},
		{"a leaver was deleted", "cope.deactivates", nil,
			asked.say("POST", "/Users", person("ann"), 201, `{"id":"1"}`).say("DELETE", "/Users/1", "", 204, "")},
		{"a lost create was repeated without a lookup", "cope.looks-after-lost-answer", nil,
			asked.say("POST", "/Users", person("ann"), 0, "").say("POST", "/Users", person("ann"), 201, `{"id":"1"}`)},
		{"a create that failed with 500 was repeated without a lookup", "cope.looks-after-lost-answer", nil,
			asked.say("POST", "/Users", person("ann"), 500, "").say("GET", "/Groups", "", 200, "").say("POST", "/Users", person("ANN"), 201,
				`{"id":"1"}`)},
		{"a conflict was ignored", "cope.links-on-conflict", nil, asked.say("POST", "/Users", person("ann"), 409, "")},
		{"a conflict was repeated", "cope.links-on-conflict", nil,
			asked.say("POST", "/Users", person("ann"), 409, "").say("POST", "/Users", person("ann"), 409, "").say("GET", "/Users", "", 200, "")},
		{"a change was dropped after 503", "cope.comes-back", nil, asked.say("PATCH", "/Users/1", "{}", 503, "")},
		{"a change was dropped after 429", "cope.comes-back", nil, asked.say("PUT", "/Users/1", "{}", 429, "")},
		{"a create was dropped after 503", "cope.comes-back", nil, asked.say("POST", "/Users", person("carl"), 503, "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			held := right(t)
			if c.state != nil {
				c.state(t, &held)
			}
			r := clientgrade.Grade(small(t), held, "http://127.0.0.1", c.talk)
			got := outcomes(r)
			require.Contains(t, []conformance.Outcome{conformance.Fail, conformance.Warn}, got[c.check], "%v", got)
			require.Equal(t, conformance.Findings, r.Verdict)
		})
	}
}

func TestGrade_NoFalsePositives(t *testing.T) {
	for name, conversation := range map[string]talk{
		"a lookup after a lost create": asked.say("POST", "/Users", person("ann"), 0, "").say("GET", "/Users?filter=a", "", 200,
			"").say("POST", "/Users", person("ann"), 201, `{"id":"1"}`),
		"a conflict that is linked": asked.say("POST", "/Users", person("ann"), 409, "").say("GET", "/Users?filter=a", "", 200,
			"").say("PATCH", "/Users/1", "{}", 200, ""),
		"a change that is retried":        asked.say("PATCH", "/Users/1", "{}", 503, "").say("PATCH", "/Users/1", "{}", 200, ""),
		"a lost create that had happened": asked.say("POST", "/Users", person("ann"), 500, "").say("GET", "/Users", "", 200, ""),
		"another user is deleted":         asked.say("POST", "/Users", person("ben"), 201, `{"id":"7"}`).say("DELETE", "/Users/7", "", 204, ""),
	} {
		for id, o := range outcomes(clientgrade.Grade(small(t), right(t), "http://127.0.0.1", conversation)) {
			require.Contains(t, []conformance.Outcome{conformance.Pass, conformance.Skip}, o, "%s: %s", name, id)
		}
	}
}

// TestParse_RejectsInvalidScenarios checks that Parse rejects scenarios with unknown, missing or contradictory members, and accepts the
// built-in ones.
func TestParse_RejectsInvalidScenarios(t *testing.T) {
	for _, s := range clientgrade.Scenarios() {
		found, ok := clientgrade.ScenarioNamed(s.Name)
		require.True(t, ok)
		require.NotEmpty(t, found.Title)
		require.NotEmpty(t, found.Do)
		text, err := yaml.Marshal(s)
		require.NoError(t, err)
		again, err := clientgrade.Parse(text)
		require.NoError(t, err, "the built-in scenarios are valid")
		require.Equal(t, s.Name, again.Name)
	}
	doc, err := os.ReadFile("../../docs/reference/conformance.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(doc), "<!-- file: scenario -->\n```yaml\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "```")
	_, err = clientgrade.Parse([]byte(example))
	require.NoError(t, err, "the example of the documentation")
	for name, text := range map[string]string{
		"nothing expected":                      `title: a`,
		"an unknown member":                     `want: {user: [{userName: a}]}`,
		"a user without name":                   `want: {users: [{attributes: {active: true}}]}`,
		"a user twice":                          `want: {users: [{userName: a}, {userName: A}]}`,
		"attributes of an absent user":          `want: {users: [{userName: a, absent: true, attributes: {active: true}}]}`,
		"a member that is not an expected user": `want: {groups: [{displayName: g, members: [a]}]}`,
		"a group without name":                  `want: {groups: [{members: []}]}`,
		"an existing user without name":         "exists: [{displayName: a}]\nwant: {users: [{userName: a}]}",
		"a change without user":                 "meddle: [{set: {title: a}}]\nwant: {users: [{userName: a}]}",
		"no YAML":                               "want: [",
		"a list in place of object":             "[]",
	} {
		_, err := clientgrade.Parse([]byte(text))
		require.Error(t, err, name)
	}
	_, ok := clientgrade.ScenarioNamed("none")
	require.False(t, ok)
}
