package observed_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/scim"
)

// talk is a sequence of exchanges, one per second. The client conforms unless a test changes an exchange.
type talk []observed.Exchange

func (c talk) say(method, path, body string, status int, answer string, change ...func(*observed.Exchange)) talk {
	path, query, _ := strings.Cut(path, "?")
	x := observed.Exchange{
		At: start.Add(time.Duration(len(c)) * time.Second), Millis: 10, Method: method, Path: path, Query: query, RequestBody: body,
		Status: status, ResponseBody: answer,
		RequestHeader:  http.Header{"Accept": {scim.MediaType}, "User-Agent": {"idp/1.0"}, "Authorization": {"Bearer [redacted]"}},
		ResponseHeader: http.Header{"Content-Type": {scim.MediaType}},
	}
	if body != "" {
		x.RequestHeader.Set("Content-Type", scim.MediaType)
	}
	for _, f := range change {
		f(&x)
	}
	return append(slices.Clone(c), x)
}

func header(name, value string) func(*observed.Exchange) {
	return func(x *observed.Exchange) {
		x.RequestHeader.Del(name)
		if value != "" {
			x.RequestHeader.Set(name, value)
		}
	}
}

func answered(name, value string) func(*observed.Exchange) {
	return func(x *observed.Exchange) { x.ResponseHeader.Set(name, value) }
}

func annIs(members string) string {
	return fmt.Sprintf(`{"schemas":[%q],"userName":"ann"%s}`, scim.UserSchema, members)
}

func stored(members string) string {
	return annIs(`,"id":"1","meta":{"resourceType":"User","version":"W/\"1\"","location":"https://example.com/scim/v2/Users/1"}` + members)
}

func listOf(items ...string) string {
	return fmt.Sprintf(`{"schemas":[%q],"totalResults":%d,"Resources":[%s]}`, scim.ListResponseMessage, len(items), strings.Join(items, ","))
}

func patchOf(operations string) string {
	return fmt.Sprintf(`{"schemas":[%q],"Operations":[%s]}`, scim.PatchOpMessage, operations)
}

func filtered(filter string) string { return "/Users?filter=" + url.QueryEscape(filter) }

func offer(features string) talk {
	return talk{}.say("GET", "/ServiceProviderConfig", "", 200, fmt.Sprintf(`{"schemas":[%q],%s}`, scim.ServiceProviderConfigSchema, features))
}

// good is the traffic of a conforming client.
var good = offer(`"patch":{"supported":true},"etag":{"supported":true},"filter":{"supported":true,"maxResults":100},`+
	`"sort":{"supported":true},"changePassword":{"supported":false},`+
	`"bulk":{"supported":true,"maxOperations":2,"maxPayloadSize":10000},"authenticationSchemes":[{"type":"oauthbearertoken","name":"a",`+
	`"description":"b"}]`).
	say("GET", filtered(`userName eq "ann"`)+"&startIndex=1&count=10", "", 200, listOf()).
	say("POST", "/Users", annIs(`,"active":true`), 201, stored(``), answered("ETag", `W/"1"`),
		answered("Location", "https://example.com/scim/v2/Users/1")).
	say("PATCH", "/Users/1", patchOf(`{"op":"replace","path":"active","value":false}`), 429, "", header("If-Match", `W/"1"`),
		answered("Retry-After", "0"), answered("Content-Type", "")).
	say("PATCH", "/Users/1", patchOf(`{"op":"replace","path":"active","value":false}`), 200, stored(``), header("If-Match", `W/"1"`),
		answered("ETag", `W/"1"`)).
	say("POST", "/Bulk", fmt.Sprintf(`{"schemas":[%q],"Operations":[{"method":"DELETE","path":"/Users/1"}]}`, scim.BulkRequestMessage), 200,
		fmt.Sprintf(`{"schemas":[%q],"Operations":[{"method":"DELETE","location":"https://example.com/scim/v2/Users/1","status":"204"}]}`,
			scim.BulkResponseMessage)).
	say("POST", "/Users/.search", fmt.Sprintf(`{"schemas":[%q],"filter":"userName pr","count":2}`, scim.SearchRequestMessage), 200, listOf()).
	say("GET", "/Users?cursor&count=2&sortBy=userName&sortOrder=ascending&attributes=userName", "", 200,
		fmt.Sprintf(`{"schemas":[%q],"totalResults":0,"nextCursor":"n1"}`, scim.ListResponseMessage)).
	say("GET", "/Users?cursor=n1&count=2&sortBy=userName&sortOrder=ascending&attributes=userName", "", 200, listOf())

