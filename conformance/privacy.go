package conformance

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/wirelog"
	"github.com/scimwright/scimwright/scim"
)

// Masked stands where a value of somebody else's resource was.
const Masked = "[masked]"

// A veil hides what a target tells about people. Reports hold exchanges as evidence, and a query for all users shows those
// of the tenant as well. Resources that carry the marker of the run are the suite's own and stay readable; of all others only
// the structure is kept. Secrets are a matter of package wirelog; the passwords that checks make up are handed to it here.
type veil struct {
	run       string          // the marker
	seen      map[string]bool // values of foreign resources, hidden in the texts of findings too
	passwords []string        // that the suite has sent
}

// structural are the members whose values say nothing about a person. Everything else of a foreign resource is hidden.
var structural = []string{"schemas", "id", "meta", "type", "primary", "active", "$ref", "ref", "usertype", "locale", "timezone", "preferredlanguage"}

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
	if len(words) > 1 && slices.ContainsFunc([]string{"Bearer", "Basic"}, func(scheme string) bool { return strings.EqualFold(words[0], scheme) }) {
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
	for _, prefix := range descriptive {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return
		}
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
	for _, password := range v.passwords {
		s = strings.ReplaceAll(s, password, wirelog.Redacted)
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

// learn remembers the passwords of a body that is about to be sent.
func (v *veil) learn(body any) {
	switch value := body.(type) {
	case Doc:
		v.learnMembers(value)
	case map[string]any:
		v.learnMembers(value)
	case []Doc:
		for _, item := range value {
			v.learnMembers(item)
		}
	case []any:
		for _, item := range value {
			v.learn(item)
		}
	}
}

func (v *veil) learnMembers(doc map[string]any) {
	path, _ := doc["path"].(string)
	for name, value := range doc {
		text, ok := value.(string)
		named := strings.EqualFold(name, "password") || name == "value" && strings.HasSuffix(strings.ToLower(path), "password")
		switch {
		case !ok:
			v.learn(value)
		case named && len(text) >= minHidden && !slices.Contains(v.passwords, text):
			v.passwords = append(v.passwords, text)
		}
	}
}

// result hides what was seen late in the run in what was written down early.
func (v *veil) result(r *Result) {
	if len(v.seen)+len(v.passwords) == 0 {
		return
	}
	done := map[*wirelog.Exchange]bool{}
	exchange := func(e *wirelog.Exchange) {
		if e == nil || done[e] {
			return
		}
		done[e] = true
		e.URL = v.text(e.URL)
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		c.Reason = v.text(c.Reason)
		for j := range c.Notes {
			c.Notes[j] = v.text(c.Notes[j])
		}
		for j := range c.Findings {
			f := &c.Findings[j]
			f.What, f.Want, f.Got = v.text(f.What), v.text(f.Want), v.text(f.Got)
			exchange(f.Exchange)
		}
	}
	for _, sent := range r.Traffic {
		exchange(sent.Exchange)
	}
}
