package conformance

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Before a request is sent, the journal announces every object that the request may create, on a correct or a faulty target. After the
// response, the entry is closed, or lists the object as created.

// secondName is the attribute that contains the run's marker if a check omits the name of an object on purpose.
const secondName = "externalId"

// mePath is the resource of the authenticated user; a POST to it registers a user (RFC 7644 section 3.11).
const mePath = "/Me"

// naming returns the attribute that names an object, by collection, for the collections that every run knows; see [T.Names]. The map
// includes schemas and resource types, because a check tries to create such resources, and a faulty target may permit that.
func naming() map[string]string {
	return map[string]string{"/Users": "userName", "/Groups": "displayName", "/Schemas": "name", "/ResourceTypes": "name"}
}

// A prospect is an object that a request may create.
type prospect struct {
	openEntry

	sent Doc
	// operation is the operation of the bulk request that may create the object.
	operation bulkOperation
}

// path returns the path of the object below the base URL, if the request contains its id.
func (p prospect) path() string { return (&Created{Collection: p.collection, ID: p.id}).Path() }

// prospects returns the objects that a request may create.
func (e *createdObjects) prospects(req Request) []prospect {
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
	return expected
}

// expect announces in the journal the objects that a request may create.
func (e *createdObjects) expect(req Request) []prospect {
	expected := e.prospects(req)
	for i := range expected {
		entry, err := e.journal.next(expected[i].openEntry)
		if err != nil {
			// A write that is not in the journal is not sent.
			panic(noAnswer{err})
		}
		expected[i].entry = entry
	}
	return expected
}

// prospect returns the object that a request may create. A POST to a collection may create one on any target; a POST to another path, and a
// PUT or PATCH of an absent object, may create one on a faulty target.
func (e *createdObjects) prospect(method, where string, body any) (p prospect, ok bool) {
	if method == http.MethodPost && where == mePath {
		where = "/Users"
	}
	p.collection = where
	if e.naming[where] == "" {
		var id string
		p.collection, id = splitPath(where)
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
	// An object whose id and name lack the marker of the run was not created by the run, even if a request for it succeeds.
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

// recordOutcome enters what a response reports as created or deleted into the ledger and the journal. If it is unknown whether an object
// exists, its entry stays open, and [createdObjects.finish] searches for it at the end of the run.
func (e *createdObjects) recordOutcome(ledger *[]*Created, expected []prospect, req Request, res *Response) {
	if req.Method == http.MethodPost && req.Path == bulkPath {
		e.recordBulkOutcome(ledger, expected, req, res)
		return
	}
	for _, p := range expected {
		switch id := cmp.Or(identify(res), p.id); {
		case nothingChanged(res.Status):
			e.journaled(e.journal.gone(p.entry))
		case res.OK() && id != "":
			c := e.recordCreated(ledger, p, id, res.Object())
			if req.Method == http.MethodPost {
				c.post = res.exchange
			}
		case res.OK() && p.name == "" && req.Method == http.MethodPost && req.Path == p.collection:
			e.addLeftover(&Created{Collection: p.collection},
				res.Name+" returned "+statusText(res.Status)+" without an id, for a body without a name")
		}
	}
	if req.Method == http.MethodDelete && (res.OK() || isAbsent(res.Status)) {
		for _, c := range *ledger {
			if c.Path() == req.Path && !c.gone {
				e.markDeleted(c, res.Status)
			}
		}
	}
}

// nothingChanged reports whether a status means that the target changed nothing. The result is false for a server error, which may occur
// after the change.
func nothingChanged(status int) bool {
	return status >= 300 && status < 500 || status == http.StatusNotImplemented
}

// recordCreated enters the created object of a prospect into the ledger and the journal.
func (e *createdObjects) recordCreated(ledger *[]*Created, p prospect, id string, resource any) *Created {
	c := &Created{ID: id, Collection: p.collection, Sent: p.sent, Resource: object(resource), entry: p.entry, name: p.name}
	e.owned[c.Path()] = true
	e.wrote = true
	if e.removal.refusal(c.Collection) != "" {
		e.removal.held[c.Path()] = true
	}
	e.journaled(e.journal.created(p.entry, c.Collection, c.ID))
	*ledger = append(*ledger, c)
	return c
}

// identify returns the id of a created resource: from the body, else from the end of the Location header.
//
// After a malformed request a target may return a body that [Response.Object] rejects: half a surrogate pair, a duplicate name, deep
// nesting. identify also searches for the id in such a body, because without the id the run could not remove the object.
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

// splitPath splits the path of an object below the base URL into its collection and its escaped id.
func splitPath(where string) (collection, id string) {
	dir, id := path.Split(where)
	return strings.TrimSuffix(dir, "/"), id
}

// lastSegment returns the id at the end of the address of a resource.
func lastSegment(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return ""
	}
	return path.Base(u.Path)
}
