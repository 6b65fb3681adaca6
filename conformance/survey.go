package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// A standing is what the target does with a value of an attribute of users. RFC 7644 section 3.3 permits a service provider to alter or
// ignore what a client sends, and the target's /Schemas may restrict an attribute (RFC 7643 section 7).
type standing string

const (
	stored  standing = "stores"  // a response contained the sent value, after a create, a PATCH or a PUT
	derived standing = "derives" // responses contained other values, after a create and after the updates
	ignored standing = "ignores" // no response contained a value
	// shortened attributes are multi-valued: responses contained the sent value of each element, but not the sent type.
	shortened standing = "stores without type"
	rejected  standing = "rejects" // a create, PATCH or PUT with the attribute was rejected, without it a create was accepted
	readOnly  standing = "readOnly"
	immutable standing = "immutable"
	hidden    standing = "never"   // the schema has returned never
	onRequest standing = "request" // the schema has returned request
	// undeclared attributes are neither in the schema nor in a response.
	undeclared standing = "undeclared"
)

// explain returns the standing of an attribute as the reason why a check does not use it.
func (is standing) explain(attribute string) string {
	switch is {
	case shortened:
		return fmt.Sprintf("the target stores %s without the sub-attribute type", attribute)
	case readOnly, immutable:
		return fmt.Sprintf("the target's /Schemas declare %s as %s", attribute, is)
	case hidden, onRequest:
		return fmt.Sprintf("the target's /Schemas declare %s with returned %s", attribute, is)
	case undeclared:
		return fmt.Sprintf("the target's /Schemas do not list %s", attribute)
	}
	return fmt.Sprintf("the target %s %s", is, attribute)
}

// maxSurveyRequests is a number of requests: after it, the survey examines no further attributes.
const maxSurveyRequests = 60

// A survey contains the standings of attributes of users, each determined with requests. The run makes it once, before the first finding
// that may be about such an attribute.
type survey struct {
	standings map[string]standing            // by the path of the attribute in lower case; an attribute without entry was not surveyed
	evidence  map[string]*wirelog.Exchange   // the create or update that shows the standing
	told      map[string]bool                // the attributes for which [session.tell] has added its finding
	affected  map[string]*affectedByStanding // by attribute
	renamed   bool                           // a created user had another userName than the sent one
}

// affectedByStanding counts the checks that were run with another attribute, or skipped.
type affectedByStanding struct {
	standing          standing
	replaced, skipped int
}

// A surveyed attribute has two values, for a create and for the updates.
type surveyed struct {
	path          string
	first, second any
}

func (a surveyed) value(update bool) any {
	if update {
		return a.second
	}
	return a.first
}

// surveyedAttributes returns the attributes of the survey. Their values contain only letters, digits and common punctuation, so that a
// target that only alters special characters is recognized as one that stores the attribute.
func surveyedAttributes(t *T) []surveyed {
	var out []surveyed
	add := func(path string, first, second any) { out = append(out, surveyed{path, first, second}) }
	for _, name := range []string{"displayName", "nickName", "title", "userType"} {
		add(name, "Survey one "+name, "Survey two "+name)
	}
	for _, name := range []string{"formatted", "givenName", "familyName", "middleName", "honorificPrefix", "honorificSuffix"} {
		add("name."+name, "Surveyone", "Surveytwo")
	}
	add("externalId", t.prefix+"one", t.prefix+"two")
	add("preferredLanguage", "en-US", "de-DE")
	add("locale", "en-US", "de-DE")
	add("timezone", "Europe/Berlin", "Europe/Paris")
	add("profileUrl", "https://example.com/one", "https://example.com/two")
	add("active", true, true)
	add("emails", []Doc{{"value": t.UserName("one"), "type": "work"}}, []Doc{{"value": t.UserName("two"), "type": "work"}})
	add("phoneNumbers", []Doc{{"value": "+12015550100", "type": "work"}}, []Doc{{"value": "+12015550101", "type": "work"}})
	add("addresses", []Doc{{"locality": "Berlin", "type": "work"}}, []Doc{{"locality": "Paris", "type": "work"}})
	add("roles", []Doc{{"value": "Surveyone"}}, []Doc{{"value": "Surveytwo"}})
	add("entitlements", []Doc{{"value": "Surveyone"}}, []Doc{{"value": "Surveytwo"}})
	return out
}

// declaredStanding returns the standing of an attribute of users by the target's /Schemas, "" if they do not restrict it.
func (s *session) declaredStanding(path string) standing {
	definition := s.userAttribute(path)
	switch mutability := definition.Text("mutability"); {
	case strings.EqualFold(mutability, "readOnly"):
		return readOnly
	case strings.EqualFold(mutability, "immutable"):
		return immutable
	}
	switch returned := definition.Text("returned"); {
	case strings.EqualFold(returned, "never"):
		return hidden
	case strings.EqualFold(returned, "request") && !s.shownByDefault["/Users/"+strings.ToLower(path)]:
		return onRequest
	}
	return ""
}

