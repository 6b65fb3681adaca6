package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// watched is an exchange as a check of this area sees it.
type watched = conformance.ObservedExchange

// samplePassword occurs nowhere but in the requests that set it.
const samplePassword = "scimconf-Tr4ffic-Passw0rd"

// sample is a little of everything, so that the checks of this area have something to look at when they run alone.
var sample = &conformance.Fixture{
	Name:     "traffic",
	Requests: 17,
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		body := t.User("ada", doc{"password": samplePassword, "displayName": "Ada Traffic"})
		if t.Capabilities.Extended() {
			body["schemas"] = []string{scim.UserSchema, scim.EnterpriseUserSchema}
			body[scim.EnterpriseUserSchema] = doc{"department": "Traffic"}
		}
		u := t.Create(ctx, "/Users", body)
		t.Get(ctx, u.Path())
		body["displayName"] = "Ada Changed"
		t.Put(ctx, u.Path(), body)
		t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "displayName", "value": "Ada Patched"})
		t.Get(ctx, "/Users", "count", "2")
		t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("ada")))
		mistakes(ctx, t)
		t.Post(ctx, "/Users", body)
		t.Post(ctx, "/Users", t.User("nameless", doc{"userName": omit}))
		t.Call(ctx, conformance.Request{Method: "PUT", Path: "/Users", Body: t.User("misplaced", nil)})
		t.Get(ctx, "/ScimconfNoSuchEndpoint")
		t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.OtherCredentials("Bearer scimconf-wrong-token")})
		if t.Capabilities.Groups {
			g := t.CreateGroup(ctx, "crew", doc{"members": []doc{{"value": u.ID}}})
			t.Get(ctx, g.Path())
			t.Delete(ctx, g.Path())
		}
		return map[string]*conformance.Created{"ada": u}
	},
}

