package requirements_test

import (
	"fmt"

	"github.com/scimwright/scimwright/conformance/requirements"
)

// Checks cite requirements by their ids.
func ExampleLookup() {
	r, ok := requirements.Lookup("RFC7644-3.5.2-28")
	fmt.Println(ok, r.Level, r.Section)
	fmt.Println(r.Text)
	// Output:
	// true MUST RFC7644 3.5.2
	// A PATCH request is atomic: on any error the resource is as before.
}
