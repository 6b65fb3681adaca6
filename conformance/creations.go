package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Whatever a request may create, on a target that is right or wrong, is announced in the journal before the request goes out,
// and followed up when the answer is there. Everything here serves that one rule.

// secondName is the attribute that carries the run's marker in objects that a check sends without a name.
const secondName = "externalId"

// mePath stands for the caller's own resource; a POST to it registers a user (RFC 7644 section 3.11).
const mePath = "/Me"

// naming is the attribute that names an object in each collection that a run knows from the start; see [T.Names]. Nobody
// should be able to create schemas and resource types, and a check tries.
func naming() map[string]string {
	return map[string]string{"/Users": "userName", "/Groups": "displayName", "/Schemas": "name", "/ResourceTypes": "name"}
}

// A prospect is an object that a request may create.
type prospect struct {
	openEntry

	sent Doc
	// operation is the one of a bulk job that it comes from.
	operation bulkOperation
}

// expect announces in the journal what a request may create.
func (s *session) expect(req Request) []prospect {
	var expected []prospect
	if req.Method == http.MethodPost && req.Path == bulkPath {
		for _, op := range bulkOperations(req.Body) {
			if p, ok := s.prospect(strings.ToUpper(op.Method), op.target(), op.Data); ok {
				p.operation = op
				expected = append(expected, p)
			}
		}
	} else if p, ok := s.prospect(req.Method, req.Path, req.Body); ok {
		expected = append(expected, p)
	}
	for i := range expected {
		entry, err := s.journal.next(expected[i].openEntry)
		if err != nil {
			// A write that could not be found again is not made.
			panic(noAnswer{err})
		}
		expected[i].entry = entry
	}
	return expected
}

// prospect returns what a request may create: a POST to a collection on any target; a POST elsewhere, and a PUT or PATCH of
// what is not there, on one that is wrong.
func (s *session) prospect(method, where string, body any) (p prospect, ok bool) {
	if method == http.MethodPost && where == mePath {
		where = "/Users"
	}
	p.collection = where
	if s.naming[where] == "" {
		dir, id := path.Split(where)
		p.collection = strings.TrimSuffix(dir, "/")
		unescaped, err := url.PathUnescape(id)
		if err != nil || strings.HasPrefix(id, ".") || strings.HasPrefix(id, "bulkId:") {
			return p, false
		}
		p.id = unescaped
	}
	if p.attribute = s.naming[p.collection]; p.attribute == "" || s.owned[where] {
		return p, false
	}
	p.sent, _ = body.(Doc)
	p.name = nameIn(body, p.attribute)
	if second := nameIn(body, secondName); !s.marked(p.name) && s.marked(second) {
		p.attribute, p.name = secondName, second
	}
	// What neither is called by the run nor called like the run would not be the run's, even if it answered.
	switch method {
	case http.MethodPost:
		return p, true
	case http.MethodPut:
		return p, s.marked(p.id) || s.marked(p.name)
	case http.MethodPatch:
		return p, s.marked(p.id)
	}
	return p, false
}

// marked tells whether a text begins with the run's marker.
func (s *session) marked(text string) bool { return strings.HasPrefix(strings.ToLower(text), s.run) }

// settle puts what an answer says was created, or is gone, into the ledger and the journal. What it leaves open is looked for
// by [session.resolve].
func (s *session) settle(ledger *[]*Created, expected []prospect, req Request, res *Response) {
	if req.Method == http.MethodPost && req.Path == bulkPath {
		s.settleBulk(ledger, expected, req, res)
		return
	}
	for _, p := range expected {
		switch id := cmp.Or(identify(res), p.id); {
		case refuses(res.Status):
			s.note(s.journal.gone(p.entry))
		case res.OK() && id != "":
			s.own(ledger, p, id, res.Object())
		case res.OK() && p.name == "" && req.Method == http.MethodPost && req.Path == p.collection:
			s.leave(&Created{Collection: p.collection}, res.Name+" answered "+statusText(res.Status)+" to a body without a name, and told no id")
		}
	}
	if req.Method == http.MethodDelete && (res.OK() || res.Status == http.StatusNotFound) {
		for _, c := range *ledger {
			if c.Path() == req.Path && !c.gone {
				s.depart(c, res.Status)
			}
		}
	}
}

