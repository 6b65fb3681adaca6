package tenants_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// memory opens a store in memory for each tenant.
type memory struct{}

func (memory) Open(context.Context, string, []*schema.ResourceType) (scimserver.Store, error) {
	return memstore.New(), nil
}

func (memory) Drop(context.Context, string, []*schema.ResourceType) error { return nil }

// Two tenants in one process: each has its own resources and tokens.
func Example() {
	all, err := tenants.New(tenants.Options{Stores: memory{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"acme", "globex"} {
		config := tenants.Config{Name: name, Tokens: []tenants.Token{tenants.NewToken("token-of-" + name)}}
		if _, err := all.Add(context.Background(), config); err != nil {
			fmt.Println(err)
			return
		}
	}
	call := func(method, tenant, token, body string) {
		req := httptest.NewRequest(method, tenants.Prefix(tenant)+"/Users", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+token)
		recorder := httptest.NewRecorder()
		all.ServeHTTP(recorder, req)
		fmt.Println(method, req.URL.Path, recorder.Code)
	}
	user := `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "ann"}`
	call("POST", "acme", "token-of-acme", user)
	call("POST", "globex", "token-of-globex", user)
	call("GET", "globex", "token-of-acme", "")
	// Output:
	// POST /t/acme/scim/v2/Users 201
	// POST /t/globex/scim/v2/Users 201
	// GET /t/globex/scim/v2/Users 401
}
