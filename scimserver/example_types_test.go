package scimserver_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

// A server with a resource type of its own in addition to users. The discovery documents describe it.
func ExampleNew_ownType() {
	room, err := schema.Parse([]byte(`{"id": "urn:example:params:scim:schemas:Room", "name": "Room", "attributes": [
		{"name": "displayName", "type": "string", "required": true, "uniqueness": "server"},
		{"name": "seats", "type": "integer"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := scimserver.New(scimserver.Options{
		Store:  memstore.New(),
		Tokens: scimserver.StaticTokens("secret"),
		Types:  []*schema.ResourceType{schema.UserType(), {ID: "Room", Name: "Room", Endpoint: "/Rooms", Schema: room}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func(method, path, body string) {
		req := httptest.NewRequest(method, "https://scim.example.com"+path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer secret")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, req)
		var answer struct {
			Detail       string
			TotalResults int
		}
		if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(recorder.Code, answer)
	}
	call("POST", "/Rooms", `{"schemas": ["urn:example:params:scim:schemas:Room"], "displayName": "Blue", "seats": 12}`)
	call("POST", "/Rooms", `{"schemas": ["urn:example:params:scim:schemas:Room"], "displayName": "Red", "seats": "twelve"}`)
	call("GET", "/Rooms?filter=seats+gt+10", "")
	// Output:
	// 201 { 0}
	// 400 {seats must be a whole number without fraction and exponent 0}
	// 200 { 1}
}
