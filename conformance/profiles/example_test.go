package profiles_test

import (
	"fmt"

	"github.com/scimwright/scimwright/conformance/profiles"
)

// A profile is data: a program lists what a client sends without running it.
func ExampleAll() {
	for _, p := range profiles.All() {
		if p.ID == "okta" {
			for _, step := range p.ClientFlows[0].Steps[:3] {
				fmt.Println(step.Method, step.Title)
			}
		}
	}
	// Output:
	// GET The connection test reads a first page of users
	// GET The connection test reads a first page of groups
	// GET Before a create the user is looked up, and no user is found
}
