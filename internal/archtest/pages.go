package archtest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kinds are the directories of hand-written pages below docs, with the heading of docs/README.md that lists the pages of each.
var kinds = []struct{ directory, heading string }{
	{"tutorials", "## Tutorials"},
	{"howto", "## How-to guides"},
	{"reference", "## Reference"},
	{"explanation", "## Explanation"},
	{"generated", "## Reference"},
	{"contributing", "## For contributors"},
}

// readers matches the beginning of a page, which names its readers.
var readers = regexp.MustCompile(`^# [^\n]+\n\n(This (page|tutorial|guide) is for )`)

// CheckPages returns a sentence for each page below docs that has no kind, that the index docs/README.md does not list under the heading of
// its kind, or that does not start with its readers. Generated pages need not name readers.
func CheckPages(root string) ([]string, error) {
	docs := filepath.Join(root, "docs")
	index, err := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil {
		return nil, err
	}
	var faults []string
	loose, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		return nil, err
	}
	for _, file := range loose {
		if name := filepath.Base(file); name != "README.md" {
			faults = append(faults, fmt.Sprintf("docs/%s is in no directory of a kind", name))
		}
	}
	for _, kind := range kinds {
		listed := linksBelow(string(index), kind.heading)
		files, err := filepath.Glob(filepath.Join(docs, kind.directory, "*.md"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			page := path.Join(kind.directory, filepath.Base(file))
			if !slices.Contains(listed, page) {
				faults = append(faults, fmt.Sprintf("docs/README.md does not list %s below %q", page, kind.heading))
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if kind.directory != "generated" && !readers.Match(text) {
				faults = append(faults, fmt.Sprintf(`docs/%s does not start with "This page is for"`, page))
			}
		}
	}
	return faults, nil
}

// linksBelow returns the targets of the links between a heading of the second level and the next one.
func linksBelow(text, heading string) []string {
	_, part, _ := strings.Cut(text, heading+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	var targets []string
	for _, m := range link.FindAllStringSubmatch(part, -1) {
		targets = append(targets, m[1])
	}
	return targets
}
