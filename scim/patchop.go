package scim

import (
	"net/http"
	"strconv"
	"strings"
)

// The operations of a PATCH (RFC 7644 section 3.5.2).
const (
	OpAdd     = "add"
	OpRemove  = "remove"
	OpReplace = "replace"
)

// PatchRequest is the body of a PATCH (RFC 7644 section 3.5.2).
type PatchRequest struct {
	Operations []PatchOperation
}

// PatchOperation is one operation. Op keeps its original spelling. Path is empty if absent.
type PatchOperation struct {
	Op, Path string
	Value    any  // a stored kind, see [Object]
	HasValue bool // distinguishes a null value from an absent one
}

// ParsePatchRequest reads the message. It must name the PatchOp schema and hold one or more operations. The op of each operation is add,
// remove or replace, ignoring case. A null path counts as absent. An empty path is invalid. Members that the RFC does not define are
// ignored. The error is a *Error: 400 invalidSyntax if this is not a PATCH message, invalidPath for an invalid path, invalidValue for an
// invalid op.
func ParsePatchRequest(o *Object) (*PatchRequest, error) {
	if err := checkMessage(o, PatchOpMessage); err != nil {
		return nil, Errorf(http.StatusBadRequest, InvalidSyntax, "%v", err)
	}
	v, _ := o.Get("Operations")
	operations, ok := v.([]any)
	if !ok || len(operations) == 0 {
		return nil, Errorf(http.StatusBadRequest, InvalidSyntax, "Operations is not an array of one or more operations")
	}
	req := &PatchRequest{Operations: make([]PatchOperation, len(operations))}
	for i, v := range operations {
		operation, ok := v.(*Object)
		if !ok {
			return nil, Errorf(http.StatusBadRequest, InvalidSyntax, "Operations[%d] is not an object", i)
		}
		if err := req.Operations[i].read(operation); err != nil {
			err.Detail = "Operations[" + strconv.Itoa(i) + "]: " + err.Detail
			return nil, err
		}
	}
	return req, nil
}

func (p *PatchOperation) read(o *Object) *Error {
	switch op, _ := o.Get("op"); op := op.(type) {
	case string:
		p.Op = op
	case nil:
		return Errorf(http.StatusBadRequest, InvalidSyntax, "op is missing")
	default:
		return Errorf(http.StatusBadRequest, InvalidSyntax, "op is not a string")
	}
	switch strings.ToLower(p.Op) {
	case OpAdd, OpRemove, OpReplace:
	default:
		return Errorf(http.StatusBadRequest, InvalidValue, "op %q is not one of add, remove, replace", p.Op)
	}
	switch path, _ := o.Get("path"); path := path.(type) {
	case nil:
	case string:
		if path == "" {
			return Errorf(http.StatusBadRequest, InvalidPath, "path is empty")
		}
		p.Path = path
	default:
		return Errorf(http.StatusBadRequest, InvalidPath, "path is not a string")
	}
	p.Value, p.HasValue = o.Get("value")
	return nil
}

func (p PatchOperation) object() *Object {
	o := NewObject(Member{"op", p.Op})
	if p.Path != "" {
		o.Set("path", p.Path)
	}
	if p.HasValue {
		o.Set("value", p.Value)
	}
	return o
}

// MarshalJSON writes the operation.
func (p PatchOperation) MarshalJSON() ([]byte, error) {
	return p.object().MarshalJSON()
}

// UnmarshalJSON reads one operation by the rules of [ParsePatchRequest].
func (p *PatchOperation) UnmarshalJSON(data []byte) error {
	o, err := Decode(data)
	if err != nil {
		return err
	}
	var out PatchOperation
	if err := out.read(o); err != nil {
		return err
	}
	*p = out
	return nil
}

// MarshalJSON writes the message.
func (r PatchRequest) MarshalJSON() ([]byte, error) {
	return r.object().MarshalJSON()
}

func (r PatchRequest) object() *Object {
	operations := make([]any, len(r.Operations))
	for i, p := range r.Operations {
		operations[i] = p.object()
	}
	o := message(PatchOpMessage)
	o.Set("Operations", operations)
	return o
}

// UnmarshalJSON reads the message with [Decode] and [ParsePatchRequest].
func (r *PatchRequest) UnmarshalJSON(data []byte) error {
	return unmarshal(data, r, ParsePatchRequest)
}
