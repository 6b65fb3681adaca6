package conform

import (
	"fmt"
	"os"

	"github.com/scimwright/scimwright/conformance/report"
)

type diffCommand struct {
	Before string `arg:"" help:"JSON report of the earlier run." type:"path"`
	After  string `arg:"" help:"JSON report of the later run." type:"path"`
	printed
}

// Run compares two reports. The exit code is 1 if there are new findings.
func (c *diffCommand) Run(in *invocation) error {
	before, err := readReport(c.Before)
	if err != nil {
		return err
	}
	after, err := readReport(c.After)
	if err != nil {
		return err
	}
	d := report.Compare(before, after)
	if c.AsJSON {
		if err := diffJSON(in, d); err != nil {
			return err
		}
	} else {
		diffText(in, d)
	}
	if len(d.New) > 0 {
		return exitCode(ExitFindings)
	}
	return nil
}

func diffText(in *invocation, d report.Difference) {
	for _, group := range []struct {
		title   string
		changes []report.Change
	}{{"new", d.New}, {"fixed", d.Fixed}, {"no longer observed", d.Unobserved}, {"remaining", d.Still}} {
		fmt.Fprintf(in.stdout, "%s: %d\n", group.title, len(group.changes))
		for _, change := range group.changes {
			fmt.Fprintf(in.stdout, "  %s (%s, was %s): %s\n", change.ID, change.After, change.Before, change.Title)
			if change.Reason != "" {
				fmt.Fprintf(in.stdout, "    %s\n", change.Reason)
			}
		}
	}
}

func readReport(path string) (report.Document, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return report.Document{}, usage("the report cannot be read: %v", err)
	}
	d, err := report.Parse(data)
	if err != nil {
		return d, usage("%s: %v", path, err)
	}
	return d, nil
}