func TestJudge_CleanOnCorrectTraffic(t *testing.T) {
	r := observed.Judge("https://example.com/scim/v2", good, observed.Checks(observed.Server, observed.Client))
	for _, c := range r.Checks {
		require.NotContains(t, []conformance.Outcome{conformance.Fail, conformance.Warn, conformance.Error}, c.Outcome, "%s: %+v", c.Check.ID,
			c.Findings)
	}
	require.Equal(t, conformance.Clean, r.Verdict)
}

// bad contains, for each check of clients that is not a rule of package lint, traffic that violates it.
var bad = map[string]talk{
	"client.media-type": talk{}.say("POST", "/Users", annIs(``), 201, "", header("Content-Type", "text/json")),
	"client.scim-media-type": talk{}.say("POST", "/Users", annIs(``), 201, "",
		header("Content-Type", "application/json; charset=utf-8")),
	"client.accept":                  talk{}.say("GET", "/Users", "", 200, "", header("Accept", "text/html, application/xml;q=0.9")),
	"client.user-agent":              talk{}.say("GET", "/Users", "", 200, "", header("User-Agent", "")),
	"client.body-where-none-belongs": talk{}.say("GET", "/Users", "{}", 200, ""),
	"client.credentials":             talk{}.say("GET", "/Users", "", 200, "", header("Authorization", "")),
	"client.endpoint-case":           talk{}.say("GET", "/users/1", "", 404, ""),
	"client.filter":                  talk{}.say("GET", filtered(`userName eq ann`), "", 400, ""),
	"client.filter-form":             talk{}.say("GET", filtered(`emails[type eq "work"].value eq "a"`), "", 200, ""),
	"client.projection":              talk{}.say("GET", "/Users?attributes=userName,a%20b", "", 200, ""),
	"client.one-projection":          talk{}.say("GET", "/Users?attributes=userName&excludedAttributes=emails", "", 200, ""),
	"client.paging":                  talk{}.say("GET", "/Users?startIndex=0&count=10", "", 200, ""),
	"client.sort":                    talk{}.say("GET", "/Users?sortBy=userName&sortOrder=up", "", 200, ""),
	"client.cursor": talk{}.say("GET", "/Users?count=2", "", 200, `{"nextCursor":"n1"}`).say("GET",
		"/Users?count=3&cursor=n1", "", 200, ""),
	"client.secret-in-address":    talk{}.say("GET", "/Users?access_token=%5Bredacted%5D", "", 200, ""),
	"client.lookup-before-create": talk{}.say("GET", filtered(`userName eq "ben"`), "", 200, "").say("POST", "/Users", annIs(``), 201, ""),
	"client.retry-after": talk{}.say("GET", "/Users/1", "", 429, "", answered("Retry-After", "30")).say("GET", "/Users/1", "", 200,
		""),
	"client.repeats-refused": talk{}.say("POST", "/Users", annIs(``), 409, "").say("POST", "/Users", annIs(``), 409, "").say("POST",
		"/Users", annIs(``), 409, "").say("POST", "/Users", annIs(``), 409, ""),
	"client.creates-once": talk{}.say("POST", "/Groups", fmt.Sprintf(`{"schemas":[%q],"displayName":"Crew"}`, scim.GroupSchema),
		201, "").say("POST", "/Groups", fmt.Sprintf(`{"schemas":[%q],"displayName":"crew"}`, scim.GroupSchema), 201, ""),
	"client.if-match": talk{}.say("GET", "/Users/1", "", 200, stored(``), answered("ETag", `W/"1"`)).say("PUT", "/Users/1",
		annIs(``), 200, ""),
	"client.if-match-known": talk{}.say("GET", "/Users", "", 200, listOf(stored(``))).say("DELETE", "/Users/1", "", 204, "",
		header("If-Match", "1")),
	"client.patch-supported": offer(`"patch":{"supported":false}`).say("PATCH", "/Users/1", patchOf(`{"op":"remove","path":"title"}`),
		501, ""),
	"client.filter-supported": offer(`"filter":{"supported":false}`).say("GET", filtered(`userName pr`), "", 200, ""),
	"client.sort-supported":   offer(`"sort":{"supported":false}`).say("GET", "/Users?sortBy=userName", "", 200, ""),
	"client.bulk-limits": offer(`"bulk":{"supported":true,"maxOperations":1}`).say("POST", "/Bulk", `{"Operations":[{},{}]}`, 413,
		""),
	"client.personal-filter":       talk{}.say("GET", filtered(`emails.value eq "a"`), "", 200, ""),
	"client.patch.op-case":         talk{}.say("PATCH", "/Users/1", patchOf(`{"op":"Replace","path":"title","value":"a"}`), 200, ""),
	"client.schemas.missing":       talk{}.say("PATCH", "/Users/1", `{"Operations":[{"op":"remove","path":"title"}]}`, 200, ""),
	"client.schemas.base":          talk{}.say("POST", "/Groups", annIs(``), 201, ""),
	"client.json.syntax":           talk{}.say("PUT", "/Users/1", `{"userName":`, 400, ""),
	"client.json.utf8":             talk{}.say("PUT", "/Users/1", annIs(``), 400, "", func(x *observed.Exchange) { x.BrokenRequest = true }),
	"client.resource.client-id":    talk{}.say("POST", "/Users", annIs(`,"id":"7"`), 201, ""),
	"client.resource.multi-valued": talk{}.say("POST", "/Users", annIs(`,"emails":{"value":"a@example.com"}`), 201, ""),
	"client.search.filter": talk{}.say("POST", "/Users/.search",
		fmt.Sprintf(`{"schemas":[%q],"filter":"a eq"}`, scim.SearchRequestMessage), 400, ""),
	"client.bulk.bulk-id": talk{}.say("POST", "/Bulk",
		fmt.Sprintf(`{"schemas":[%q],"Operations":[{"method":"POST","path":"/Users","data":%s}]}`, scim.BulkRequestMessage, annIs(``)), 200, ""),
}