// refuses tells whether a status says that nothing was done. A server error may have come after the deed.
func refuses(status int) bool {
	return status >= 300 && status < 500 || status == http.StatusNotImplemented
}

// own enters what a prospect has become.
func (s *session) own(ledger *[]*Created, p prospect, id string, resource any) {
	c := &Created{ID: id, Collection: p.collection, Sent: p.sent, Resource: object(resource), entry: p.entry, name: p.name}
	s.owned[c.Path()] = true
	s.wrote = true
	s.note(s.journal.created(p.entry, c.Collection, c.ID))
	*ledger = append(*ledger, c)
}

// note remembers that the journal could not be written; the run ends after the check.
func (s *session) note(err error) { s.broken = errors.Join(s.broken, err) }

// identify returns the id of a created resource: from the body, else from the end of the Location header.
//
// A target may answer with what [Response.Object] refuses to read, above all after a hostile body: half a surrogate pair, a
// name that comes twice, deep nesting. The id is looked for in there as well, or the object could not be removed.
func identify(res *Response) string {
	id := res.Object().Text("id")
	if res.Object() == nil {
		var loose struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(res.Body, &loose) == nil {
			id = loose.ID
		}
	}
	return cmp.Or(id, lastSegment(res.Header.Get("Location")))
}

// lastSegment returns the id at the end of a resource's address.
func lastSegment(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return ""
	}
	return path.Base(u.Path)
}

// nameOf returns a text of a document by its name, in whatever letter case the check has written it.
func nameOf(doc Doc, attribute string) string {
	for key, value := range doc {
		if name, ok := value.(string); ok && strings.EqualFold(key, attribute) {
			return name
		}
	}
	return ""
}

// The ways a member of a body that is no JSON as a whole may name itself and its text: quoted as in JSON, with single quotes, as in a form,
// as in XML. They are anchored and without alternatives that begin alike, so that a match costs one pass (bodies may be megabytes).
var (
	quotedForm = regexp.MustCompile(`^["'](\w+)["']\s*:\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)')`)
	queryForm  = regexp.MustCompile(`^(\w+)=([^&]*)`)
	xmlForm    = regexp.MustCompile(`^<(\w+)>([^<]*)</`)
)

// nameIn is nameOf for every body that a check may send. What is broken on purpose is searched for the first member of that
// name, because the target may make something of it.
func nameIn(body any, attribute string) string {
	if doc, ok := body.(Doc); ok {
		return nameOf(doc, attribute)
	}
	text, ok := body.([]byte)
	if !ok {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return ""
		}
	}
	if !bytes.Contains(bytes.ToLower(text), []byte(strings.ToLower(attribute))) {
		return ""
	}
	for at := 0; at < len(text); {
		m := memberAt(text, at)
		if m.name == nil {
			next := bytes.IndexAny(text[at+1:], `"'&<`)
			if next < 0 {
				return ""
			}
			at += 1 + next
			continue
		}
		if name, ok := m.named(attribute); ok {
			return name
		}
		at += m.size
	}
	return ""
}

// member is a member of a body, and its text in one of the forms.
type member struct {
	name                        []byte
	quoted, single, query, text []byte
	size                        int // of all of it
}

// memberAt returns the member that begins at a place of a text. Its name is nil when none does.
func memberAt(text []byte, at int) member {
	rest, before := text[at:], 0
	switch rest[0] {
	case '"', '\'':
		if m := quotedForm.FindSubmatch(rest); m != nil {
			return member{name: m[1], quoted: m[2], single: m[3], size: len(m[0])}
		}
		return member{}
	case '<':
		if m := xmlForm.FindSubmatch(rest); m != nil {
			return member{name: m[1], text: m[2], size: len(m[0])}
		}
		return member{}
	case '&':
		before = 1
	}
	if m := queryForm.FindSubmatch(rest[before:]); m != nil && (before == 1 || at == 0) {
		return member{name: m[1], query: m[2], size: before + len(m[0])}
	}
	return member{}
}

// named returns the text of the member, if it is the attribute and readable.
func (m member) named(attribute string) (name string, ok bool) {
	if !strings.EqualFold(string(m.name), attribute) {
		return "", false
	}
	var err error
	switch name = string(m.single) + string(m.text); {
	case len(m.quoted) > 0:
		err = json.Unmarshal(m.quoted, &name)
	case m.query != nil:
		name, err = url.QueryUnescape(string(m.query))
	}
	return name, err == nil
}
