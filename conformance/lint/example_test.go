package lint_test

import (
	"fmt"

	"github.com/scimwright/scimwright/conformance/lint"
)

// A document is validated without a server. A finding names the place, the clause and the difference.
func ExampleLint() {
	report := lint.Lint([]byte(`{
  "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
  "userName": "ann",
  "active": "true"
}`), lint.Options{From: lint.Client})
	fmt.Println(report.Kind)
	for _, f := range report.Findings {
		fmt.Printf("%d:%d %s: %s instead of %s (%s)\n", f.Line, f.Column, f.Path, f.Got, f.Want, f.Rule.ID)
	}
	// Output:
	// User
	// 4:13 $.active: "true" instead of true or false, without quotation marks (resource.boolean)
}
