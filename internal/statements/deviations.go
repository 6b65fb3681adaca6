package statements

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// deviationColumns are the columns of docs/reference/deviations.md.
const deviationColumns = 5

var codeSpan = regexp.MustCompile("`([^`]+)`")

// testName parses the name of a test: the package, given by its directory or the end of it, the function, and a subtest.
var testName = regexp.MustCompile(`^(?:(.+)[./])?((?:Test|Fuzz)\w*)(?:/.*)?$`)

// CheckDeviations returns a sentence for each row of docs/reference/deviations.md without a document, switch or test, or with a test that
// does not exist. A test is named with its directory, mgmtapi/internal/hooks/calls/TestCall_Limits, or with its package,
// hooks.TestCall_Limits.
func CheckDeviations(page string, tests []Test) []string {
	var broken []string
	report := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	rows := 0
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if rows++; rows <= 2 { // the heading and the separator line of the table
			continue
		}
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, " "), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != deviationColumns {
			report("row %q has %d columns: write %d", line, len(cells), deviationColumns)
			continue
		}
		sentence := cells[1]
		if !slices.Contains([]string{"A", "B", "C"}, cells[0]) {
			report("%q is of document %q: write A, B or C", sentence, cells[0])
		}
		if cells[2] == "" || cells[3] == "" {
			report("%q has no reason or no switch", sentence)
		}
		names := codeSpan.FindAllStringSubmatch(cells[4], -1)
		if len(names) == 0 {
			report("%q has no test", sentence)
		}
		for _, name := range names {
			i := find(tests, name[1])
			switch {
			case i < 0:
				report("%q names the test %s, which does not exist", sentence, name[1])
			case tests[i].Idle != "":
				report("%q names the test %s, which never runs: %s", sentence, name[1], tests[i].Idle)
			}
		}
	}
	if rows < 2 {
		report("the page has no table")
	}
	return broken
}

// find returns the index of the test that a row names, or -1.
func find(tests []Test, name string) int {
	parts := testName.FindStringSubmatch(name)
	if parts == nil {
		return -1
	}
	return slices.IndexFunc(tests, func(t Test) bool {
		return t.Name == path.Join(parts[1], parts[2]) || strings.HasSuffix(t.Name, "/"+path.Join(parts[1], parts[2]))
	})
}
