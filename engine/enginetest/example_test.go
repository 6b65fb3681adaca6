package enginetest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/scimwright/scimwright/engine/enginetest"
)

// A test of a program that embeds the engine injects faults into the target, and reads what the target has received.
func ExampleTarget() {
	target := enginetest.NewTarget()
	server := httptest.NewServer(target)
	defer server.Close()
	target.Inject(enginetest.Fault{Method: "POST", Status: 503, Times: 1})

	for range 2 {
		resp, err := http.Post(server.URL+"/Users", "application/scim+json",
			strings.NewReader(`{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "ann"}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	fmt.Println(len(target.Users()), target.Requests())
	// Output:
	// 503
	// 201
	// 1 [POST /Users POST /Users]
}
