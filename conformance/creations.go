package conformance

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// The journal announces every object that a request may create, on a correct or a faulty target, before the request is sent. The response
// settles the entry.

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
func (e *estate) expect(req Request) []prospect {
	var expected []prospect
	if req.Method == http.MethodPost && req.Path == bulkPath {
		for _, op := range bulkOperations(req.Body) {
			if p, ok := e.prospect(strings.ToUpper(op.Method), op.target(), op.Data); ok {
				p.operation = op
				expected = append(expected, p)
			}
		}
	} else if p, ok := e.prospect(req.Method, req.Path, req.Body); ok {
		expected = append(expected, p)
	}
	for i := range expected {
		entry, err := e.journal.next(expected[i].openEntry)
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
func (e *estate) prospect(method, where string, body any) (p prospect, ok bool) {
	if method == http.MethodPost && where == mePath {
		where = "/Users"
	}
	p.collection = where
	if e.naming[where] == "" {
		dir, id := path.Split(where)
		p.collection = strings.TrimSuffix(dir, "/")
		unescaped, err := url.PathUnescape(id)
		if err != nil || strings.HasPrefix(id, ".") || strings.HasPrefix(id, "bulkId:") {
			return p, false
		}
		p.id = unescaped
	}
	if p.attribute = e.naming[p.collection]; p.attribute == "" || e.owned[where] {
		return p, false
	}
	p.sent, _ = body.(Doc)
	p.name = nameIn(body, p.attribute)
	if second := nameIn(body, secondName); !e.marked(p.name) && e.marked(second) {
		p.attribute, p.name = secondName, second
	}
	// What neither is called by the run nor called like the run would not be the run's, even if it answered.
	switch method {
	case http.MethodPost:
		return p, true
	case http.MethodPut:
		return p, e.marked(p.id) || e.marked(p.name)
	case http.MethodPatch:
		return p, e.marked(p.id)
	}
	return p, false
}

// settle enters what a response reports as created or deleted into the ledger and the journal. [estate.resolve] searches for the objects of
// entries that stay open.
func (e *estate) settle(ledger *[]*Created, expected []prospect, req Request, res *Response) {
	if req.Method == http.MethodPost && req.Path == bulkPath {
		e.settleBulk(ledger, expected, req, res)
		return
	}
	for _, p := range expected {
		switch id := cmp.Or(identify(res), p.id); {
		case refuses(res.Status):
			e.journaled(e.journal.gone(p.entry))
		case res.OK() && id != "":
			e.recordCreated(ledger, p, id, res.Object())
		case res.OK() && p.name == "" && req.Method == http.MethodPost && req.Path == p.collection:
			e.leave(&Created{Collection: p.collection}, res.Name+" answered "+statusText(res.Status)+" to a body without a name, and told no id")
		}
	}
	if req.Method == http.MethodDelete && (res.OK() || res.Status == http.StatusNotFound) {
		for _, c := range *ledger {
			if c.Path() == req.Path && !c.gone {
				e.markDeleted(c, res.Status)
			}
		}
	}
}

// refuses tells whether a status says that nothing was done. A server error may have come after the deed.
func refuses(status int) bool {
	return status >= 300 && status < 500 || status == http.StatusNotImplemented
}

// recordCreated enters the object that a prospect has become into the ledger and the journal.
func (e *estate) recordCreated(ledger *[]*Created, p prospect, id string, resource any) {
	c := &Created{ID: id, Collection: p.collection, Sent: p.sent, Resource: object(resource), entry: p.entry, name: p.name}
	e.owned[c.Path()] = true
	e.wrote = true
	e.journaled(e.journal.created(p.entry, c.Collection, c.ID))
	*ledger = append(*ledger, c)
}

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
