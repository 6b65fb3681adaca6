package plan

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Endpoints relative to the base URL.
const (
	users  = "/Users"
	groups = "/Groups"
)

// PageSize is the parameter count of lookups, and of the requests that read a list page by page.
const PageSize = 100

// LookupPath returns the path of a lookup by a unique attribute. The value is quoted as a JSON string (RFC 7644 section 3.4.2.2), then
// escaped for the URL.
func LookupPath(endpoint, attribute, value string) string {
	filter := attribute + " eq " + string(scim.AppendValue(nil, value))
	return endpoint + "?filter=" + escape(filter) + "&startIndex=1&count=" + strconv.Itoa(PageSize)
}

// escape does the same as url.QueryEscape, but encodes a space as %20, which every server supports.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func resourcePath(endpoint, id string) string { return endpoint + "/" + url.PathEscape(id) }

// ordinary reports whether a value contains no character that a filter must escape or a server may misinterpret. Only if a lookup of such a
// value is rejected does the engine record that the target cannot filter. Other rejections may be caused by the value.
func ordinary(value string) bool {
	odd := func(r rune) bool {
		letter, digit := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z', '0' <= r && r <= '9'
		return !letter && !digit && !strings.ContainsRune("@.-_ ", r)
	}
	return !strings.ContainsFunc(value, odd)
}

// hits returns the matching resources of a lookup, or the failure if the response is unusable. hits omits resources with another value: a
// server that ignores the filter returns them, and they must not be linked.
func hits(r Response, attribute, value string) ([]*scim.Resource, *failure) {
	all, f := listed(r)
	if f != nil {
		return nil, f
	}
	var out []*scim.Resource
	for _, hit := range all {
		if got, ok := textAt(&hit.Object, attribute); ok && !strings.EqualFold(got, value) {
			continue
		}
		if hit.ID() == "" {
			return nil, rejected(r, "the response to a lookup has a resource without an id")
		}
		out = append(out, hit)
	}
	if total, known := count(bodyOf(r), "totalResults"); known && total > 0 && len(all) == 0 {
		return nil, transient(r, fmt.Sprintf("the response to a lookup has totalResults %d, but no resource", total))
	}
	return out, nil
}

// listed returns the resources on a page of a list. A 404 is an empty page if it is a SCIM response; any other 404 is an error, because it
// may come from another server such as a proxy.
func listed(r Response) ([]*scim.Resource, *failure) {
	switch {
	case r.Err == nil && r.Status == http.StatusNotFound && none(r.Body):
		return nil, nil
	case r.Err == nil && r.Status == http.StatusNotFound:
		return nil, foreignNotFoundFailure(r)
	case r.Err != nil || r.Status != http.StatusOK:
		return nil, fail(r)
	case r.Body == nil:
		return nil, transient(r, "the response has no body")
	}
	list := &scim.Resource{Object: *r.Body}
	_, hasResources := r.Body.Get("Resources")
	_, hasTotal := r.Body.Get("totalResults")
	if !list.HasSchema(scim.ListResponseMessage) && !hasResources && !hasTotal {
		return nil, transient(r, "the response is not a ListResponse")
	}
	var out []*scim.Resource
	for _, v := range r.Body.Array("Resources") {
		o, ok := v.(*scim.Object)
		if !ok {
			return nil, rejected(r, "the response lists a value that is not a resource")
		}
		out = append(out, &scim.Resource{Object: *o})
	}
	return out, nil
}

// none reports whether the body of a 404 is an Error or an empty ListResponse.
func none(body *scim.Object) bool {
	if body == nil {
		return false
	}
	said := &scim.Resource{Object: *body}
	return said.HasSchema(scim.ErrorMessage) || said.HasSchema(scim.ListResponseMessage) && len(body.Array("Resources")) == 0
}

// foreignNotFoundFailure returns the failure for a 404 that is not a SCIM response.
func foreignNotFoundFailure(r Response) *failure {
	what := "no SCIM error"
	if r.Page != "" {
		what = r.Page + " instead of a SCIM error"
	}
	return transient(r, "404 Not Found with "+what+": check the base URL of the target")
}

// count reads an integer; some servers send it as a string.
func count(o *scim.Object, name string) (int, bool) {
	v, ok := o.Get(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(fmt.Sprint(v))
	return n, err == nil
}

// textAt returns a string at an attribute path with at most one dot; ok is false if the path has no string.
func textAt(o *scim.Object, path string) (string, bool) {
	p, err := scim.ParseAttrPath(path)
	if err != nil {
		return "", false
	}
	if p.URN != "" {
		if ext := o.Complex(p.URN); ext != nil {
			o = ext
		}
	}
	name := p.Name
	if p.Sub != "" {
		o, name = o.Complex(p.Name), p.Sub
	}
	v, _ := o.Get(name)
	s, ok := v.(string)
	return s, ok
}

// ids returns the ids of resources for a message.
func ids(rs []*scim.Resource) string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = r.ID()
	}
	return strings.Join(out, ", ")
}
