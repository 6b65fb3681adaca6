package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// An extension is a schema document. A resource type lists its extensions; Clean converts what a client sends into the form to store.
func ExampleParse() {
	badge, err := schema.Parse([]byte(`{"id": "urn:example:params:scim:schemas:extension:badge:1.0:User", "name": "Badge", "attributes": [
		{"name": "badgeNumber", "type": "integer"},
		{"name": "building", "type": "string", "canonicalValues": ["north", "south"]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	users := schema.UserType()
	users.Extensions = append(users.Extensions, schema.Extension{Schema: badge})
	sent, err := scim.DecodeResource([]byte(`{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
		"USERNAME": "ann", "id": "chosen by the client",
		"urn:example:params:scim:schemas:extension:badge:1.0:User": {"badgeNumber": 7}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := users.Clean(sent, schema.CleanOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := json.MarshalIndent(stored, "", " ")
	fmt.Println(string(text))
	// Output:
	// {
	//  "schemas": [
	//   "urn:ietf:params:scim:schemas:core:2.0:User",
	//   "urn:example:params:scim:schemas:extension:badge:1.0:User"
	//  ],
	//  "userName": "ann",
	//  "urn:example:params:scim:schemas:extension:badge:1.0:User": {
	//   "badgeNumber": 7
	//  }
	// }
}

// The query parameters of a request select the attributes of the response.
func ExampleParseProjection() {
	r, err := scim.DecodeResource([]byte(`{"id": "7", "userName": "ann", "name": {"givenName": "Ann", "familyName": "Lee"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := schema.ParseProjection([]string{"userName,name.familyName"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := json.Marshal(schema.UserType().Project(r, p))
	fmt.Println(string(text))
	// Output:
	// {"id":"7","userName":"ann","name":{"familyName":"Lee"}}
}
