package checks_test

import (
	"fmt"

	"github.com/scimwright/scimwright/conformance/checks"
)

// Checks are values: a program lists them and their texts without running any.
func ExampleAll() {
	for _, c := range checks.All() {
		if c.ID == "filter.case-insensitive-values" {
			fmt.Println(c.Level, c.Area(), c.Requirements[0])
			fmt.Println(c.Title)
		}
	}
	// Output:
	// must filter RFC7644-3.4.2.2-57
	// A filter compares values of attributes that are not caseExact case-insensitively
}
