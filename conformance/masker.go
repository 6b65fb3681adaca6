package conformance

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Masked replaces the values of resources that do not belong to the suite.
const Masked = "[masked]"

// A masker removes personal data from exchanges and findings. Reports show exchanges as evidence, and a query for all users also returns
// the users of the tenant. Resources that contain the marker of the run belong to the suite and stay readable. In all other
// resources the masker replaces the values. Package wirelog removes credentials; a masker removes the passwords that the checks generate.
type masker struct {
	run       string            // the marker of the run
	ids       map[string]bool   // collections and ids of resources that had the marker in an earlier response
	seen      map[string]bool   // values of foreign resources, masked in findings too
	sent      map[string]bool   // values that the suite has sent, in lower case: they are not foreign, and stay readable
	filters   map[string]string // filters of observed requests with their masked forms; nil if the suite sends the requests
	passwords []string          // passwords that the suite has sent, in each encoding
}

// structural are the members whose values are not personal data. All other values of a foreign resource are masked.
var structural = []string{"schemas", "id", "meta", "type", "primary", "active", "$ref", "ref", "usertype", "locale", "timezone",
	"preferredlanguage"}

// descriptive are the paths whose responses describe the service and no user.
var descriptive = []string{"/ServiceProviderConfig", "/ResourceTypes", "/Schemas"}

// minHidden is the minimum length of a value that is replaced anywhere in a string. A shorter value is replaced only if it is a whole JSON
// string, because elsewhere it may be a part of a word.
const minHidden = 6

// maskResponse masks foreign values in the response of an exchange. Body is the whole response; the exchange may hold an excerpt.
func (m *masker) maskResponse(e *wirelog.Exchange, path string, body []byte) {
	if descriptivePath(path) {
		return
	}
	object, err := scim.Decode(body)
	if err != nil {
		return
	}
	hidden := map[string]bool{}
	collection, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	m.resources(collection, object, hidden)
	maps.DeleteFunc(hidden, func(value string, _ bool) bool { return m.sentByRun(value) })
	if len(hidden) == 0 {
		return
	}
	for value := range hidden {
		m.seen[value] = true
	}
	e.ResponseBody = hideStrings(e.ResponseBody, hidden)
}

// descriptivePath reports whether the responses of a path describe the service.
func descriptivePath(path string) bool {
	return slices.ContainsFunc(descriptive, func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") })
}

// resources collects the values to mask: those of the resources in a list or a bulk response, or else those of the object itself.
// Collection is that of the request.
func (m *masker) resources(collection string, object *scim.Object, hidden map[string]bool) {
	if list := object.Array("Resources"); list != nil {
		for _, item := range list {
			if o, ok := item.(*scim.Object); ok {
				m.resources(collection, o, hidden)
			}
		}
		return
	}
	if object.Text("id") == "" || m.own(collection, object) {
		return
	}
	for name, value := range object.All() {
		collect(name, value, hidden)
	}
}

// own reports whether a resource contains the marker of the run, or has done so in an earlier response. A response may lack the attribute
// with the marker because of the parameter attributes, or because a faulty server has removed the attribute.
func (m *masker) own(collection string, object *scim.Object) bool {
	key := collection + "/" + object.Text("id") // users and groups may have the same ids
	data, err := json.Marshal(object)
	if err == nil && bytes.Contains(bytes.ToLower(data), []byte(m.run)) {
		m.ids[key] = true
		m.addSent(object.Text("id")) // other resources refer to it, such as the members of a group
	}
	return m.ids[key]
}

// collect adds the values of an attribute to hidden, unless the attribute is structural.
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
			// The ids of a group's members are not personal data.
			if !strings.EqualFold(name, "value") || value == nil || !opaque(value) {
				collect(name, value, hidden)
			}
		}
	}
}

// opaque reports whether a value has the form of an identifier: 16 bytes or more, and none of the characters "@ +.". Few names, addresses
// and numbers of users have this form.
func opaque(value any) bool {
	text, ok := value.(string)
	return ok && len(text) >= 16 && !strings.ContainsAny(text, "@ +.")
}

// hideStrings replaces the JSON strings in a text whose values are in hidden. It removes an incomplete string at the end of an excerpt.
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

// maskText masks the foreign values of the run in a finding, a note or a reason.
func (m *masker) maskText(s string) string {
	s = m.replacePasswords(s)
	if m.filters != nil { // in observed traffic, all users are foreign
		for _, filter := range longestFirst(m.filters) {
			s = strings.ReplaceAll(s, filter, m.filters[filter])
		}
		s = maskAddresses(s)
	}
	if len(m.seen) == 0 {
		return s
	}
	if strings.Contains(s, `"`) {
		s = hideStrings(s, m.seen)
	}
	for value := range m.seen {
		switch {
		case m.sentByRun(value):
		case s == value:
			return Masked
		case len(value) >= minHidden && !strings.Contains(value, m.run):
			s = replaceWord(s, value)
			s = replaceWord(s, url.QueryEscape(value))
		}
	}
	return s
}

