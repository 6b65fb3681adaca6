package lenient_test

import (
	"fmt"

	"github.com/scimwright/scimwright/scim/lenient"
)

// A server accepts named leniencies. A name that does not exist is an error, so that a typing error in a configuration is noticed.
func ExampleParse() {
	all := lenient.Rules()
	set, err := lenient.Parse(all[0].Name)
	fmt.Println(set != 0, err)
	_, err = lenient.Parse("no-such-leniency")
	fmt.Println(err != nil)
	// Output:
	// true <nil>
	// true
}
