package scimserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

// A SCIM server with a store in memory. Package memstore is a template for other stores.
func Example() {
	handler, err := scimserver.New(scimserver.Options{
		Store:  memstore.New(),
		Tokens: scimserver.StaticTokens("secret"),
		Prefix: "/scim/v2",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	call := func(method, path, body string) {
		req, _ := http.NewRequest(method, server.URL+"/scim/v2"+path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer secret")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		var answer struct {
			UserName, Detail string
			TotalResults     int
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %+v\n", resp.Status, answer)
	}
	call("POST", "/Users", `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "ann"}`)
	call("POST", "/Users", `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "Ann"}`)
	call("GET", "/Users?filter=userName+eq+%22ANN%22", "")
	// Output:
	// 201 Created {UserName:ann Detail: TotalResults:0}
	// 409 Conflict {UserName: Detail:another resource has the same userName TotalResults:0}
	// 200 OK {UserName: Detail: TotalResults:1}
}
