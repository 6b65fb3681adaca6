package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Masked stands where a value of somebody else's resource was.
const Masked = "[masked]"

// A veil hides what a target tells about people. Reports hold exchanges as evidence, and a query for all users shows those
// of the tenant as well. Resources that carry the marker of the run are the suite's own and stay readable; of all others only
// the structure is kept. Secrets are a matter of package wirelog; the passwords that checks make up are handed to it here.
type veil struct {
	run       string            // the marker
	seen      map[string]bool   // values of foreign resources, hidden in the texts of findings too
	filters   map[string]string // of observed requests, with what they are shown as; nil when the suite sends the requests
	passwords []string          // that the suite has sent, in every way of writing them
}

// structural are the members whose values say nothing about a person. Everything else of a foreign resource is hidden.
var structural = []string{"schemas", "id", "meta", "type", "primary", "active", "$ref", "ref", "usertype", "locale", "timezone",
	"preferredlanguage"}

// descriptive are the paths whose answers describe the service and nobody.
var descriptive = []string{"/ServiceProviderConfig", "/ResourceTypes", "/Schemas"}

// secrets are the values that never stand in an exchange that is kept. Credentials may become known while several requests
// are under way.
type secrets struct {
	mu     sync.Mutex
	values []string
}

// credentials adds the words of a header value. The scheme of an Authorization header is none.
func (s *secrets) credentials(value string) {
	words := strings.Fields(value)
	if len(words) > 1 &&
		slices.ContainsFunc([]string{"Bearer", "Basic"}, func(scheme string) bool { return strings.EqualFold(words[0], scheme) }) {
		words = words[1:]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, word := range words {
		if !slices.Contains(s.values, word) {
			s.values = append(s.values, word)
		}
	}
}

func (s *secrets) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values)
}

// minHidden is the shortest value that is hidden wherever it stands in a text; shorter ones are hidden only as whole strings
// of a JSON text, for replacing them elsewhere would shred it.
const minHidden = 6

// cover hides foreign values in the answer of an exchange. Body is the whole answer, of which the exchange holds an excerpt.
func (v *veil) cover(e *wirelog.Exchange, path string, body []byte) {
	if descriptivePath(path) {
		return
	}
	object, err := scim.Decode(body)
	if err != nil {
		return
	}
	hidden := map[string]bool{}
	v.resources(object, hidden)
	if len(hidden) == 0 {
		return
	}
	for value := range hidden {
		v.seen[value] = true
	}
	e.ResponseBody = hideStrings(e.ResponseBody, hidden)
}

func descriptivePath(path string) bool {
	return slices.ContainsFunc(descriptive, func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") })
}

// resources collects the values to hide from an answer: of the resources in a list or a bulk response, else of the one it is.
func (v *veil) resources(object *scim.Object, hidden map[string]bool) {
	if list := object.Array("Resources"); list != nil {
		for _, item := range list {
			if o, ok := item.(*scim.Object); ok {
				v.resources(o, hidden)
			}
		}
		return
	}
	if object.Text("id") == "" || v.own(object) {
		return
	}
	for name, value := range object.All() {
		collect(name, value, hidden)
	}
}

// own tells whether a resource carries the marker of the run.
func (v *veil) own(object *scim.Object) bool {
	data, err := json.Marshal(object)
	return err == nil && bytes.Contains(bytes.ToLower(data), []byte(v.run))
}

func collect(name string, value any, hidden map[string]bool) {
	if slices.Contains(structural, strings.ToLower(name)) {
		return
	}
	switch value := value.(type) {
	case string:
		if value != "" {
			hidden[value] = true
		}
	case []any:
		for _, item := range value {
			collect(name, item, hidden)
		}
	case *scim.Object:
		for name, value := range value.All() {
			// The members of a group are known by their ids, which say nothing.
			if !strings.EqualFold(name, "value") || value == nil || !opaque(value) {
				collect(name, value, hidden)
			}
		}
	}
}

// opaque tells whether a value is an identifier and no name, address or number of a person.
func opaque(value any) bool {
	text, ok := value.(string)
	return ok && len(text) >= 16 && !strings.ContainsAny(text, "@ +.")
}

// hideStrings replaces the JSON strings of a text whose values are hidden. An unfinished string at the end of a text that
// was cut is dropped.
func hideStrings(text string, hidden map[string]bool) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '"' {
			b.WriteByte(text[i])
			i++
			continue
		}
		end := i + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(text) {
			if strings.HasSuffix(text, "[cut]") {
				b.WriteString(`"… [cut]`)
			} else {
				b.WriteString(text[i:])
			}
			break
		}
		token := text[i : end+1]
		i = end + 1
		var value string
		if json.Unmarshal([]byte(token), &value) == nil && hidden[value] && !strings.HasPrefix(strings.TrimLeft(text[i:], " \t\r\n"), ":") {
			token = `"` + Masked + `"`
		}
		b.WriteString(token)
	}
	return b.String()
}