// userAttribute returns the definition of an attribute of users in the target's /Schemas, nil if there is none.
func (s *session) userAttribute(path string) *scim.Object {
	list := s.caps.Schema(scim.UserSchema).Array("attributes")
	var found *scim.Object
	for name := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(list, func(a any) bool { return scim.EqualName(object(a).Text("name"), name) })
		if i < 0 {
			return nil
		}
		found = object(list[i])
		list = found.Array("subAttributes")
	}
	return found
}

// surveyOnce returns the survey of the run, and makes it on the first call. If the run may not write, the survey contains only what the
// target's /Schemas declare.
func (s *session) surveyOnce(ctx context.Context) *survey {
	if s.survey != nil {
		return s.survey
	}
	s.survey = &survey{standings: map[string]standing{}, evidence: map[string]*wirelog.Exchange{}, told: map[string]bool{},
		affected: map[string]*affectedByStanding{}}
	if !s.caps.Users {
		return s.survey
	}
	before, checking := s.wire.requests, s.wire.checking
	s.wire.checking = ""
	var attributes []surveyed
	for _, a := range surveyedAttributes(&T{session: s, prefix: s.created.run}) {
		if declared := s.declaredStanding(a.path); declared != "" {
			s.survey.standings[strings.ToLower(a.path)] = declared
		} else if _, configured := s.opts.Attributes["User"][a.path]; !configured {
			attributes = append(attributes, a)
		}
	}
	if !s.opts.ReadOnly && s.rights.denied == "" && s.created.broken == nil {
		s.scratch(ctx, "survey", func(t *T, _ string, _ Doc) {
			(&surveyor{ctx: ctx, t: t, survey: s.survey, start: before}).run(attributes)
		})
	}
	s.wire.checking = checking
	return s.survey
}

// A surveyor sends the requests of a survey.
type surveyor struct {
	ctx    context.Context
	t      *T
	survey *survey
	start  int // number of requests of the run before the survey
	users  int // number of users whose creation was tried
	broken bool
}

// run determines the standing of each of the attributes. It determines no standing if the target rejects every user or returns a server
// error.
func (v *surveyor) run(attributes []surveyed) {
	groups, refused := v.accepted(attributes)
	if len(refused) > 0 || len(groups) == 0 {
		plain := v.create(nil)
		if !plain.OK() {
			return // the target rejects even a user without these attributes
		}
		v.examine(plain, refused, true)
	}
	for _, g := range groups {
		v.examine(g.created, g.attributes, false)
	}
	if v.broken {
		maps.DeleteFunc(v.survey.standings, func(_ string, is standing) bool {
			// After a server error, no response shows what the target does with an attribute.
			return slices.Contains([]standing{stored, derived, ignored, rejected, shortened}, is)
		})
	}
}

// acceptedTogether is a set of attributes with all of which the target has created one user.
type acceptedTogether struct {
	created    *Response
	attributes []surveyed
}

// accepted creates users with the attributes. It halves each set of attributes that the target rejects, until the target accepts the set or
// the set has one attribute. It returns the accepted sets and the rejected attributes.
func (v *surveyor) accepted(attributes []surveyed) (groups []acceptedTogether, refused []surveyed) {
	if len(attributes) == 0 || v.exhausted() {
		return nil, nil
	}
	res := v.create(attributes)
	switch {
	case res.OK():
		return []acceptedTogether{{res, attributes}}, nil
	case len(attributes) == 1:
		return nil, attributes
	}
	for _, half := range [][]surveyed{attributes[:len(attributes)/2], attributes[len(attributes)/2:]} {
		g, r := v.accepted(half)
		groups, refused = append(groups, g...), append(refused, r...)
	}
	return groups, refused
}

func (v *surveyor) exhausted() bool { return v.t.session.wire.requests-v.start >= maxSurveyRequests }

// observe returns the response unchanged, and sets v.broken if it is a server error.
func (v *surveyor) observe(res *Response) *Response {
	v.broken = v.broken || res.Status >= http.StatusInternalServerError && res.Status != http.StatusNotImplemented
	return res
}

// create tries to create a user with attributes.
func (v *surveyor) create(attributes []surveyed) *Response {
	v.users++
	return v.observe(v.t.Post(v.ctx, "/Users", v.body(fmt.Sprint("user", v.users), attributes, false)))
}

// body returns a user with attributes.
func (v *surveyor) body(label string, attributes []surveyed, update bool) Doc {
	body := v.t.User(label, nil)
	for _, a := range attributes {
		if parent, sub, nested := strings.Cut(a.path, "."); nested {
			inner, _ := body[parent].(Doc)
			inner[sub] = a.value(update)
		} else {
			body[a.path] = a.value(update)
		}
	}
	return body
}

