package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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

// traffic looks at every exchange of the run. These checks send nothing themselves.
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
	{
		ID:           "traffic.location",
		Title:        "Wherever a resource comes with a Location header, it is meta.location",
		Requirements: reqs("RFC7644-3.3-08", "RFC7643-3.1-24"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients store either of the two; when they differ one of them leads nowhere.",
		Fix:          "Compute the location once, and use it for the header and for meta.",
		Watch: func(w *watched) {
			location := value(w.Object(), "meta.location")
			if !w.OK() || location == nil {
				return
			}
			for _, header := range []string{"Location", "Content-Location"} {
				if sent := w.Header.Get(header); sent != "" {
					w.Holds(sent == location, header, "meta.location, "+asText(location), sent)
				}
			}
		},
	},
	{
		ID:           "traffic.location-of-id",
		Title:        "meta.location of a resource ends in its id",
		Requirements: reqs("RFC7643-3.1-24"),
		Level:        should,
		Fixture:      sample,
		Why:          "A location that leads to another resource makes the client change the wrong one.",
		Fix:          "Build meta.location from the base URL, the endpoint and the id of the resource itself.",
		Watch: func(w *watched) {
			if w.Collection() != "Users" && w.Collection() != "Groups" {
				return
			}
			for _, o := range w.Resources() {
				if location, id := o.Complex("meta").Text("location"), o.Text("id"); location != "" && id != "" {
					w.Holds(strings.HasSuffix(unescaped(location), "/"+id), "meta.location", "an address that ends in /"+id, location)
				}
			}
		},
	},
	{
		ID:           "traffic.location-reachable",
		Title:        "meta.location lies below the base URL that the client uses",
		Requirements: reqs("RFC7643-2.3.7-05"),
		Level:        may,
		Fixture:      sample,
		Why:          "Behind a proxy a server easily names its inner host; clients that follow the location get nowhere.",
		Fix:          "Build locations from the address the client used: configure the public base URL, or trust the proxy's headers.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				if location := o.Complex("meta").Text("location"); strings.Contains(location, "://") {
					w.Holds(strings.HasPrefix(location, w.Base+"/"), "meta.location", "an address below "+w.Base, location)
				}
			}
		},
	},
	{
		ID:           "traffic.id",
		Title:        "Every resource has an id that is a text, and never the word bulkId in it",
		Requirements: reqs("RFC7643-3.1-05", "RFC7643-3.1-11"),
		Level:        must,
		Fixture:      sample,
		Why:          "The id is all a client keeps.",
		Fix:          "Return id with every resource, whatever attributes were asked for.",
		Watch: func(w *watched) {
			if discoveries[w.Collection()] {
				return
			}
			for _, o := range w.Resources() {
				id := o.Text("id")
				w.Holds(id != "" && !strings.Contains(id, "bulkId"), "id of a resource", "a text without bulkId", value(o, "id"))
			}
		},
	},
	{
		ID:           "traffic.id-asked",
		Title:        "A request to one resource answers that resource and no other",
		Requirements: reqs("RFC7643-3.1-07"),
		Level:        must,
		Fixture:      sample,
		Why:          "A client that gets somebody else's resource changes it as its own.",
		Fix:          "Look resources up by the whole id, with regard to letter case.",
		Watch: func(w *watched) {
			collection, id, single := strings.Cut(strings.TrimPrefix(w.Request.Path, "/"), "/")
			if !single || collection != "Users" && collection != "Groups" || strings.Contains(id, "/") || id == ".search" || !w.OK() ||
				w.IsMessage() || w.Object().Text("id") == "" {
				return
			}
			w.Holds(w.Object().Text("id") == unescaped(id), "id in the answer", unescaped(id), w.Object().Text("id"))
		},
	},
	{
		ID:           "traffic.resource-type",
		Title:        "meta.resourceType of users and groups is User and Group",
		Requirements: reqs("RFC7643-3.1-20"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients tell users from groups by it, letter by letter.",
		Fix:          "Write the name of the resource type as /ResourceTypes lists it.",
		Watch: func(w *watched) {
			want := map[string]string{"Users": "User", "Groups": "Group"}[w.Collection()]
			for _, o := range w.Resources() {
				if kind, there := o.Complex("meta").Get("resourceType"); there && want != "" {
					w.Holds(kind == want, "meta.resourceType", want, kind)
				}
			}
		},
	},
	{
		ID:           "traffic.date-times",
		Title:        "meta.created and meta.lastModified are dates with times, everywhere",
		Requirements: reqs("RFC7643-2.3.5-01", "RFC7643-3.1-21"),
		Level:        must,
		Fixture:      sample,
		Why:          "Incremental imports compare them; one that cannot be read ends the import.",
		Fix:          "Format times as RFC 3339 wherever meta is written.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for _, name := range []string{"created", "lastModified"} {
					if v, there := o.Complex("meta").Get(name); there && v != nil {
						text, _ := v.(string)
						w.Holds(dateTime.MatchString(text), "meta."+name, "a date with a time, such as 2026-01-31T10:20:30Z", v)
					}
				}
			}
		},
	},
	{
		ID:           "traffic.modified-after-created",
		Title:        "No resource was modified before it was created",
		Requirements: reqs("RFC7643-3.1-22"),
		Level:        must,
		Fixture:      sample,
		Why:          "Incremental imports skip a resource whose time lies before the last import.",
		Fix:          "Take both times from one clock, and set lastModified on creation too.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				created, err1 := time.Parse(time.RFC3339, o.Complex("meta").Text("created"))
				modified, err2 := time.Parse(time.RFC3339, o.Complex("meta").Text("lastModified"))
				if err1 == nil && err2 == nil {
					w.Holds(!modified.Before(created), "meta.lastModified", "not before "+o.Complex("meta").Text("created"),
						o.Complex("meta").Text("lastModified"))
				}
			}
		},
	},
	{
		ID:           "traffic.etag-is-version",
		Title:        "Wherever a resource comes with an ETag, it is meta.version",
		Requirements: reqs("RFC7643-3.1-25"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients send back whichever they kept; when the two differ every change is refused as stale.",
		Fix:          "Compute the version once, W/ and quotes included.",
		Watch: func(w *watched) {
			version, tag := w.Object().Complex("meta").Text("version"), w.Header.Get("ETag")
			if w.OK() && version != "" && tag != "" {
				w.Holds(version == tag, "ETag", "meta.version, "+version, tag)
			}
		},
	},
	{
		ID:           "traffic.counters",
		Title:        "Every list has a totalResults that is an integer and not smaller than the page",
		Requirements: reqs("RFC7644-3.4.2-04", "RFC7644-3.4.2-05"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients loop until they have seen totalResults items.",
		Fix:          "Count all matches of the query, and write counters as JSON integers.",
		Watch: func(w *watched) {
			if !w.OK() || !slices.Contains(texts(w.Object(), "schemas"), scim.ListResponseMessage) {
				return
			}
			if has(w.Object(), "nextCursor") && !has(w.Object(), "totalResults") {
				return // RFC 9865 lets a list with cursors leave it out
			}
			items := len(w.Object().Array("Resources"))
			w.Holds(w.Total() >= items, "totalResults", "an integer of "+strconv.Itoa(items)+" or more", value(w.Object(), "totalResults"))
			if has(w.Object(), "itemsPerPage") {
				w.Holds(scim.Equal(value(w.Object(), "itemsPerPage"), jsonInt(items)), "itemsPerPage", strconv.Itoa(items),
					value(w.Object(), "itemsPerPage"))
			}
		},
	},
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
	{
		ID:           "traffic.one-primary",
		Title:        "No multi-valued attribute has two primary elements",
		Requirements: reqs("RFC7643-2.4-04"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients take the first primary address they find, and the choice changes from answer to answer.",
		Fix:          "Clear primary on the others whenever one is set.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for name, v := range o.All() {
					list, _ := v.([]any)
					primary := 0
					for _, item := range list {
						if e, ok := item.(*scim.Object); ok {
							if on, _ := e.Bool("primary"); on {
								primary++
							}
						}
					}
					if len(list) > 0 {
						w.Holds(primary < 2, "primary elements of "+name, "at most one", primary)
					}
				}
			}
		},
	},
	{
		ID:           "traffic.written-only",
		Title:        "No answer has an attribute that the schema calls writeOnly or returned never",
		Requirements: reqs("RFC7643-7-19", "RFC7643-7-21"),
		Level:        must,
		Fixture:      sample,
		Why:          "What is never to be returned is a secret.",
		Fix:          "Filter answers by the schema, in the one place where resources are written.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for name, d := range declared(w, o) {
					if d.Text("returned") == "never" || d.Text("mutability") == "writeOnly" {
						w.Holds(!has(o, name), name, "nothing", "a value")
					}
				}
			}
		},
	},
	{
		ID:           "traffic.types",
		Title:        "Every attribute has the JSON kind that its schema declares",
		Requirements: reqs("RFC7643-2.3-02", "RFC7643-2.4-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "Typed clients are generated from the schema: a text where a boolean is declared ends the parsing.",
		Fix:          "Write booleans, numbers and arrays as such; do not unwrap an array of one element.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for name, d := range declared(w, o) {
					if v, there := o.Get(name); there && v != nil {
						w.Holds(fitsKind(d, v), name, kindOf(d), v)
					}
				}
			}
		},
	},
	{
		ID:           "traffic.declared",
		Title:        "No resource has an attribute that its schemas do not declare",
		Requirements: reqs("RFC7643-3-05"),
		Level:        interop,
		Fixture:      sample,
		Why:          "Typed clients drop what the schema does not declare, and send it back without.",
		Fix:          "Declare the attribute in /Schemas, in an extension of your own if it is not of the RFC, or leave it out.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				known := declared(w, o)
				if len(known) == 0 {
					continue
				}
				for name := range o.All() {
					common := slices.ContainsFunc([]string{"schemas", "id", "externalId", "meta"}, func(c string) bool { return scim.EqualName(c, name) })
					_, ok := known[strings.ToLower(name)]
					w.Holds(ok || common || strings.HasPrefix(strings.ToLower(name), "urn:"), "member "+name, "an attribute that the schema declares",
						"one that it does not")
				}
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

// declared returns the definitions of a resource's core attributes by name in lower case, as the target's own /Schemas has
// them; none when the base schema is not known.
func declared(w *watched, o *scim.Object) map[string]*scim.Object {
	if w.Capabilities == nil || discoveries[w.Collection()] {
		return nil
	}
	known := map[string]*scim.Object{}
	for _, urn := range texts(o, "schemas") {
		if rt := w.Capabilities.ResourceType(urn); rt == nil {
			continue
		}
		for _, a := range w.Capabilities.Schema(urn).Array("attributes") {
			if d, ok := a.(*scim.Object); ok {
				known[strings.ToLower(d.Text("name"))] = d
			}
		}
	}
	return known
}

// fitsKind tells whether a value has the JSON kind of its definition.
func fitsKind(d *scim.Object, v any) bool {
	if many, _ := d.Bool("multiValued"); many {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(item any) bool { return item != nil && !isKind(d.Text("type"), item) })
	}
	return isKind(d.Text("type"), v)
}

var integerForm = regexp.MustCompile(`^-?(0|[1-9]\d*)$`)

func isKind(kind string, v any) bool {
	text := string(scim.AppendValue(nil, v))
	switch kind {
	case "", "string", "reference", "binary", "dateTime":
		_, ok := v.(string)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		return integerForm.MatchString(text)
	case "decimal":
		return text != "" && strings.ContainsAny(text[:1], "-0123456789")
	case "complex":
		_, ok := v.(*scim.Object)
		return ok
	}
	return true // a type that the suite does not know
}

func kindOf(d *scim.Object) string {
	if many, _ := d.Bool("multiValued"); many {
		return "an array of " + d.Text("type")
	}
	return d.Text("type")
}
