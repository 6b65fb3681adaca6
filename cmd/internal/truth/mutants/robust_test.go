package mutants

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/scim"
)

// oddBodies are bodies of requests and responses that no correct server returns. Another mutant of the same server can cause them.
var oddBodies = []string{
	``,
	`"x"`,
	`[]`,
	`{}`,
	`{"Resources":[],"Operations":[],"members":[],"emails":[],"meta":{},"name":{},"id":"","totalResults":0}`,
	`{"Resources":[null,1,"x",[],{}],"Operations":[null,1,"x",[],{}],"totalResults":"x","itemsPerPage":null,"startIndex":{}}`,
	`{"Operations":[{"op":"replace","path":"emails[type eq","value":null},{"op":"add","value":[1]},{"op":"remove","path":"."},
		{"method":"POST","path":"","bulkId":null,"data":"x","status":200,"location":"x"},{"method":"DELETE","path":"/","status":{"code":1}}]}`,
	`{"id":1,"schemas":"x","meta":"x","name":"x","userName":null,"displayName":[],"active":"x","":"x","password":{},"groups":["x"],
		"emails":["x",null,{}],"members":["x",null,{"value":1}],"addresses":"x","phoneNumbers":[1],"roles":["x"],"photos":null,
		"attributes":["x"],"schemaExtensions":["x"],"authenticationSchemes":["x"],"patch":1,"bulk":1,"filter":[],"sort":null,"etag":"x",
		"` + scim.EnterpriseUserSchema + `":"x","disks":["x"],"aliases":"x","nextCursor":1,"detail":[],"scimType":{},"status":0}`,
	`{"id":"x","userName":"x","displayName":"x","meta":{"location":"x","created":"x","lastModified":"","version":"x","resourceType":1},
		"emails":[{"value":1,"primary":"x"}],"members":[{}],"name":{"familyName":null},"nextCursor":"","detail":"","scimType":""}`,
}

// Mutants and variants accept messages of any form, because tests apply several mutants to the same server.
func TestMutants_AcceptOddMessages(t *testing.T) {
	all := slices.Concat(All(), Incompatible())
	for _, v := range Variants() {
		all = append(all, Mutant{v.ID, v.Permits, v.Wrap})
	}
	for _, m := range alltest.Sample(all, 20) {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			for _, received := range oddBodies {
				for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
					h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Location", "x")
						w.Header().Set("Content-Type", "x")
						w.Header().Set("Etag", "x")
						w.WriteHeader(status)
						_, _ = w.Write([]byte(received))
					}))
					for _, r := range oddRequests() {
						if problem := panicOf(h, r); problem != "" {
							t.Fatalf("%s %s, response %d %s: %s", r.Method, r.URL, status, received, problem)
						}
					}
				}
			}
		})
	}
}

// oddRequests returns requests to all endpoints, with the bodies oddBodies.
func oddRequests() []*http.Request {
	var out []*http.Request
	query := "?" + url.Values{
		"filter": {`emails[type eq "work" and`}, "sortBy": {"emails.value"}, "sortOrder": {"x"}, "startIndex": {"-1"}, "count": {"50"},
		"cursor": {"x"}, "attributes": {",.,:"}, "excludedAttributes": {"id,"},
	}.Encode()
	for _, path := range []string{"", "/Users", "/Groups", "/Devices", "/Me", "/Schemas", "/ResourceTypes", "/ServiceProviderConfig"} {
		for _, target := range []string{path, path + "/x", path + query} {
			out = append(out, httptest.NewRequest(http.MethodGet, "/scim/v2"+target, http.NoBody))
		}
	}
	for _, body := range oddBodies {
		for _, target := range []string{
			"POST /Users", "POST /Groups", "POST /Devices", "POST /Bulk", "POST /.search", "POST /Users/.search", "PUT /Users/x", "PUT /Groups/x",
			"PATCH /Users/x", "PATCH /Groups/x", "PATCH /Devices/x", "DELETE /Users/x", "DELETE /Groups/x",
		} {
			method, path, _ := strings.Cut(target, " ")
			out = append(out, httptest.NewRequest(method, "/scim/v2"+path, strings.NewReader(body)))
		}
	}
	return out
}

// panicOf returns the panic of a handler. A panic with http.ErrAbortHandler closes the connection and is permitted.
func panicOf(h http.Handler, r *http.Request) (problem string) {
	defer func() {
		if v := recover(); v != nil && v != any(http.ErrAbortHandler) {
			problem = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), r)
	return ""
}
