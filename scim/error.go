package scim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Type is the keyword (scimType) that distinguishes the causes of a 400 or 409 (RFC 7644 table 9, RFC 9865 section 2.1).
type Type string

// The registered keywords.
const (
	InvalidFilter Type = "invalidFilter" // filter syntax, or a comparison that the attribute does not allow
	TooMany       Type = "tooMany"       // more results than the server returns
	Uniqueness    Type = "uniqueness"    // the value of a unique attribute is already in use or reserved
	Mutability    Type = "mutability"    // the attribute's mutability does not allow the change
	InvalidSyntax Type = "invalidSyntax" // the body is malformed or not the expected message
	InvalidPath   Type = "invalidPath"   // a PATCH path is malformed
	NoTarget      Type = "noTarget"      // a PATCH path selects nothing
	InvalidValue  Type = "invalidValue"  // a value is missing, or is not valid for the operation, the type or the schema
	InvalidVers   Type = "invalidVers"   // the protocol version is not supported
	Sensitive     Type = "sensitive"     // the URI contains personal data
	InvalidCursor Type = "invalidCursor" // the cursor was not issued by this server
	ExpiredCursor Type = "expiredCursor" // the cursor has expired
	InvalidCount  Type = "invalidCount"  // the count is not valid for the cursor
)

// Error is an error message in its JSON form (RFC 7644 section 3.12). Detail is the human-readable description.
type Error struct {
	Status   int // the HTTP status
	ScimType Type
	Detail   string
}

// Errorf returns an error with a formatted detail.
func Errorf(status int, t Type, format string, args ...any) *Error {
	return &Error{Status: status, ScimType: t, Detail: fmt.Sprintf(format, args...)}
}

// Error returns a message such as "400 invalidFilter: unexpected end".
func (e *Error) Error() string {
	s := strconv.Itoa(e.Status)
	if e.ScimType != "" {
		s += " " + string(e.ScimType)
	}
	if e.Detail != "" {
		return s + ": " + e.Detail
	}
	if text := http.StatusText(e.Status); text != "" && e.ScimType == "" {
		s += " " + text
	}
	return s
}

// MarshalJSON writes the Error message. The member status is a string, as RFC 7644 section 3.12 requires.
func (e Error) MarshalJSON() ([]byte, error) {
	o := message(ErrorMessage)
	if e.ScimType != "" {
		o.Set("scimType", string(e.ScimType))
	}
	if e.Detail != "" {
		o.Set("detail", e.Detail)
	}
	o.Set("status", strconv.Itoa(e.Status))
	return o.MarshalJSON()
}

// UnmarshalJSON reads an Error message. The member status may be a string or, as some servers send it, a number. UnmarshalJSON fails if the
// object does not name the Error schema or has no valid status.
func (e *Error) UnmarshalJSON(data []byte) error {
	o, err := decodeMessage(data, ErrorMessage)
	if err != nil {
		return err
	}
	status, err := wireStatus(o)
	if err != nil {
		return err
	}
	*e = Error{Status: status, ScimType: Type(o.Text("scimType")), Detail: o.Text("detail")}
	return nil
}

// message returns a new protocol message.
func message(urn string) *Object {
	return &Object{members: []Member{{Name: "schemas", Value: []any{urn}}}}
}

// decodeMessage reads a protocol message and checks that it names the schema urn.
func decodeMessage(data []byte, urn string) (*Object, error) {
	o, err := Decode(data)
	if err != nil {
		return nil, err
	}
	return o, checkMessage(o, urn)
}

func checkMessage(o *Object, urn string) error {
	for _, v := range o.Array("schemas") {
		if s, ok := v.(string); ok && EqualName(s, urn) {
			return nil
		}
	}
	return fmt.Errorf("schemas does not name %s", urn)
}

// wireStatus reads the member "status". It returns 0 if the member is absent.
func wireStatus(o *Object) (int, error) {
	v, _ := o.Get("status")
	var text string
	switch v := v.(type) {
	case nil:
		return 0, nil
	case string:
		text = v
	case json.Number:
		text = string(v)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 || n > 599 {
		return 0, fmt.Errorf("status is %s, not an HTTP status", AppendValue(nil, v))
	}
	return n, nil
}
