package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/gofiles"
)

// invariant matches a paragraph of a comment that states an invariant: its number and its text. The comment belongs to the code that
// ensures the invariant. The comment of a test has a line with the number, but without text, for each invariant that the test checks.
var invariant = regexp.MustCompile(`(?m)^Invariant (\d+)(?:: ((?:.+\n?)+))?$`)

// Invariants returns the texts of the invariants below root, by number, and one sentence for each invariant that is not stated exactly once
// or has no test.
func Invariants(root string) (texts, broken []string, err error) {
	stated, tested := map[int][]string{}, map[int]bool{}
	place := map[int]string{}
	err = gofiles.Walk(root, ".go", func(file, rel string) error {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		test := strings.HasSuffix(rel, "_test.go") || strings.HasSuffix(parsed.Name.Name, "test")
		for _, group := range parsed.Comments {
			for _, m := range invariant.FindAllStringSubmatch(group.Text(), -1) {
				n, err := strconv.Atoi(m[1])
				switch {
				case err != nil:
					return err
				case test:
					tested[n] = true
				case m[2] == "":
					broken = append(broken, fmt.Sprintf("%s: invariant %d has no text", rel, n))
				default:
					stated[n] = append(stated[n], strings.Join(strings.Fields(m[2]), " "))
					place[n] = rel
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for n := range tested {
		if len(stated[n]) == 0 {
			broken = append(broken, fmt.Sprintf("invariant %d has a test, but no code states it", n))
		}
	}
	for i, n := range slices.Sorted(maps.Keys(stated)) {
		switch {
		case n != i+1:
			broken = append(broken, fmt.Sprintf("invariant %d follows %d: number the invariants without gaps", n, i))
		case len(stated[n]) > 1:
			broken = append(broken, fmt.Sprintf("invariant %d is stated %d times", n, len(stated[n])))
		case !tested[n]:
			broken = append(broken, fmt.Sprintf("%s: no test names invariant %d", place[n], n))
		}
		texts = append(texts, stated[n][0])
	}
	slices.Sort(broken)
	return texts, broken, nil
}

// listOf returns the Markdown list of the invariants, in lines of at most width bytes.
func listOf(texts []string, width int) string {
	var b strings.Builder
	for i, text := range texts {
		mark := strconv.Itoa(i+1) + "."
		line := mark
		for word := range strings.FieldsSeq(text) {
			if len(line)+1+len(word) > width {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", len(mark))
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
