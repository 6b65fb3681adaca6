package conformance

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// bulkPath is where bulk jobs are posted (RFC 7644 section 3.7).
const bulkPath = "/Bulk"

// expectBulk announces in the journal what the POST operations of a bulk job may create. The entries stay open until
// [session.settleBulk] has seen the answer; of an operation without a result the object is looked up by name.
func (s *session) expectBulk(req Request) {
	for _, op := range bulkOperations(req) {
		where, _ := op["path"].(string)
		if s.naming[where] == "" || !strings.EqualFold(textOf(op["method"]), http.MethodPost) {
			continue
		}
		data, _ := op["data"].(Doc)
		entry, err := s.journal.next(where, s.naming[where], nameOf(data, s.naming[where]))
		if err != nil {
			panic(noAnswer{err})
		}
		s.bulk = append(s.bulk, bulkEntry{entry: entry, id: textOf(op["bulkId"]), where: where, data: data})
	}
}

// A bulkEntry is what one POST operation of the job under way may create.
type bulkEntry struct {
	entry     int
	id, where string
	data      Doc
}

// settleBulk puts what the results of a bulk job say was created, or is gone, into the ledger and the journal.
func (s *session) settleBulk(ledger *[]*Created, req Request, res *Response) {
	expected := s.bulk
	s.bulk = nil
	results := res.Object().Array("Operations")
	taken := map[any]bool{} // a result belongs to one operation, even when two had the same bulkId
	for _, e := range expected {
		if !res.OK() {
			s.note(s.journal.gone(e.entry))
			continue
		}
		for _, result := range results {
			o := object(result)
			if taken[o] || o.Text("bulkId") != e.id || !strings.EqualFold(o.Text("method"), http.MethodPost) {
				continue
			}
			if id := lastSegment(o.Text("location")); id != "" {
				s.own(ledger, &Created{ID: id, Collection: e.where, Sent: e.data, entry: e.entry, name: nameOf(e.data, s.naming[e.where])})
			} else if status := o.Text("status"); strings.HasPrefix(status, "4") {
				s.note(s.journal.gone(e.entry))
			}
			taken[o] = true
			break
		}
	}
	for _, op := range bulkOperations(req) {
		if !strings.EqualFold(textOf(op["method"]), http.MethodDelete) {
			continue
		}
		for _, c := range *ledger {
			for _, result := range results {
				o := object(result)
				done := o.Text("status") == "204" && strings.EqualFold(o.Text("method"), http.MethodDelete) && lastSegment(o.Text("location")) == c.ID
				if done && c.Path() == op["path"] && !c.gone {
					s.depart(c, http.StatusNoContent)
				}
			}
		}
	}
}

func bulkOperations(req Request) []Doc {
	body, _ := req.Body.(Doc)
	operations, _ := body["Operations"].([]Doc)
	return operations
}

func textOf(v any) string {
	text, _ := v.(string)
	return text
}

// lastSegment returns the id at the end of a resource's address.
func lastSegment(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return ""
	}
	return path.Base(u.Path)
}
