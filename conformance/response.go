package conformance

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// A Response is the response to a request.
type Response struct {
	// Name is the method and the path, for findings: "GET /Users/42".
	Name   string
	Status int
	Header http.Header
	Body   []byte
	// TLS is the state of the connection. It is nil if the connection was not encrypted.
	TLS *tls.ConnectionState

	exchange *wirelog.Exchange
	first    string     // how the same request failed before the run repeated it; empty if this is the first response
	slow     bool       // the same request has timed out before, and this response took long, too
	sent     bool       // the suite has sent the request
	lost     *callError // the first attempt got no response but took effect; this is the response to the repeat of the request
	object   *scim.Object
	problem  error
	// servedBefore reports that the target had evaluated a filter of the same form before.
	servedBefore bool
}

// OK reports whether the status is 2xx.
func (r *Response) OK() bool { return r.Status >= 200 && r.Status < 300 }

// Without describes a response that lacks a part, such as "an id": "returned 201 without an id", or "returned 400".
func (r *Response) Without(part string) string {
	if !r.OK() {
		return fmt.Sprintf("returned %d", r.Status)
	}
	return fmt.Sprintf("returned %d without %s", r.Status, part)
}

// Object returns the body as a JSON object, or nil if the body is not one. The methods of the object accept nil.
func (r *Response) Object() *scim.Object {
	object, _ := r.decode()
	return object
}

func (r *Response) decode() (*scim.Object, error) {
	if r.object == nil && r.problem == nil {
		r.object, r.problem = scim.Decode(r.Body)
	}
	return r.object, r.problem
}

// Problem returns why the body is not a JSON object that can be read: it is not JSON, or an object has a name twice, also in another case.
// It is nil if Object returns an object, or if the body is empty.
func (r *Response) Problem() error {
	if len(r.Body) == 0 {
		return nil
	}
	_, err := r.decode()
	return err
}

// MediaType returns the Content-Type without parameters, in lower case.
func (r *Response) MediaType() string {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(r.Header.Get("Content-Type"))
	}
	return media
}

// ScimType returns the scimType of an Error body, or "" if it is absent.
func (r *Response) ScimType() string { return r.Object().Text("scimType") }

// Resources returns the items of a ListResponse body that are objects.
func (r *Response) Resources() []*scim.Object {
	var out []*scim.Object
	for _, item := range r.Object().Array("Resources") {
		if o, ok := item.(*scim.Object); ok {
			out = append(out, o)
		}
	}
	return out
}

// IDs returns the ids of the items of a ListResponse body.
func (r *Response) IDs() []string {
	var out []string
	for _, o := range r.Resources() {
		out = append(out, o.Text("id"))
	}
	return out
}

// Total returns totalResults of a ListResponse body, or -1 if it is absent or not an integer.
func (r *Response) Total() int {
	v, _ := r.Object().Get("totalResults")
	return integer(v)
}

// integer returns the value of a JSON integer in the range of int, otherwise -1.
func integer(v any) int {
	n, ok := v.(json.Number)
	if !ok {
		return -1
	}
	i, err := n.Int64()
	if err != nil || int64(int(i)) != i {
		return -1
	}
	return int(i)
}

// object returns a decoded value as an object, or nil if the value is not one.
func object(v any) *scim.Object {
	o, _ := v.(*scim.Object)
	return o
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// MaxBody is the maximum size of a response body, in bytes. A larger body counts as an error of the network. The pages that checks request
// have at most 100 resources.
const MaxBody = 8 << 20