func TestClientChecks_EachFindsViolation(t *testing.T) {
	for id, conversation := range bad {
		t.Run(id, func(t *testing.T) {
			r := observed.Judge("https://example.com/scim/v2", conversation, observed.Checks(observed.Client))
			i := slices.IndexFunc(r.Checks, func(c conformance.CheckResult) bool { return c.Check.ID == id })
			require.GreaterOrEqual(t, i, 0, id)
			require.Equal(t, r.Checks[i].Check.Level.Violation(), r.Checks[i].Outcome, "%s", r.Checks[i].Reason)
			require.NotNil(t, r.Checks[i].Findings[0].Exchange)
		})
	}
	for _, c := range observed.ClientChecks() {
		if strings.Count(c.ID, ".") == 1 {
			require.Contains(t, slices.Collect(maps.Keys(bad)), c.ID)
		}
	}
}

// TestClientChecks_NoFalsePositives checks that permitted requests pass, such as a PUT with the id or a second attempt after an error.
func TestClientChecks_NoFalsePositives(t *testing.T) {
	for id, conversation := range map[string]talk{
		"client.resource.client-id": talk{}.say("PUT", "/Users/7", annIs(`,"id":"7"`), 200, stored(``)),
		"client.repeats-refused": talk{}.say("POST", "/Users", annIs(``), 409, "").say("POST", "/Users", annIs(``), 409, "").say("POST",
			"/Users", annIs(``), 201, ""),
		"client.creates-once": talk{}.say("POST", "/Users", annIs(``), 500, "").say("POST", "/Users", annIs(``), 201, ""),
		"client.retry-after":  talk{}.say("GET", "/Users/1", "", 429, "", answered("Retry-After", "1")).say("GET", "/Users/1", "", 200, ""),
		"client.if-match": talk{}.say("GET", "/Users/1", "", 200, stored(``), answered("ETag", `W/"1"`)).say("PUT", "/Users/1",
			annIs(``), 200, "", header("If-Match", `W/"1"`)),
		"client.lookup-before-create": talk{}.say("GET", filtered(`externalId eq "e-7"`), "", 200, listOf()).
			say("POST", "/Users", annIs(`,"externalId":"e-7"`), 201, stored(``)),
	} {
		r := observed.Judge("https://example.com/scim/v2", conversation, observed.Checks(observed.Client))
		require.Equal(t, conformance.Pass, outcome(r, id), id)
	}
}
