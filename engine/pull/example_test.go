package pull_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/pull"
	"github.com/scimwright/scimwright/engine/webhooks"
)

// An identity provider serves the query for a user. It verifies the signature, because responses contain attributes of users.
func Example() {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err := webhooks.Verify(r.Header, body, time.Now(), secret); err != nil || r.URL.Path != "/user" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		var query pull.UserRequest
		_ = json.Unmarshal(body, &query)
		response := pull.UserResponse{App: query.App, ID: query.ID, State: "absent"}
		if query.ID == "u-1" {
			response.State, response.Resource = "active", json.RawMessage(`{"userName":"ann@example.com"}`)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(response)
	}))
	defer provider.Close()

	directory, err := pull.New(pull.Options{
		URL: provider.URL, AllowHTTP: true, Secrets: []string{secret},
		Target: func(context.Context, string) (engine.Target, error) {
			return engine.Target{BaseURL: "https://crm.example.com/scim/v2", CreateUsers: true}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer directory.Close()
	for _, id := range []string{"u-1", "u-2"} {
		u, err := directory.User(context.Background(), "crm", id)
		fmt.Println(u.Want, u.UserName, err)
	}
	_, err = directory.Group(context.Background(), "crm", "g-1")
	fmt.Println(err)
	// Output:
	// active ann@example.com <nil>
	// absent  <nil>
	// pull: /group of crm g-1: the endpoint responded 404
}
