package scim_test

import (
	"encoding/json"
	"fmt"

	"github.com/scimwright/scimwright/scim"
)

// A resource is built attribute by attribute. Complex values are objects, slices of them are multi-valued attributes.
func ExampleResource() {
	r := new(scim.Resource)
	r.Set("userName", "ann@example.com")
	r.Set("name", scim.NewObject(scim.Member{Name: "givenName", Value: "Ann"}, scim.Member{Name: "familyName", Value: "Lee"}))
	r.Set("emails", []any{scim.NewObject(scim.Member{Name: "value", Value: "ann@example.com"}, scim.Member{Name: "primary", Value: true})})
	text, err := json.Marshal(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(text))
	fmt.Println(r.Text("USERNAME"))
	// Output:
	// {"userName":"ann@example.com","name":{"givenName":"Ann","familyName":"Lee"},"emails":[{"value":"ann@example.com","primary":true}]}
	// ann@example.com
}
