package observed_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/scimwright/scimwright/conformance/observed"
)

// A recorder between a client and a server, and the verdict on both.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain") // not a SCIM error
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "not found")
	}))
	defer server.Close()
	recorder, err := observed.NewRecorder(server.URL, observed.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	between := httptest.NewServer(recorder)
	defer between.Close()

	req, _ := http.NewRequest(http.MethodPatch, between.URL+"/Users/7", strings.NewReader(`{"Operations": [{"op": "remove"}]}`))
	req.Header.Set("Content-Type", "application/scim+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()

	result := observed.Judge(recorder.Target(), recorder.Exchanges(), observed.Checks())
	for _, c := range result.Checks {
		for _, f := range c.Findings {
			fmt.Println(observed.SideOf(c.Check), c.Check.ID, f.Outcome, f.What, f.Got)
		}
	}
	// Output:
	// server traffic.error-media-type warn Content-Type of PATCH /Users/7 text/plain
	// client client.user-agent info User-Agent of the request of PATCH /Users/7 Go-http-client/1.1
	// client client.credentials info Authorization of the request of PATCH /Users/7 none
	// client client.schemas.missing fail $.schemas of PATCH /Users/7 nothing
	// client client.patch.remove-path fail $.Operations[0].path of PATCH /Users/7 nothing
}
