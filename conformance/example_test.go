package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/scimwright/scimwright/conformance"
)

// A run with one check of your own. The same value can be added to those of package checks.
func ExampleRun() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/scim+json")
		fmt.Fprint(w, `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"], "patch": {"supported": true}}`)
	}))
	defer server.Close()

	documented := conformance.Check{
		ID: "discovery.documented", Title: "The ServiceProviderConfig links to the documentation", Level: conformance.Should,
		Requests: 1,
		Run: func(ctx context.Context, t *conformance.T) {
			config := t.Read(ctx, "/ServiceProviderConfig").Object()
			uri, _ := config.Get("documentationUri")
			t.Holds(uri != nil, "documentationUri", "a URL", uri)
		},
	}
	result, err := conformance.Run(context.Background(), conformance.Target{URL: server.URL},
		conformance.Options{Checks: []conformance.Check{documented}, ReadOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range result.Checks {
		fmt.Println(c.Check.ID, c.Outcome)
		for _, f := range c.Findings {
			fmt.Printf("%s: %s instead of %s\n", f.What, f.Got, f.Want)
		}
	}
	// Output:
	// discovery.documented warn
	// documentationUri: nothing instead of a URL
}
