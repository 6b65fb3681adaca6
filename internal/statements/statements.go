package statements

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Document is one of the management documents.
type Document struct {
	ID       string // A, B or C
	Title    string
	Sections []Section
}

// Section groups the statements of one subject of a document.
type Section struct {
	Title      string
	Statements []Statement
}

// Statement is one fact that a document requires, in the wording of this module.
type Statement struct {
	ID   string // document, area and number, such as A-hooks-12
	Text string
}

// Documents returns the management documents in order.
func Documents() []Document { return []Document{documentA, documentB, documentC} }

var idPattern = regexp.MustCompile(`^[ABC]-[a-z]+-[0-9]{2,}$`)

// Check returns a sentence for each statement that occurs twice or has no test, and for each test that names an unknown statement or names
// statements but never runs. Pending are statements that have no test yet; Check also reports a pending statement with a test.
func Check(documents []Document, tests []Test, pending []string) []string {
	var broken []string
	report := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	proofs := provedBy(tests)
	known, texts := map[string]bool{}, map[located]string{}
	for _, s := range all(documents) {
		text := located{Statement{Text: s.Text}, s.document, s.section}
		switch {
		case !strings.HasPrefix(s.ID, s.document+"-"):
			report("%s is in document %s", s.ID, s.document)
		case !idPattern.MatchString(s.ID):
			report("%s is not an id: write document, area and number, such as A-hooks-12", s.ID)
		case known[s.ID]:
			report("%s occurs twice", s.ID)
		case texts[text] != "":
			report("%s and %s are the same statement", texts[text], s.ID)
		case len(proofs[s.ID]) == 0 && !slices.Contains(pending, s.ID):
			report("%s has no test: %s", s.ID, s.Text)
		case len(proofs[s.ID]) > 0 && slices.Contains(pending, s.ID):
			report("%s is pending although %s proves it: remove it from the pending statements", s.ID, proofs[s.ID][0])
		}
		known[s.ID], texts[text] = true, s.ID
	}
	for _, id := range pending {
		if !known[id] {
			report("%s is pending and does not exist", id)
		}
	}
	for _, test := range tests {
		for _, id := range test.Proves {
			if !known[id] {
				report("%s proves %s, which does not exist", test.Name, id)
			}
		}
		if len(test.Proves) > 0 && test.Idle != "" {
			report("%s proves nothing: %s", test.Name, test.Idle)
		}
	}
	return broken
}

// Page returns the page with all statements and their tests.
func Page(documents []Document, tests []Test) string {
	proofs := provedBy(tests)
	statements := all(documents)
	var b strings.Builder
	fmt.Fprintf(&b, introduction, len(statements))
	for _, d := range documents {
		fmt.Fprintf(&b, "\n## Document %s: %s\n", d.ID, d.Title)
		for _, section := range d.Sections {
			fmt.Fprintf(&b, "\n### %s: %s\n\n| Id | Statement | Tests |\n|---|---|---|\n", d.ID, section.Title)
			for _, s := range section.Statements {
				var names []string
				for _, name := range proofs[s.ID] {
					names = append(names, "`"+name+"`")
				}
				fmt.Fprintf(&b, "| %s | %s | %s |\n", s.ID, strings.ReplaceAll(s.Text, "|", `\|`), strings.Join(names, ", "))
			}
		}
	}
	return b.String()
}

const introduction = `# Requirements of the management documents

This page is for users who judge how far the management API satisfies its documents, and for developers who change it.

The management API and the provisioning client follow three documents, which this page cites as A, B and C. Each row has one ` +
	`statement of a document and the tests that prove it.
A test of ` + "`internal/statements`" + ` generates this page, and fails if a statement has no test. The doc comment of a test names ` +
	`the statements that the test proves:

    // Proves A-hooks-12, A-hooks-13.

[deviations.md](../reference/deviations.md) lists the defaults that differ from a document, and the switches that select the documented ` +
	`behavior. The test of such a statement enables the switch.

%d statements.
`

// located is a statement with its document and section.
type located struct {
	Statement
	document, section string
}

func all(documents []Document) []located {
	var list []located
	for _, d := range documents {
		for _, section := range d.Sections {
			for _, s := range section.Statements {
				list = append(list, located{s, d.ID, section.Title})
			}
		}
	}
	return list
}

// provedBy returns the names of the tests by the statements that they prove.
func provedBy(tests []Test) map[string][]string {
	proofs := map[string][]string{}
	for _, test := range tests {
		if test.Idle != "" {
			continue
		}
		for _, id := range test.Proves {
			if !slices.Contains(proofs[id], test.Name) {
				proofs[id] = append(proofs[id], test.Name)
			}
		}
	}
	for _, names := range proofs {
		slices.Sort(names)
	}
	return proofs
}
