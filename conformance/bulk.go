package conformance

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// bulkPath is the endpoint of bulk requests (RFC 7644 section 3.7).
const bulkPath = "/Bulk"

// A bulkOperation is one operation of a bulk request. It has only the members that are needed to track created and deleted objects.
type bulkOperation struct {
	Method, Path, BulkID string
	Data                 Doc
}

// bulkOperations returns the operations of a bulk request. The body may be bytes or any value that can be marshaled.
func bulkOperations(body any) []bulkOperation {
	data, ok := body.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil // newRequest encodes the body again and returns the error
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

// target returns the path of an operation below the base URL, without query and fragment.
func (op bulkOperation) target() string {
	u, err := url.Parse(op.Path)
	if err != nil {
		return ""
	}
	return "/" + strings.TrimPrefix(u.Path, "/")
}

// hasResult reports whether a result in a bulk response belongs to the operation. For a POST it compares the bulkId, for any other method
// the id at the end of the location.
func (op bulkOperation) hasResult(result *scim.Object) bool {
	if !strings.EqualFold(result.Text("method"), op.Method) {
		return false
	}
	if strings.EqualFold(op.Method, http.MethodPost) {
		return result.Text("bulkId") == op.BulkID
	}
	return lastSegment(result.Text("location")) == lastSegment(op.Path)
}

// statusOfResult returns the status of a result in a bulk response, 0 if there is none. It accepts a string, a number, and the form
// {"code": "201"} of SCIM 2.0 drafts.
func statusOfResult(result *scim.Object) int {
	value, _ := result.Get("status")
	if inner, ok := value.(*scim.Object); ok {
		value, _ = inner.Get("code")
	}
	n, _ := strconv.Atoi(strings.Trim(show(value), `"`))
	return n
}

// createdID returns the id of the object that a POST of a bulk request has created, by its result. It returns "" if the operation failed,
// and if the location is missing or is that of the collection.
func createdID(result *scim.Object, op bulkOperation) string {
	if status := statusOfResult(result); status != 0 && status/100 != 2 {
		return ""
	}
	id := lastSegment(result.Text("location"))
	if id == lastSegment(op.Path) {
		return ""
	}
	return id
}

// recordBulkOutcome records the objects that a bulk response reports as created or deleted in the ledger and the journal. The journal entry
// of an operation without a result stays open, because the object may exist.
func (e *createdObjects) recordBulkOutcome(ledger *[]*Created, expected []prospect, req Request, res *Response) {
	results := res.Object().Array("Operations")
	taken := map[any]bool{} // each result belongs to one operation, even if two have the same bulkId
	for _, p := range expected {
		if nothingChanged(res.Status) {
			e.journaled(e.journal.gone(p.entry))
			continue
		}
		for _, result := range results {
			o := object(result)
			if taken[o] || !p.operation.hasResult(o) {
				continue
			}
			if id := createdID(o, p.operation); id != "" {
				e.recordCreated(ledger, p, id, nil).post = res.exchange
			} else if nothingChanged(statusOfResult(o)) {
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
				if statusOfResult(o) == http.StatusNoContent && op.hasResult(o) && c.Path() == op.Path && !c.gone {
					e.markDeleted(c, http.StatusNoContent)
				}
			}
		}
	}
}
