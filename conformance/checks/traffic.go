package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// watched is an exchange that the checks of this area inspect.
type watched = conformance.ObservedExchange

// samplePassword is the password that the fixture sample sends in POST and PUT. The suite uses the password for nothing else.
const samplePassword = "scimconf-Tr4ffic-Passw0rd"

// sample is a fixture that sends one request of each kind, so that the checks of this area have exchanges to inspect when they run alone.
var sample = &conformance.Fixture{
	Name:     "traffic",
	Requests: 17,
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		body := t.User("ada", doc{"password": samplePassword, "displayName": "Zoë Traffic"})
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
		errorResponses(ctx, t)
		t.Post(ctx, "/Users", body)
		t.Post(ctx, "/Users", t.User("nameless", doc{"userName": omit}))
		t.Call(ctx, conformance.Request{Method: "PUT", Path: "/Users", Body: t.User("misplaced", nil)})
		t.Get(ctx, "/ScimconfNoSuchEndpoint")
		t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: wrongToken})
		if t.Capabilities.Groups {
			g := t.CreateGroup(ctx, "crew", doc{"members": []doc{{"value": u.ID}}})
			t.Get(ctx, g.Path())
			t.Delete(ctx, g.Path())
		}
		return map[string]*conformance.Created{"ada": u}
	},
}

