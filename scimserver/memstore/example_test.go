package memstore_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

// announced is a store of your own: it adds something to the methods of another store. A store for your own tables implements all methods
// of scimserver.Store; the program examples/saas has one, and scimserver/storetest tests it.
type announced struct{ scimserver.Store }

func (s announced) Create(ctx context.Context, rec *scimserver.Record, members []string) (*scimserver.Record, error) {
	stored, err := s.Store.Create(ctx, rec, members)
	if err == nil {
		fmt.Println("created", stored.Type, stored.Resource.Text("userName"))
	}
	return stored, err
}

// The server validates, filters and patches; the store only stores.
func Example_ownStore() {
	handler, err := scimserver.New(scimserver.Options{Store: announced{memstore.New()}, Tokens: scimserver.StaticTokens("secret")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{
		`{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "ann"}`,
		`{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "ann"}`,
	} {
		req := httptest.NewRequest(http.MethodPost, "/Users", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer secret")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, req)
		fmt.Println(recorder.Code)
	}
	// Output:
	// created User ann
	// 201
	// 409
}
