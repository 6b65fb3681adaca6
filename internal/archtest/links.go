package archtest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/gofiles"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	scheme   = regexp.MustCompile(`^[a-z][a-z+.-]*:`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// CheckLinks returns a sentence for each relative link in the Markdown files below root whose target file or heading does not exist.
func CheckLinks(root string) ([]string, error) {
	var broken []string
	err := gofiles.Walk(root, ".md", func(file, rel string) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, line := range proseLines(string(text)) {
			for _, m := range link.FindAllStringSubmatch(line.Text, -1) {
				if !scheme.MatchString(m[1]) && !linkTargetExists(root, rel, m[1]) {
					broken = append(broken, fmt.Sprintf("%s:%d: %s does not exist", rel, line.Number, m[1]))
				}
			}
		}
		return nil
	})
	return broken, err
}

// linkTargetExists reports whether the target file of a relative link exists and, in Markdown, the target heading.
func linkTargetExists(root, file, to string) bool {
	target, anchor, _ := strings.Cut(to, "#")
	if target == "" {
		target = file
	} else {
		target = path.Join(path.Dir(file), target)
	}
	full := filepath.Join(root, filepath.FromSlash(target))
	if anchor == "" || !strings.HasSuffix(target, ".md") {
		_, err := os.Stat(full)
		return err == nil
	}
	text, err := os.ReadFile(full)
	return err == nil && slices.ContainsFunc(proseLines(string(text)), func(l Line) bool {
		heading, ok := strings.CutPrefix(strings.TrimLeft(l.Text, "#"), " ")
		return ok && strings.HasPrefix(l.Text, "#") && anchorOf(heading) == anchor
	})
}

// anchorOf returns the anchor that Git hosts generate for a heading.
func anchorOf(heading string) string {
	return strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
}
