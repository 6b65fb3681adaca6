package filter_test

import (
	"fmt"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// A server parses the filter of a list once, validates it, and compares it with many resources.
func Example() {
	expr, err := filter.Parse(`emails[type eq "work" and value ew "@example.com"] and active eq true`)
	if err != nil {
		fmt.Println(err)
		return
	}
	users := schema.UserType()
	if err := filter.Check(expr, users, 0); err != nil {
		fmt.Println(err)
		return
	}
	matcher := filter.NewMatcher(expr, users)
	for _, text := range []string{
		`{"userName": "ann", "active": true, "emails": [{"type": "work", "value": "ann@example.com"}]}`,
		`{"userName": "bob", "active": true, "emails": [{"type": "home", "value": "bob@example.com"}]}`,
	} {
		r, err := scim.DecodeResource([]byte(text))
		if err != nil {
			fmt.Println(err)
			return
		}
		matches, _ := matcher.Match(r)
		fmt.Println(r.Text("userName"), matches)
	}
	// Output:
	// ann true
	// bob false
}

// The error of an invalid filter is the response that RFC 7644 requires.
func ExampleParse() {
	_, err := filter.Parse(`userName eq`)
	fmt.Println(err)
	// Output: 400 invalidFilter: a value is expected, not the end, at character 12 of the filter
}

// Paths of PATCH operations have the same grammar as filters.
func ExampleParsePath() {
	path, err := filter.ParsePath(`addresses[type eq "work"].streetAddress`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(path.Attr, "|", path.Filter, "|", path.Sub)
	// Output: addresses | type eq "work" | streetAddress
}
