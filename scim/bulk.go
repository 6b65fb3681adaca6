package scim

import (
	"net/http"
	"strconv"
)

// BulkRequest is a request with several operations (RFC 7644 section 3.7). FailOnErrors is the number of errors after which the server
// stops. Nil means no limit.
type BulkRequest struct {
	FailOnErrors *int
	Operations   []BulkOperation
}

// BulkOperation is one operation of a bulk request, or its result. Data holds the body of a POST, PUT or PATCH (for a PATCH a complete
// PatchOp message). In a result, Status is the HTTP status, Location the URI of the resource, and Response the error, if any.
type BulkOperation struct {
	Method   string
	BulkID   string
	Version  string
	Path     string
	Data     *Object
	Location string
	Status   int
	Response *Object
}

// BulkResponse is the response to a bulk request. It has one result per attempted operation.
type BulkResponse struct {
	Operations []BulkOperation
}

// ParseBulkRequest reads the message. It checks the structure only. The server validates methods, paths and bulkIds per operation. The
// error is a *Error, 400 invalidSyntax or invalidValue.
func ParseBulkRequest(o *Object) (*BulkRequest, error) {
	operations, err := bulkOperations(o, BulkRequestMessage)
	if err != nil {
		return nil, err
	}
	req := &BulkRequest{Operations: operations}
	if err := wholeNumber(o, "failOnErrors", func(n int) { req.FailOnErrors = &n }); err != nil {
		return nil, Errorf(http.StatusBadRequest, InvalidValue, "%v", err)
	}
	return req, nil
}

// MarshalJSON writes the message.
func (r BulkRequest) MarshalJSON() ([]byte, error) {
	o := message(BulkRequestMessage)
	if r.FailOnErrors != nil {
		o.Set("failOnErrors", *r.FailOnErrors)
	}
	o.Set("Operations", bulkObjects(r.Operations))
	return o.MarshalJSON()
}

// UnmarshalJSON reads the message with [Decode] and [ParseBulkRequest].
func (r *BulkRequest) UnmarshalJSON(data []byte) error {
	return unmarshal(data, r, ParseBulkRequest)
}

// MarshalJSON writes the message.
func (r BulkResponse) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// AppendJSON appends the JSON encoding of the message to dst.
func (r BulkResponse) AppendJSON(dst []byte) []byte {
	o := message(BulkResponseMessage)
	o.Set("Operations", bulkObjects(r.Operations))
	return o.AppendJSON(dst)
}

// UnmarshalJSON reads the message; status may be a string or a number.
func (r *BulkResponse) UnmarshalJSON(data []byte) error {
	o, err := Decode(data)
	if err != nil {
		return err
	}
	operations, err := bulkOperations(o, BulkResponseMessage)
	if err != nil {
		return err
	}
	r.Operations = operations
	return nil
}

func bulkObjects(operations []BulkOperation) []any {
	out := make([]any, len(operations))
	for i, b := range operations {
		o := &Object{}
		for _, m := range []struct{ name, value string }{
			{"method", b.Method}, {"bulkId", b.BulkID}, {"version", b.Version}, {"path", b.Path}, {"location", b.Location},
		} {
			if m.value != "" {
				o.Set(m.name, m.value)
			}
		}
		if b.Data != nil {
			o.Set("data", b.Data)
		}
		if b.Status != 0 {
			o.Set("status", strconv.Itoa(b.Status))
		}
		if b.Response != nil {
			o.Set("response", b.Response)
		}
		out[i] = o
	}
	return out
}

func bulkOperations(o *Object, urn string) ([]BulkOperation, error) {
	if err := checkMessage(o, urn); err != nil {
		return nil, Errorf(http.StatusBadRequest, InvalidSyntax, "%v", err)
	}
	v, _ := o.Get("Operations")
	list, ok := v.([]any)
	if !ok {
		return nil, Errorf(http.StatusBadRequest, InvalidSyntax, "Operations is not an array")
	}
	out := make([]BulkOperation, len(list))
	for i, v := range list {
		e, ok := v.(*Object)
		if !ok {
			return nil, Errorf(http.StatusBadRequest, InvalidSyntax, "Operations[%d] is not an object", i)
		}
		status, err := wireStatus(e)
		if err != nil {
			return nil, Errorf(http.StatusBadRequest, InvalidValue, "Operations[%d]: %v", i, err)
		}
		out[i] = BulkOperation{
			Method:   e.Text("method"),
			BulkID:   e.Text("bulkId"),
			Version:  e.Text("version"),
			Path:     e.Text("path"),
			Data:     e.Complex("data"),
			Location: e.Text("location"),
			Status:   status,
			Response: e.Complex("response"),
		}
	}
	return out, nil
}
