package conformance

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// optional are the attributes of RFC 7643 that a target may leave unsupported, by omitting them from its /Schemas. The target may then
// ignore them, and reject filters and paths that name them. Attributes that are never returned and attributes that the target assigns are
// not optional: for example, no target may return password.
var optional = map[string][]string{
	"/Users": {
		"addresses", "displayName", "emails", "entitlements", "ims", "locale", "nickName", "phoneNumbers", "photos", "preferredLanguage",
		"profileUrl", "roles", "timezone", "title", "userType", "x509Certificates",
	},
	"/Groups": {"members"},
}

// undeclared returns an optional attribute that one of the requests names, but that neither the target's schema nor any response of the run
// contains. It returns "" if there is no such attribute. Findings of a check that uses such an attribute are not an error of the target.
func (s *session) undeclared(requests []Request) string {
	for _, req := range requests {
		req = withoutDefaults(req)
		collection := "/" + first(req.Path)
		urn := map[string]string{"/Users": scim.UserSchema, "/Groups": scim.GroupSchema}[collection]
		listed := s.caps.Schema(urn).Array("attributes")
		if urn == "" || len(listed) == 0 {
			continue
		}
		for _, name := range attributeWords(req) {
			i := slices.IndexFunc(optional[collection], func(o string) bool { return scim.EqualName(o, name) })
			if i < 0 || s.shown[collection+"/"+strings.ToLower(name)] {
				continue
			}
			if !slices.ContainsFunc(listed, func(a any) bool { return scim.EqualName(object(a).Text("name"), name) }) {
				return optional[collection][i]
			}
		}
	}
	return ""
}

// withoutDefaults removes from a request what [T.User] adds to every user: no check is about these values.
func withoutDefaults(req Request) Request {
	user, ok := req.Body.(Doc)
	if !ok {
		return req
	}
	user = maps.Clone(user)
	if emails, _ := user["emails"].([]Doc); len(emails) == 1 && emails[0]["value"] == user["userName"] && emails[0]["type"] == "work" {
		delete(user, "emails")
	}
	if name, _ := user["name"].(Doc); maps.Equal(name, defaultName()) {
		delete(user, "name")
	}
	if user["active"] == true {
		delete(user, "active")
	}
	req.Body = user
	return req
}

// defaultName returns the name of the users that [T.User] returns.
func defaultName() Doc { return Doc{"givenName": "Conformance", "familyName": "Check"} }

// recordShown records the attributes that the resources in a response have.
func (s *session) recordShown(req Request, res *Response) {
	if !res.OK() {
		return
	}
	collection := "/" + first(req.Path)
	for _, o := range append(res.Resources(), res.Object()) {
		for name := range o.All() {
			s.shown[collection+"/"+strings.ToLower(name)] = true
			if req.Method == http.MethodGet && !req.Query.Has("attributes") {
				s.shownByDefault[collection+"/"+strings.ToLower(name)] = true
			}
		}
	}
}

// first returns the first segment of a path.
func first(path string) string {
	segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return segment
}

var (
	memberName = regexp.MustCompile(`["'](\w+)["']\s*:`)
	patchPath  = regexp.MustCompile(`"path"\s*:\s*"((?:[^"\\]|\\.)*)"`)
	quotation  = regexp.MustCompile(`\\*"[^"]*"`)
	word       = regexp.MustCompile(`[A-Za-z]\w*`)
)

// queryParameters are the parameters with names of attributes, in queries and in SearchRequest messages.
var queryParameters = []string{"filter", "sortBy", "attributes", "excludedAttributes"}

// attributeWords returns the words of a request that may be names of attributes: members of its body, and words in paths, filters and
// attribute lists.
func attributeWords(req Request) []string {
	text, isText := req.Body.([]byte)
	if !isText && req.Body != nil {
		text, _ = json.Marshal(req.Body) // a body that cannot be marshaled was not sent
	}
	var names []string
	for _, m := range memberName.FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	if req.Method == http.MethodPatch {
		for _, m := range patchPath.FindAllSubmatch(text, -1) {
			names = append(names, word.FindAllString(quotation.ReplaceAllString(string(m[1]), ""), -1)...)
		}
	}
	for _, parameter := range queryParameters {
		names = append(names, word.FindAllString(quotation.ReplaceAllString(req.Query.Get(parameter), ""), -1)...)
		if search, ok := req.Body.(Doc); ok && strings.HasSuffix(req.Path, "/.search") {
			text, list := "", []string(nil)
			switch v := search[parameter].(type) {
			case string:
				text = v
			case []string:
				list = v
			}
			names = append(append(names, word.FindAllString(quotation.ReplaceAllString(text, ""), -1)...), list...)
		}
	}
	return names
}
