package report_test

import (
	"bytes"
	"fmt"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
)

// A result is written in one of nine formats; a JSON report can be read again and compared with a later one.
func ExampleCompare() {
	check := conformance.Check{ID: "create.status", Title: "POST of a user returns 201", Level: conformance.Must}
	failed := &conformance.Result{
		Target: "https://scim.example.com/v2",
		Checks: []conformance.CheckResult{{Check: check, Outcome: conformance.Fail, Findings: []conformance.Finding{
			{Outcome: conformance.Fail, What: "status of POST /Users", Want: "201", Got: "200"},
		}}},
	}
	fixed := &conformance.Result{Target: failed.Target, Checks: []conformance.CheckResult{{Check: check, Outcome: conformance.Pass}}}
	var documents []report.Document
	for _, r := range []*conformance.Result{failed, fixed} {
		r.Conclude()
		var text bytes.Buffer
		if err := report.JSON(&text, r, "v1.0.0"); err != nil {
			fmt.Println(err)
			return
		}
		document, err := report.Parse(text.Bytes())
		if err != nil {
			fmt.Println(err)
			return
		}
		documents = append(documents, document)
	}
	difference := report.Compare(documents[0], documents[1])
	for _, c := range difference.Fixed {
		fmt.Println("fixed:", c.ID, c.Before, "->", c.After)
	}
	fmt.Println(len(difference.New), len(difference.Still))
	// Output:
	// fixed: create.status fail -> pass
	// 0 0
}