// traffic are the checks of messages and errors in every exchange of the run. The checks of this area send no requests.
var traffic = []check{
	{
		ID:           "traffic.no-server-errors",
		Title:        "No request of the run returns a 5xx status, except 501, and 503 with Retry-After",
		Requirements: reqs("RFC7644-3.12-07", "RFC7644-3.12-14"),
		Level:        should,
		Fixture:      sample,
		Why:          "After a 500, clients retry indefinitely, and the 500 hides the error that the client must correct.",
		Fix: "Find the exception in the server's log; return 4xx for errors of the client, 501 for unsupported operations, and 503 with " +
			"Retry-After if the server is overloaded.",
		Watch: func(w *watched) {
			busy := w.Status == 503 && w.Header.Get("Retry-After") != ""
			w.Holds(w.Status < 500 || w.Status == 501 || busy, "status", "a status below 500, 501, or 503 with Retry-After", w.Status)
		},
	},
	{
		ID:           "traffic.media-type",
		Title:        "Every successful response with a body has the type application/scim+json or application/json",
		Requirements: reqs("RFC7644-3.1-01", "RFC7644-3.8-06"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients choose the parser by the media type; they cannot process a login page in HTML that has the status 200.",
		Fix:          "Set Content-Type: application/scim+json on every response, in one place.",
		Watch: func(w *watched) {
			// The response to OPTIONS is not a SCIM message.
			if w.OK() && len(w.Body) > 0 && !w.Bodyless() && w.Request.Method != http.MethodOptions {
				w.Holds(isJSON(w.MediaType()), "Content-Type", scim.MediaType, w.Header.Get("Content-Type"))
			}
		},
	},
	{
		ID:           "traffic.scim-media-type",
		Title:        "A response to a request that accepts only application/scim+json has this type",
		Requirements: reqs("RFC7644-3.8-06", "RFC7644-3.1-01"),
		Level:        may,
		Fixture:      sample,
		Why: "Many clients accept application/json too, so a deviation is only information. A strict client rejects the response, and may " +
			"work with some endpoints only if their types differ.",
		Fix: "Set Content-Type: application/scim+json on every response, lists and errors included.",
		Watch: func(w *watched) {
			accept := w.Request.Header.Get("Accept")
			if len(w.Body) > 0 && !w.Bodyless() && isJSON(w.MediaType()) && (accept == "" || accept == scim.MediaType) {
				w.Holds(w.MediaType() == scim.MediaType, "Content-Type", scim.MediaType, w.Header.Get("Content-Type"))
			}
		},
	},
	{
		ID:           "traffic.error-media-type",
		Title:        "Every error with a body has the type application/scim+json or application/json",
		Requirements: reqs("RFC7644-3.12-26"),
		Level:        should,
		Fixture:      sample,
		Why:          "A client that checks the media type first does not read scimType and detail.",
		Fix:          "Send Content-Type: application/scim+json with every error, including the errors of middleware and router.",
		Watch: func(w *watched) {
			if w.Status >= 400 && len(w.Body) > 0 && !w.Bodyless() {
				w.Holds(isJSON(w.MediaType()), "Content-Type", scim.MediaType, w.Header.Get("Content-Type"))
			}
		},
	},
	{
		ID:           "traffic.json",
		Title:        "Every body with a JSON media type is one JSON object in valid UTF-8, and its Content-Type names no other charset",
		Requirements: reqs("RFC7644-3.8-01", "RFC7644-3.8-02"),
		Level:        must,
		Fixture:      sample,
		Why: "Strict parsers fail on a byte that is not UTF-8, on a byte order mark, and on a second value after the first. A client that " +
			"obeys another charset misreads every character beyond ASCII.",
		Fix: "Encode responses with a JSON library, as UTF-8 without a byte order mark; convert strings from other encodings when they " +
			"are read. Omit the parameter charset of Content-Type, or set it to utf-8. Return only JSON " +
			"objects: reject requests with another value, such as an array, as the body.",
		Watch: func(w *watched) {
			// The response to OPTIONS is not a SCIM message.
			if len(w.Body) == 0 || w.Bodyless() || !isJSON(w.MediaType()) || w.Request.Method == http.MethodOptions {
				return
			}
			_, parameters, _ := mime.ParseMediaType(w.Header.Get("Content-Type"))
			charset := parameters["charset"]
			w.Holds(charset == "" || strings.EqualFold(charset, "utf-8") || inASCII(w.Body) && extendsASCII(charset), "charset of Content-Type",
				"utf-8, or absent", charset)
			if w.Holds(utf8.Valid(w.Body), "encoding", "UTF-8", "bytes that are not UTF-8") &&
				w.Holds(!bytes.HasPrefix(w.Body, []byte("\uFEFF")), "beginning of the body", "no byte order mark", "U+FEFF") {
				// A body that package scim rejects may still be valid JSON: duplicate names, half a surrogate pair, deep nesting.
				var object map[string]json.RawMessage
				w.Holds(w.Object() != nil || json.Unmarshal(w.Body, &object) == nil && object != nil, "body", "a JSON object", string(w.Body))
			}
		},
	},
	{
		ID:           "traffic.schemas",
		Title:        "Every resource and message has schemas",
		Requirements: reqs("RFC7643-3-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "The schemas identify the type of an object; typed clients reject an object without schemas.",
		Fix:          "Include schemas in every resource, list and error.",
		Watch: func(w *watched) {
			if !w.OK() || w.Object() == nil || w.Request.Method == http.MethodDelete || repeatsAbsentSchemas(w) {
				return
			}
			if !w.Projected() {
				w.Holds(len(texts(w.Object(), "schemas")) > 0, "schemas", "at least one URN", value(w.Object(), "schemas"))
			}
			if discoveries[w.Collection()] || w.Projected() {
				return // the items need no schemas: in RFC 7643, the examples of schema documents have none
			}
			for _, o := range w.Response.Resources() {
				if createdWithoutSchemas(o) {
					continue
				}
				w.Holds(len(texts(o, "schemas")) > 0, "schemas of an item", "at least one URN", value(o, "schemas"))
			}
		},
	},
	{
		ID:           "traffic.extensions-named",
		Title:        "A resource with extension data has the URN of the extension in schemas",
		Requirements: reqs("RFC7643-3-06"),
		Level:        must,
		Fixture:      sample,
		Why:          "A client that relies on schemas does not read the extension data.",
		Fix: "Add the URN of every extension with data to schemas, for example urn:ietf:params:scim:schemas:extension:enterprise:2.0:User " +
			"if the user has a department.",
		Watch: func(w *watched) {
			if w.Projected() || discoveries[w.Collection()] {
				return
			}
			for _, o := range w.Resources() {
				for name, v := range o.All() {
					extension, isObject := v.(*scim.Object)
					if isObject && extension.Len() > 0 && knownExtension(w, name) {
						named := slices.ContainsFunc(texts(o, "schemas"), func(s string) bool { return scim.EqualName(s, name) })
						w.Holds(named, "schemas of a resource with extension data", name, value(o, "schemas"))
					}
				}
			}
		},
	},
	{
		ID:           "traffic.no-password",
		Title:        "No response has the attribute password",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7643-7-21"),
		Level:        must,
		Fixture:      sample,
		Why:          "Every client and every reader of a log that gets the response can use the password, or crack its hash offline.",
		Fix:          "Omit password from every resource in every response, as returned \"never\" requires.",
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
		Title:        "No response contains a password or a token from a request",
		Requirements: reqs("RFC7643-4.1.1-13"),
		Level:        must,
		Fixture:      sample,
		Why:          "Proxies and clients write responses to their logs, which are not protected as secrets.",
		Fix: "Never copy a password or a token of a request into a response: omit password from resources and from the results of bulk " +
			"requests, and write the name of an attribute into an error, not its value.",
		Watch: func(w *watched) {
			w.Holds(w.Leaks(string(w.Body)) == "", "body", "no secret of the run", "a password or token that was sent")
			for name, values := range byName(w.Header) {
				w.Holds(w.Leaks(strings.Join(values, " ")) == "", "header "+name, "no secret of the run", "a password or token that was sent")
			}
		},
	},
	{
		ID:           "traffic.no-internals",
		Title:        "No error contains stack traces, SQL or names of source files",
		Requirements: reqs("RFC7644-3.12-04"),
		Level:        interop,
		Fixture:      sample,
		Why:          "An attacker learns from such details which database, libraries and paths the server uses.",
		Fix:          "Return a short message to the client, and write the complete message to the log of the server.",
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
		Why:          "Clients need the message schema to find scimType and detail.",
		Fix:          "Use one function to write all errors, with schemas [urn:ietf:params:scim:api:messages:2.0:Error].",
		Watch: func(w *watched) {
			// A proxy in front of the server may send the 401, or the response for an unknown path. Other checks inspect these responses.
			known := w.Collection() == "Users" || w.Collection() == "Groups" || discoveries[w.Collection()]
			if w.Status >= 400 && w.Status != 401 && known && w.Object() != nil {
				w.Holds(isError(w.Object()), "schemas", scim.ErrorMessage, value(w.Object(), "schemas"))
			}
		},
	},
	{
		ID:           "traffic.error-body",
		Title:        "Every error has a body",
		Requirements: reqs("RFC7644-3.12-01"),
		Level:        must,
		Fixture:      sample,
		Why: "From an empty body, a client learns neither scimType nor detail: it can show the administrator only the status code, and " +
			"typed clients report a parse error instead.",
		Fix: "Write an Error message in every error response, including those of middleware and of the router for unsupported methods.",
		Watch: func(w *watched) {
			known := w.Collection() == "Users" || w.Collection() == "Groups" || discoveries[w.Collection()]
			if w.Status >= 400 && known && !w.Bodyless() && !slices.Contains(fromProxies, w.Status) && w.Request.Method != http.MethodOptions {
				w.Holds(len(w.Body) > 0, "body", "an Error message", string(w.Body))
			}
		},
	},
	{
		ID:           "traffic.error-status",
		Title:        "Every Error has the HTTP status as a JSON string",
		Requirements: reqs("RFC7644-3.12-02"),
		Level:        must,
		Fixture:      sample,
		Why:          "Typed clients declare status as a string: they fail to parse a number, and report the wrong error if the statuses differ.",
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
		Title:        "scimType is a keyword of RFC 7644 or RFC 9865 that fits the HTTP status of the response",
		Requirements: reqs("RFC7644-3.12-03", "RFC7644-3.12-17"),
		Level:        should,
		Fixture:      sample,
		Why:          "After 409 with uniqueness, clients link the existing account; after another status with uniqueness, they report an error.",
		Fix: "Use a keyword of RFC 7644 table 9, with these statuses: 409 with uniqueness if a value is already used, 403 with sensitive " +
			"if the URL contains personal data, and 400 with every other keyword.",
		Watch: func(w *watched) {
			kind := w.ScimType()
			if w.Status < 400 || kind == "" {
				return
			}
			w.Holds(slices.Contains(keywords[kind], w.Status), "scimType", "a keyword for status "+strconv.Itoa(w.Status), kind)
		},
	},
	{
		ID:           "traffic.no-error-in-success",
		Title:        "No successful response contains an Error",
		Requirements: reqs("RFC7644-3.12-02", "RFC7644-3.12-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "If a response with a status of success contains an Error message, clients that check only the status miss the failure.",
		Fix:          "Set the HTTP status of an error in the function that writes its body.",
		Watch: func(w *watched) {
			if w.OK() && w.Object() != nil {
				w.Holds(!isError(w.Object()), "body", "a resource or a list", "an Error message")
			}
		},
	},
	{
		ID:           "traffic.no-resource-in-error",
		Title:        "No error contains a resource",
		Requirements: reqs("RFC7644-3.12-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "A client whose request is rejected could read data that it has no rights to.",
		Fix:          "Authorize a request before building its response.",
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
		Requirements: reqs("RFC9110-8.6-01", "RFC7644-3.6-04"),
		Level:        should,
		Fixture:      sample,
		Why: "HTTP forbids Content-Length in a 204, and strict clients and proxies reject such a response. On a persistent connection, they " +
			"read the bytes of a body as the next response.",
		Fix: "Write no body and no Content-Length with 204, not even Content-Length: 0.",
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
		Why:          "HTTP requires the header in every 401; without it, some libraries do not retry with credentials.",
		Fix:          "Send WWW-Authenticate: Bearer with every 401, including those of a proxy, of middleware and of the router.",
		Watch: func(w *watched) {
			if w.Status == 401 {
				w.Holds(w.Header.Get("WWW-Authenticate") != "", "WWW-Authenticate", "at least one scheme", "nothing")
			}
		},
	},
	{
		ID:           "traffic.allow",
		Title:        "Every 405 has an Allow header",
		Requirements: reqs("RFC9110-15.5.6-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "Without Allow, clients cannot determine which methods the path supports: they repeat the request, or stop.",
		Fix:          "Send Allow with every 405, and list the supported methods of the path: Allow: GET, POST.",
		Watch: func(w *watched) {
			if w.Status == 405 {
				_, there := w.Header["Allow"]
				w.Holds(there, "Allow", "the methods of the path", "nothing")
			}
		},
	},
	{
		ID:           "traffic.no-redirects",
		Title:        "No request under the base URL is redirected",
		Requirements: reqs("RFC7644-3.12-10"),
		Level:        interop,
		Fixture:      sample,
		Why:          "Provisioning clients do not follow redirects of POST, PUT and PATCH, or turn them into GET.",
		Fix: "Return the result instead of 3xx on every path below the base URL, with and without a trailing slash. " +
			"Give clients a base URL that starts with https, so that no request needs a redirect from http.",
		Watch: func(w *watched) {
			redirect := w.Status >= 300 && w.Status < 400 && w.Status != 304 && w.Collection() != "Me"
			w.Holds(!redirect, "status", "a status other than 3xx", strconv.Itoa(w.Status)+" to "+w.Header.Get("Location"))
		},
	},
	{
		ID:           "traffic.caching",
		Title:        "No response with users or groups can be stored by shared caches",
		Requirements: reqs("RFC7644-7.3-01"),
		Level:        interop,
		Fixture:      sample,
		Why:          "A shared cache could return the data of users to other clients, and outdated resources to the same client.",
		Fix:          "Send Cache-Control: no-store or Cache-Control: private, or omit the header; never send public or s-maxage.",
		Watch: func(w *watched) {
			if w.OK() && len(w.Resources()) > 0 && !discoveries[w.Collection()] {
				control := strings.ToLower(strings.Join(w.Header.Values("Cache-Control"), ","))
				w.Holds(!strings.Contains(control, "public") && !strings.Contains(control, "s-maxage"), "Cache-Control",
					"neither public nor s-maxage", control)
			}
		},
	},
}

// fromProxies are the statuses of errors that a proxy or an HTTP library often sends before the server processes the request.
var fromProxies = []int{401, 408, 411, 413, 414, 417, 421, 429, 431, 494, 502, 503, 504}

// discoveries are the collections whose resources describe the target.
var discoveries = map[string]bool{"Schemas": true, "ResourceTypes": true, "ServiceProviderConfig": true, "ServiceProviderConfigs": true}

// keywords are the registered values of scimType (RFC 7644 table 9, RFC 9865), each with the statuses that the suite accepts. RFC 7644
// defines only 400 with all of them, 409 with uniqueness (section 3.3) and 403 with sensitive (section 7.5.2).
var keywords = map[string][]int{
	"invalidFilter": {400, 403}, "tooMany": {400}, "uniqueness": {400, 409}, "mutability": {400, 409}, "invalidSyntax": {400, 413, 415},
	"invalidPath": {400, 404},
	"noTarget":    {400}, "invalidValue": {400, 413}, "invalidVers": {400, 404}, "sensitive": {400, 403}, "invalidCursor": {400},
	"expiredCursor": {400}, "invalidCount": {400},
}

// knownExtension reports whether a member of a resource is the data of an extension: of one that /Schemas declares, or of the enterprise
// extension. A member with another URN is none, such as the part of a URN before a dot that a target has taken for the name of a member.
func knownExtension(w *watched, member string) bool {
	declared := w.Capabilities != nil && strings.HasPrefix(strings.ToLower(member), "urn:") && w.Capabilities.Schema(member) != nil
	return declared || scim.EqualName(member, scim.EnterpriseUserSchema)
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

// unescaped removes percent-encoding, which ids can contain. It returns s unchanged if the encoding is invalid.
func unescaped(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// withoutSchemas is the label of the users that checks create without schemas. These checks report a target that returns them without
// schemas.
const withoutSchemas = "without-schemas"

// createdWithoutSchemas reports whether a resource is one of the users that checks create without schemas.
func createdWithoutSchemas(o *scim.Object) bool {
	return strings.Contains(o.Text("userName"), withoutSchemas+"@")
}

// repeatsAbsentSchemas reports whether the target returns a resource without schemas because the client has sent it without schemas.
func repeatsAbsentSchemas(w *watched) bool {
	if createdWithoutSchemas(w.Object()) {
		return true
	}
	if w.Collection() != "Users" && w.Collection() != "Groups" {
		return false
	}
	var there bool
	switch body := w.Request.Body.(type) {
	case doc:
		_, there = body["schemas"]
	case *scim.Object:
		_, there = body.Get("schemas")
	default:
		return false
	}
	return !there
}

// inASCII reports whether a body consists of ASCII characters.
func inASCII(body []byte) bool {
	return !slices.ContainsFunc(body, func(b byte) bool { return b >= utf8.RuneSelf })
}

// extendsASCII reports whether a body that consists of ASCII characters has the same meaning in a charset and in UTF-8. Containers add such
// a charset to the responses of middleware.
func extendsASCII(charset string) bool {
	return slices.Contains([]string{"us-ascii", "iso-8859-1", "windows-1252"}, strings.ToLower(charset))
}