// text hides what was seen of others in a text of the suite: a finding, a note, a reason.
func (v *veil) text(s string) string {
	s = v.withoutPasswords(s)
	if v.filters != nil { // all people in it are others
		for _, filter := range longestFirst(v.filters) {
			s = strings.ReplaceAll(s, filter, v.filters[filter])
		}
		s = coverAddresses(s)
	}
	if len(v.seen) == 0 {
		return s
	}
	if strings.Contains(s, `"`) {
		s = hideStrings(s, v.seen)
	}
	for value := range v.seen {
		switch {
		case s == value:
			return Masked
		case len(value) >= minHidden && !strings.Contains(value, v.run):
			s = strings.ReplaceAll(s, value, Masked)
			s = strings.ReplaceAll(s, url.QueryEscape(value), Masked)
		}
	}
	return s
}

// learn remembers the passwords of a body that is about to be sent: a target may quote them anywhere.
func (v *veil) learn(body any) {
	data, raw := body.([]byte)
	if !raw {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return
		}
	}
	var value any
	if bytes.Contains(bytes.ToLower(data), []byte("password")) && json.Unmarshal(data, &value) == nil {
		v.learnFrom(value)
	}
}

func (v *veil) learnFrom(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			v.learnFrom(item)
		}
	case map[string]any:
		path, _ := value["path"].(string)
		for name, inner := range value {
			text, ok := inner.(string)
			named := strings.EqualFold(name, "password") || name == "value" && strings.HasSuffix(strings.ToLower(path), "password")
			switch {
			case !ok:
				v.learnFrom(inner)
			case named && len(text) >= minHidden:
				v.password(text)
			}
		}
	}
}

// password adds one with the ways in which it is written into JSON and URLs.
func (v *veil) password(text string) {
	quoted, _ := json.Marshal(text) // a string always has a JSON form
	for _, form := range []string{text, strings.Trim(string(quoted), `"`), url.QueryEscape(text), url.PathEscape(text)} {
		if !slices.Contains(v.passwords, form) {
			v.passwords = append(v.passwords, form)
		}
	}
}

// withoutPasswords hides what was learnt.
func (v *veil) withoutPasswords(s string) string {
	for _, password := range v.passwords {
		s = strings.ReplaceAll(s, password, wirelog.Redacted)
	}
	return s
}

// veilExchange hides passwords wherever an exchange has them outside the members that package wirelog knows.
func (v *veil) veilExchange(e *wirelog.Exchange) {
	if len(v.passwords) == 0 {
		return
	}
	e.URL = v.withoutPasswords(e.URL)
	e.RequestBody, e.ResponseBody, e.Err = v.withoutPasswords(e.RequestBody), v.withoutPasswords(e.ResponseBody), v.withoutPasswords(e.Err)
	for _, header := range []http.Header{e.RequestHeader, e.ResponseHeader} {
		for _, values := range header {
			for i := range values {
				values[i] = v.withoutPasswords(values[i])
			}
		}
	}
}

// result hides what was seen late in the run in what was written down early, and secrets in the texts of the suite.
func (v *veil) result(r *Result, secrets []string) {
	redact := wirelog.NewRedactor(secrets...)
	text := func(texts ...*string) {
		for _, s := range texts {
			*s = redact.Text(v.text(*s))
		}
	}
	finding := func(f *Finding) { text(&f.What, &f.Want, &f.Got) }
	done := map[*wirelog.Exchange]bool{}
	exchange := func(e *wirelog.Exchange) {
		if e != nil && !done[e] {
			done[e] = true
			e.URL = v.text(e.URL)
		}
	}
	text(&r.Reason)
	for i := range r.Checks {
		c := &r.Checks[i]
		text(&c.Reason)
		for j := range c.Notes {
			text(&c.Notes[j])
		}
		for j := range c.Findings {
			finding(&c.Findings[j])
			exchange(c.Findings[j].Exchange)
		}
	}
	for i := range r.Profiles {
		p := &r.Profiles[i]
		text(&p.Why)
		for j := range p.Limits {
			text(&p.Limits[j])
		}
		if p.Finding != nil {
			finding(p.Finding)
			exchange(p.Finding.Exchange)
		}
	}
	for i := range r.Leftovers {
		text(&r.Leftovers[i].Reason)
	}
	for _, sent := range r.Traffic {
		exchange(sent.Exchange)
	}
}