// traffic are the checks of messages and errors, in every exchange of the run. All checks of this area send nothing.
var traffic = []check{
	{
		ID:           "traffic.no-server-errors",
		Title:        "No request of the whole run is answered with a server error",
		Requirements: reqs("RFC7644-3.12-07", "RFC7644-3.12-14"),
		Level:        should,
		Fixture:      sample,
		Why:          "A 500 tells the client to try again for ever, and hides the mistake that it should correct.",
		Fix:          "Find the exception in the server's log; answer mistakes of the client with 4xx and unsupported operations with 501.",
		Watch: func(w *watched) {
			busy := w.Status == 503 && w.Header.Get("Retry-After") != ""
			w.Holds(w.Status < 500 || w.Status == 501 || busy, "status", "no server error", w.Status)
		},
	},
	{
		ID:           "traffic.media-type",
		Title:        "Every successful answer with a body is typed application/scim+json, or application/json",
		Requirements: reqs("RFC7644-3.1-01", "RFC7644-3.8-06"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients choose the parser by the type; an HTML page with status 200 is a login page, not a resource.",
		Fix:          "Set Content-Type: application/scim+json on every answer, in one place.",
		Watch: func(w *watched) {
			if w.OK() && len(w.Body) > 0 && !w.Bodyless() {
				w.Holds(isJSON(w.MediaType()), "Content-Type", scim.MediaType, w.Header.Get("Content-Type"))
			}
		},
	},
	{
		ID:           "traffic.error-media-type",
		Title:        "Every error with a body is typed application/scim+json, or application/json",
		Requirements: reqs("RFC7644-3.12-26"),
		Level:        should,
		Fixture:      sample,
		Why:          "A client that reads the type first never finds the scimType and the detail.",
		Fix:          "Let one function write all errors, those of middleware and router included.",
		Watch: func(w *watched) {
			if w.Status >= 400 && len(w.Body) > 0 && !w.Bodyless() {
				w.Holds(isJSON(w.MediaType()), "Content-Type", scim.MediaType, w.Header.Get("Content-Type"))
			}
		},
	},
	{
		ID:           "traffic.json",
		Title:        "Every body that is typed as JSON is one JSON object in valid UTF-8",
		Requirements: reqs("RFC7644-3.8-01", "RFC7644-3.8-02"),
		Level:        must,
		Fixture:      sample,
		Why:          "One byte that is not UTF-8, a byte order mark or a second value after the first stops strict parsers.",
		Fix: "Encode answers with a JSON library, as UTF-8 without a byte order mark; repair texts from other encodings when they " +
			"are read.",
		Watch: func(w *watched) {
			// What OPTIONS answers is none of SCIM's messages.
			if len(w.Body) == 0 || w.Bodyless() || !isJSON(w.MediaType()) || w.Request.Method == http.MethodOptions {
				return
			}
			if w.Holds(utf8.Valid(w.Body), "encoding", "UTF-8", "bytes that are not UTF-8") &&
				w.Holds(!bytes.HasPrefix(w.Body, []byte("\uFEFF")), "beginning of the body", "no byte order mark", "U+FEFF") {
				// What this suite refuses to read may be JSON all the same: a name twice, half a surrogate pair, deep nesting.
				var object map[string]json.RawMessage
				w.Holds(w.Object() != nil || json.Unmarshal(w.Body, &object) == nil && object != nil, "body", "a JSON object", string(w.Body))
			}
		},
	},
	{
		ID:           "traffic.schemas",
		Title:        "Every resource and message names its schemas",
		Requirements: reqs("RFC7643-3-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "The schemas say what the object is; typed clients refuse one without.",
		Fix:          "Write schemas into every resource, list and error.",
		Watch: func(w *watched) {
			if !w.OK() || w.Object() == nil {
				return
			}
			if !w.Projected() {
				w.Holds(len(texts(w.Object(), "schemas")) > 0, "schemas", "at least one URN", value(w.Object(), "schemas"))
			}
			if discoveries[w.Collection()] || w.Projected() {
				return // the RFC's own examples of schemas leave them out
			}
			for _, o := range w.Response.Resources() {
				w.Holds(len(texts(o, "schemas")) > 0, "schemas of an item", "at least one URN", value(o, "schemas"))
			}
		},
	},
	{
		ID:           "traffic.extensions-named",
		Title:        "A resource with data of an extension names the extension in schemas",
		Requirements: reqs("RFC7643-3-06"),
		Level:        must,
		Fixture:      sample,
		Why:          "A client that trusts schemas does not look for the data.",
		Fix:          "Add the URN of every extension that has data.",
		Watch: func(w *watched) {
			if w.Projected() || discoveries[w.Collection()] {
				return
			}
			for _, o := range w.Resources() {
				for name, v := range o.All() {
					extension, isObject := v.(*scim.Object)
					if isObject && extension.Len() > 0 && strings.HasPrefix(strings.ToLower(name), "urn:") {
						named := slices.ContainsFunc(texts(o, "schemas"), func(s string) bool { return scim.EqualName(s, name) })
						w.Holds(named, "schemas, beside data of an extension", name, value(o, "schemas"))
					}
				}
			}
		},
	},
	{
		ID:           "traffic.no-password",
		Title:        "No answer has an attribute password",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7643-7-21"),
		Level:        must,
		Fixture:      sample,
		Why:          "A hash is as good as a password to those who can try many.",
		Fix:          "Treat password as returned never: leave it out wherever a resource is written.",
		Watch: func(w *watched) {
			if w.Collection() == "Schemas" {
				return
			}
			for _, o := range w.Resources() {
				v, there := o.Get("password")
				w.Holds(!there || v == nil, "password", "nothing", "a value")
			}
		},
	},
	{
		ID:           "traffic.no-secrets",
		Title:        "No answer repeats a password or a token that was sent",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7644-7.3-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "Answers end up in logs of proxies and clients, where nobody expects secrets.",
		Fix:          "Name the attribute in an error, never its value; never echo the request.",
		Watch: func(w *watched) {
			w.Holds(w.Leaks(string(w.Body)) == "", "body", "no secret of the run", "a password or token that was sent")
			for name, values := range w.Header {
				w.Holds(w.Leaks(strings.Join(values, " ")) == "", "header "+name, "no secret of the run", "a password or token that was sent")
			}
		},
	},
	{
		ID:           "traffic.no-internals",
		Title:        "No error shows stack traces, SQL or source files",
		Requirements: reqs("RFC7644-3.12-04"),
		Level:        interop,
		Fixture:      sample,
		Why:          "They tell an attacker what to try next.",
		Fix:          "Write two texts: a short one for the client, the whole one for the log.",
		Watch: func(w *watched) {
			if w.Status >= 400 && len(w.Body) > 0 {
				w.Holds(!leak.Match(w.Body), "body", "no internals", leak.FindString(string(w.Body)))
			}
		},
	},
	{
		ID:           "traffic.error-schemas",
		Title:        "Every JSON body of an error is an Error message",
		Requirements: reqs("RFC7644-3.12-01", "RFC7644-8.2-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients find scimType and detail by the schema of the message.",
		Fix:          "Let one function write all errors, with schemas [urn:ietf:params:scim:api:messages:2.0:Error].",
		Watch: func(w *watched) {
			// What answers 401 and unknown paths may stand in front of the server; other checks ask them.
			known := w.Collection() == "Users" || w.Collection() == "Groups" || discoveries[w.Collection()]
			if w.Status >= 400 && w.Status != 401 && known && w.Object() != nil {
				w.Holds(isError(w.Object()), "schemas", scim.ErrorMessage, value(w.Object(), "schemas"))
			}
		},
	},
	{
		ID:           "traffic.error-status",
		Title:        "Every Error repeats the HTTP status as a JSON text",
		Requirements: reqs("RFC7644-3.12-02"),
		Level:        must,
		Fixture:      sample,
		Why:          "Typed clients declare status as a text; a number, or another status, hides the real error.",
		Fix:          "Write \"status\":\"404\" from the same variable as the HTTP status.",
		Watch: func(w *watched) {
			if isError(w.Object()) {
				status, isText := value(w.Object(), "status").(string)
				w.Holds(isText && status == strconv.Itoa(w.Status), "status in the body", strconv.Quote(strconv.Itoa(w.Status)),
					value(w.Object(), "status"))
			}
		},
	},
	{
		ID:           "traffic.scim-type",
		Title:        "scimType is a registered keyword and stands only beside its status",
		Requirements: reqs("RFC7644-3.12-03", "RFC7644-3.12-17"),
		Level:        should,
		Fixture:      sample,
		Why:          "Clients switch on the pair: uniqueness beside 404 means nothing to them.",
		Fix:          "Use the keywords of RFC 7644 table 9: all beside 400, uniqueness and mutability also beside 409, sensitive beside 403.",
		Watch: func(w *watched) {
			kind := w.ScimType()
			if w.Status < 400 || kind == "" {
				return
			}
			w.Holds(slices.Contains(keywords[kind], w.Status), "scimType", "a keyword that belongs to "+strconv.Itoa(w.Status), kind)
		},
	},
	{
		ID:           "traffic.no-error-in-success",
		Title:        "No successful answer carries an Error",
		Requirements: reqs("RFC7644-3.12-02", "RFC7644-3.12-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients look at the status alone and take the failure for a success.",
		Fix:          "Set the HTTP status of an error where its body is written.",
		Watch: func(w *watched) {
			if w.OK() && w.Object() != nil {
				w.Holds(!isError(w.Object()), "body", "a resource or a list", "an Error message")
			}
		},
	},
	{
		ID:           "traffic.no-resource-in-error",
		Title:        "No error carries a resource",
		Requirements: reqs("RFC7644-3.12-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "A refused request that shows the data all the same has refused nothing.",
		Fix:          "Decide whether a request is allowed before its answer is built.",
		Watch: func(w *watched) {
			if w.Status >= 400 && w.Object() != nil {
				shown := w.Object().Text("userName") != "" || len(w.Response.Resources()) > 0
				w.Holds(!shown, "body", "an Error message", string(w.Body))
			}
		},
	},
}

// trafficHeaders are the checks of header fields.
var trafficHeaders = []check{
	{
		ID:           "traffic.no-content",
		Title:        "A 204 has neither a body nor a Content-Length",
		Requirements: reqs("RFC7644-3.6-04"),
		Level:        should,
		Fixture:      sample,
		Why:          "What follows a 204 on a kept connection is read as the next answer.",
		Fix:          "Write no body and no Content-Length with 204.",
		Watch: func(w *watched) {
			if w.Status == 204 {
				w.Holds(len(w.Body) == 0, "body of a 204", "nothing", string(w.Body))
				w.Holds(w.Header.Get("Content-Length") == "", "Content-Length of a 204", "none", w.Header.Get("Content-Length"))
			}
		},
	},
	{
		ID:           "traffic.challenge",
		Title:        "Every 401 has a WWW-Authenticate header",
		Requirements: reqs("RFC7644-2-02", "RFC6750-3-01"),
		Level:        must,
		Fixture:      sample,
		Needs:        needs(conformance.NeedCredentials),
		Why:          "HTTP wants it on every 401; libraries that answer a challenge never try again without.",
		Fix:          "Send WWW-Authenticate: Bearer with every 401, whichever layer answers it.",
		Watch: func(w *watched) {
			if w.Status == 401 {
				w.Holds(w.Header.Get("WWW-Authenticate") != "", "WWW-Authenticate", "at least one scheme", "nothing")
			}
		},
	},
	{
		ID:           "traffic.allow",
		Title:        "Every 405 says in Allow what is allowed",
		Requirements: reqs("RFC9110-15.5.6-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "It is the only way to learn what a path can do.",
		Fix:          "Send Allow with the methods of the path.",
		Watch: func(w *watched) {
			if w.Status == 405 {
				_, there := w.Header["Allow"]
				w.Holds(there, "Allow", "the methods of the path", "nothing")
			}
		},
	},
	{
		ID:           "traffic.no-redirects",
		Title:        "No request below the base URL is redirected",
		Requirements: reqs("RFC7644-3.12-10"),
		Level:        interop,
		Fixture:      sample,
		Why:          "Provisioning clients do not follow redirects of POST, PUT and PATCH, or turn them into GET.",
		Fix:          "Serve every path itself, with and without a final slash; redirect from http to https outside the base URL only.",
		Watch: func(w *watched) {
			redirect := w.Status >= 300 && w.Status < 400 && w.Status != 304 && w.Collection() != "Me"
			w.Holds(!redirect, "status", "an answer", strconv.Itoa(w.Status)+" to "+w.Header.Get("Location"))
		},
	},
	{
		ID:           "traffic.caching",
		Title:        "No answer with people in it may be stored by shared caches",
		Requirements: reqs("RFC7644-7.3-01"),
		Level:        interop,
		Fixture:      sample,
		Why:          "A proxy would hand out people's data to whoever asks next, and old states to the client.",
		Fix:          "Send Cache-Control: no-store or private, or nothing, never public or s-maxage.",
		Watch: func(w *watched) {
			if w.OK() && len(w.Resources()) > 0 && !discoveries[w.Collection()] {
				control := strings.ToLower(strings.Join(w.Header.Values("Cache-Control"), ","))
				w.Holds(!strings.Contains(control, "public") && !strings.Contains(control, "s-maxage"), "Cache-Control",
					"nothing that lets shared caches store it", control)
			}
		},
	},
}

// discoveries are the collections whose resources describe the target.
var discoveries = map[string]bool{"Schemas": true, "ResourceTypes": true, "ServiceProviderConfig": true, "ServiceProviderConfigs": true}

// keywords are the registered values of scimType with the statuses that fit (RFC 7644 table 9, RFC 9865).
var keywords = map[string][]int{
	"invalidFilter": {400, 403}, "tooMany": {400}, "uniqueness": {400, 409}, "mutability": {400, 409}, "invalidSyntax": {400, 413, 415},
	"invalidPath": {400, 404},
	"noTarget":    {400}, "invalidValue": {400, 413}, "invalidVers": {400, 404}, "sensitive": {400, 403}, "invalidCursor": {400},
	"expiredCursor": {400}, "invalidCount": {400},
}

func isJSON(media string) bool { return media == scim.MediaType || media == "application/json" }

func isError(o *scim.Object) bool { return slices.Contains(texts(o, "schemas"), scim.ErrorMessage) }

func asText(v any) string {
	s, _ := v.(string)
	return s
}

func jsonInt(n int) any {
	v, err := scim.Value(n)
	if err != nil {
		return nil
	}
	return v
}

// unescaped undoes percent-encoding as far as ids need it.
func unescaped(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
