package conformance

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// bulkPath is where bulk jobs are posted (RFC 7644 section 3.7).
const bulkPath = "/Bulk"

// A bulkOperation is one operation of a bulk job, as far as it can create or remove something.
type bulkOperation struct {
	Method, Path, BulkID string
	Data                 Doc
}

// bulkOperations returns the operations of a job, however the check has put it together.
func bulkOperations(body any) []bulkOperation {
	data, ok := body.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil // newRequest says so
		}
	}
	var parts struct{ Operations []json.RawMessage }
	if json.Unmarshal(data, &parts) != nil {
		return nil
	}
	var operations []bulkOperation
	for _, part := range parts.Operations {
		var op bulkOperation
		if json.Unmarshal(part, &op) == nil {
			operations = append(operations, op)
		}
	}
	return operations
}

// target is the path of an operation below the base URL, whatever else it was written with.
func (op bulkOperation) target() string {
	u, err := url.Parse(op.Path)
	if err != nil {
		return ""
	}
	return "/" + strings.TrimPrefix(u.Path, "/")
}

// answers tells whether a result of a job belongs to the operation: those of POST by bulkId, those of others by location.
func (op bulkOperation) answers(result *scim.Object) bool {
	if !strings.EqualFold(result.Text("method"), op.Method) {
		return false
	}
	if strings.EqualFold(op.Method, http.MethodPost) {
		return result.Text("bulkId") == op.BulkID
	}
	return lastSegment(result.Text("location")) == lastSegment(op.Path)
}

// settleBulk puts what the results of a bulk job say was created, or is gone, into the ledger and the journal. What has no
// result stays open.
func (e *estate) settleBulk(ledger *[]*Created, expected []prospect, req Request, res *Response) {
	results := res.Object().Array("Operations")
	taken := map[any]bool{} // a result belongs to one operation, even when two had the same bulkId
	for _, p := range expected {
		if refuses(res.Status) {
			e.journaled(e.journal.gone(p.entry))
			continue
		}
		for _, result := range results {
			o := object(result)
			if taken[o] || !p.operation.answers(o) {
				continue
			}
			failed := strings.HasPrefix(o.Text("status"), "4")
			if id := lastSegment(o.Text("location")); id != "" && !failed {
				e.recordCreated(ledger, p, id, nil)
			} else if failed {
				e.journaled(e.journal.gone(p.entry))
			}
			taken[o] = true
			break
		}
	}
	for _, op := range bulkOperations(req.Body) {
		if !strings.EqualFold(op.Method, http.MethodDelete) {
			continue
		}
		for _, c := range *ledger {
			for _, result := range results {
				o := object(result)
				if o.Text("status") == "204" && op.answers(o) && c.Path() == op.Path && !c.gone {
					e.markDeleted(c, http.StatusNoContent)
				}
			}
		}
	}
}
