package patch_test

import (
	"encoding/json"
	"fmt"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/patch"
	"github.com/scimwright/scimwright/scim/schema"
)

// A server applies the body of a PATCH to the stored resource, and stores the result only if it differs.
func ExampleApply() {
	stored, err := scim.DecodeResource([]byte(`{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "ann",
		"emails": [{"type": "work", "value": "ann@example.com"}, {"type": "home", "value": "ann@home.example"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var req scim.PatchRequest
	err = json.Unmarshal([]byte(`{"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": [
		{"op": "replace", "path": "emails[type eq \"work\"].value", "value": "lee@example.com"},
		{"op": "remove", "path": "emails[type eq \"home\"]"}]}`), &req)
	if err != nil {
		fmt.Println(err)
		return
	}
	updated, changed, err := patch.Apply(stored, &req, schema.UserType(), patch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := json.Marshal(updated)
	fmt.Println(changed, string(text))
	// Output:
	// true {"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ann","emails":[{"type":"work","value":"lee@example.com"}]}
}

// The error is the response that RFC 7644 section 3.5.2 requires. The stored resource is unchanged.
func ExampleApply_noTarget() {
	stored, err := scim.DecodeResource([]byte(`{"userName": "ann"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &scim.PatchRequest{Operations: []scim.PatchOperation{
		{Op: "replace", Path: `emails[type eq "work"].value`, Value: "ann@example.com", HasValue: true},
	}}
	_, _, err = patch.Apply(stored, req, schema.UserType(), patch.Options{})
	fmt.Println(err)
	// Output:
	// 400 noTarget: Operations[0]: no value of emails matches the path
}