// examine determines the standings of attributes from the response to a create of a user, and from updates of this user. If refused is set,
// the user was created without the attributes, because the target rejects a create with them. Updates are sent only for attributes that the
// create has not stored.
func (v *surveyor) examine(created *Response, attributes []surveyed, refused bool) {
	id := identify(created)
	if id == "" || len(attributes) == 0 {
		return
	}
	where := (&Created{ID: id, Collection: "/Users"}).Path()
	for _, c := range *v.t.ledger {
		if got := created.Object().Text("userName"); c.Path() == where && got != "" && !strings.EqualFold(got, nameOf(c.Sent, "userName")) {
			v.survey.renamed = true
		}
	}
	shown := map[string]bool{}   // paths of the attributes that had a value in a response
	untyped := map[string]bool{} // paths of the multi-valued attributes that had the sent values, without type
	// settle records what a response shows, and returns the attributes that it does not show as sent.
	settle := func(open []surveyed, update bool, responses ...*Response) []surveyed {
		return slices.DeleteFunc(slices.Clone(open), func(a surveyed) bool {
			for _, res := range responses {
				got := valueAt(res.Object(), a.path)
				shown[a.path] = shown[a.path] || res.OK() && !empty(got)
				untyped[a.path] = untyped[a.path] || res.OK() && !empty(got) && sentIsShown(withoutType(a.value(update)), got)
				// A value of another JSON type, such as "true" for true, counts as stored: the wrong type is a finding of other checks.
				if res.OK() && (sentIsShown(a.value(update), got) || !empty(got) && !sameType(a.value(update), got)) {
					v.survey.standings[strings.ToLower(a.path)] = stored
					return true
				}
			}
			return false
		})
	}
	open := attributes
	if !refused {
		open = settle(open, false, created, v.observe(v.t.Get(v.ctx, where)))
	}
	if supported, known := v.t.Capabilities.Supports("patch"); supported || !known {
		open = settle(open, true, v.update(open, func(some []surveyed) Request {
			var operations []Doc
			for _, a := range some {
				operations = append(operations, Doc{"op": "replace", "path": a.path, "value": a.second})
			}
			return Request{Method: http.MethodPatch, Path: where, Body: Doc{"schemas": []string{scim.PatchOpMessage}, "Operations": operations}}
		})...)
	}
	label := v.labelOf(where)
	open = settle(open, true, v.update(open, func(some []surveyed) Request {
		return Request{Method: http.MethodPut, Path: where, Body: v.body(label, some, true)}
	})...)
	for _, a := range open {
		key := strings.ToLower(a.path)
		switch {
		case refused:
			v.survey.standings[key] = rejected
		case untyped[a.path]:
			v.survey.standings[key] = shortened
		case shown[a.path]:
			v.survey.standings[key] = derived
		default:
			v.survey.standings[key] = ignored
		}
		v.survey.evidence[key] = created.exchange
	}
}

// labelOf returns the label with which the user at a path was created.
func (v *surveyor) labelOf(where string) string {
	for _, c := range *v.t.ledger {
		if c.Path() == where {
			label, _, _ := strings.Cut(strings.TrimPrefix(nameOf(c.Sent, "userName"), v.t.prefix), "@")
			return label
		}
	}
	return fmt.Sprint("user", v.users)
}

// update sends one update of all attributes. If the target rejects it, update sends one for each attribute. It returns the responses to the
// accepted updates, and the response to a GET after each of them.
func (v *surveyor) update(attributes []surveyed, request func([]surveyed) Request) []*Response {
	if len(attributes) == 0 || v.exhausted() {
		return nil
	}
	req := request(attributes)
	res := v.observe(v.t.Call(v.ctx, req))
	switch {
	case res.OK():
		return []*Response{res, v.observe(v.t.Get(v.ctx, req.Path))}
	case len(attributes) == 1 || res.Status == http.StatusNotImplemented || res.Status == http.StatusMethodNotAllowed:
		return nil
	}
	var out []*Response
	for _, a := range attributes {
		out = append(out, v.update([]surveyed{a}, request)...)
	}
	return out
}

// valueAt returns the value at the path of an attribute or a sub-attribute, nil if there is none.
func valueAt(o *scim.Object, path string) any {
	if parent, sub, nested := strings.Cut(path, "."); nested {
		o, path = o.Complex(parent), sub
	}
	value, _ := o.Get(path)
	return value
}

// withoutType returns the elements of a sent multi-valued attribute without the sub-attribute type, nil for any other value.
func withoutType(sent any) any {
	elements, ok := sent.([]Doc)
	if !ok {
		return nil
	}
	out := make([]Doc, len(elements))
	for i, e := range elements {
		out[i] = maps.Clone(e)
		delete(out[i], "type")
	}
	return out
}

// sentIsShown reports whether a value of a response contains what was sent: an equal value, or a list with all sent elements.
func sentIsShown(sent, got any) bool {
	elements, ok := sent.([]Doc)
	if !ok {
		return matches(sent, got)
	}
	var all ContainsAll
	for _, e := range elements {
		all = append(all, e)
	}
	return matches(all, got)
}

// sameType reports whether a sent value and a value of a response have the same JSON type.
func sameType(sent, got any) bool {
	switch sent.(type) {
	case string:
		_, ok := got.(string)
		return ok
	case bool:
		_, ok := got.(bool)
		return ok
	}
	_, ok := got.([]any)
	return ok
}
