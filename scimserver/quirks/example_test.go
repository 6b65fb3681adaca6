package quirks_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// A test of a provisioning client runs against a server with a deviation of real servers: here, lookups by userName are case-sensitive, so
// a client that does not handle this creates duplicates.
func Example() {
	server, err := scimserver.New(scimserver.Options{Store: memstore.New(), Tokens: scimserver.StaticTokens("secret")})
	if err != nil {
		fmt.Println(err)
		return
	}
	settings, err := quirks.ParseAll([]string{"case-sensitive-user-name"})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := quirks.New(server, settings...)
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func(method, path, body string) string {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer secret")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, req)
		return recorder.Body.String()
	}
	call("POST", "/Users", `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "ann"}`)
	for _, name := range []string{"ann", "ANN"} {
		fmt.Println(name, strings.Contains(call("GET", `/Users?filter=userName+eq+%22`+name+`%22`, ""), `"totalResults":1`))
	}
	// Output:
	// ann true
	// ANN false
}