// replaceWord masks a value in a text, but not where it is a part of a longer word: a group named "member" does not mask "members".
func replaceWord(text, value string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, value)
		if i < 0 {
			return b.String() + text
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(value):])
		first, _ := utf8.DecodeRuneInString(value)
		last, _ := utf8.DecodeLastRuneInString(value)
		b.WriteString(text[:i])
		encoded := i >= 3 && text[i-3] == '%' // the character before the value is percent-encoded
		if wordRune(before) && wordRune(first) && !encoded || wordRune(last) && wordRune(after) {
			b.WriteString(value)
		} else {
			b.WriteString(Masked)
		}
		text = text[i+len(value):]
	}
}

func wordRune(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// sentByRun reports whether the suite has sent a value, or all words of a value that the target has composed of several ones.
func (m *masker) sentByRun(value string) bool {
	if m.sent[strings.ToLower(value)] {
		return true
	}
	words := strings.Fields(strings.ToLower(value))
	return len(words) > 1 && !slices.ContainsFunc(words, func(word string) bool { return !m.sent[strings.Trim(word, ",;")] })
}

// addSent stores a value that the suite writes. A value of a foreign resource may be the same by chance.
func (m *masker) addSent(value string) {
	if m.sent != nil && value != "" {
		m.sent[strings.ToLower(value)] = true
	}
}

// learn stores the values of a body before it is sent. It stores the passwords separately, because a target may repeat them anywhere.
func (m *masker) learn(body any) {
	data, raw := body.([]byte)
	if !raw {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return
		}
	}
	var value any
	if json.Unmarshal(data, &value) == nil {
		m.learnFrom(value)
	}
}

func (m *masker) learnFrom(value any) {
	switch value := value.(type) {
	case string:
		m.addSent(value)
	case []any:
		for _, item := range value {
			m.learnFrom(item)
		}
	case map[string]any:
		path, _ := value["path"].(string)
		for name, inner := range value {
			text, ok := inner.(string)
			named := strings.EqualFold(name, "password") || name == "value" && strings.HasSuffix(strings.ToLower(path), "password")
			switch {
			case named && len(text) >= minHidden:
				m.addPassword(text)
			case named && ok:
			case strings.EqualFold(name, "filter"): // of a search: may contain values of foreign resources
			default:
				m.learnFrom(inner)
			}
		}
	}
}

// addPassword stores a password, as it is and in its encodings for JSON and URLs.
func (m *masker) addPassword(text string) {
	quoted, _ := json.Marshal(text) // a string always has a JSON form
	for _, form := range []string{text, strings.Trim(string(quoted), `"`), url.QueryEscape(text), url.PathEscape(text)} {
		if !slices.Contains(m.passwords, form) {
			m.passwords = append(m.passwords, form)
		}
	}
}

// replacePasswords replaces the stored passwords.
func (m *masker) replacePasswords(s string) string {
	for _, password := range m.passwords {
		s = strings.ReplaceAll(s, password, wirelog.Redacted)
	}
	return s
}

// maskPasswords replaces passwords in an exchange, outside the members that package wirelog redacts.
func (m *masker) maskPasswords(e *wirelog.Exchange) {
	if len(m.passwords) == 0 {
		return
	}
	e.URL = m.replacePasswords(e.URL)
	e.RequestBody, e.ResponseBody, e.Err = m.replacePasswords(e.RequestBody), m.replacePasswords(e.ResponseBody), m.replacePasswords(e.Err)
	for _, header := range []http.Header{e.RequestHeader, e.ResponseHeader} {
		for _, values := range header {
			for i := range values {
				values[i] = m.replacePasswords(values[i])
			}
		}
	}
}

// maskResult masks a whole result at the end of the run, because early findings may repeat values of foreign resources that the run
// received later. It also replaces secrets.
func (m *masker) maskResult(r *Result, secrets []string) {
	redact := wirelog.NewRedactor(secrets...)
	text := func(texts ...*string) {
		for _, s := range texts {
			*s = redact.Text(m.maskText(*s))
		}
	}
	finding := func(f *Finding) { text(&f.What, &f.Want, &f.Got) }
	done := map[*wirelog.Exchange]bool{}
	exchange := func(e *wirelog.Exchange) {
		if e != nil && !done[e] {
			done[e] = true
			e.URL = m.maskText(e.URL)
		}
	}
	text(&r.Reason)
	for c := range r.All() {
		text(&c.Reason)
		if c.BlockedBy != nil {
			blocker := *c.BlockedBy // several checks share the Blocker, so each gets a masked copy
			text(&blocker.What)
			exchange(blocker.Exchange)
			c.BlockedBy = &blocker
		}
		for j := range c.Notes {
			text(&c.Notes[j])
		}
		for j := range c.Findings {
			finding(&c.Findings[j])
			exchange(c.Findings[j].Exchange)
		}
	}
	for i := range r.Blocks {
		text(&r.Blocks[i].What)
		exchange(r.Blocks[i].Exchange)
	}
	for i := range r.Profiles {
		p := &r.Profiles[i]
		text(&p.Reason)
		for j := range p.Limits {
			text(&p.Limits[j])
		}
		for j := range p.Breaks {
			text(&p.Breaks[j].Why, &p.Breaks[j].Fix)
			finding(&p.Breaks[j].Finding)
			exchange(p.Breaks[j].Finding.Exchange)
		}
	}
	for i := range r.Leftovers {
		text(&r.Leftovers[i].Reason)
	}
	for _, sent := range r.Traffic {
		exchange(sent.Exchange)
	}
}
