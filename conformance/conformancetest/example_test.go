package conformancetest_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/conformancetest"
)

// A server with one endpoint, whose response has errors.
var myServer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/scim+json")
	if r.URL.Path != "/scim/v2/ServiceProviderConfig" {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404"}`)
		return
	}
	fmt.Fprint(w, `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],"patch":{"supported":false}}`)
})

// In a test of a server: one line, with a subtest for each check.
func ExampleRun() {
	_ = func(t *testing.T) {
		conformancetest.Run(t, myServer, conformancetest.Options{Prefix: "/scim/v2", Token: "secret"})
	}
}

// In other programs: the result is data.
func ExampleTransport() {
	selected, err := conformance.Selection{Only: []string{"discovery.service-provider-config"}}.Apply(checks.All())
	if err != nil {
		fmt.Println(err)
		return
	}
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Transport: conformancetest.Transport(myServer)}
	result, err := conformance.Run(context.Background(), target, conformance.Options{Checks: selected, ReadOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict, result.Checks[0].Outcome)
	// Output: findings fail
}
