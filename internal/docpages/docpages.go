package docpages

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	Line     int    // the line of the fence, from 1
	Language string // the word after the fence, such as "sh"
	Text     string // the content, with a newline at its end
	Exit     int    // the expected exit code
	Wait     string // the address at which a server listens after the block, or ""
	Edit     string // the file of a diff, or ""
	Skip     string // the reason why the block is not run, or ""
}

var directive = regexp.MustCompile(`^<!-- (exit|wait|edit|skip): (.+) -->$`)

// Parse returns the fenced blocks of a page in Markdown. It returns an error for a fence that is not closed, and for an invalid comment.
func Parse(page string) ([]Block, error) {
	var blocks []Block
	var next Block
	var open bool
	for i, line := range strings.Split(page, "\n") {
		switch {
		case open && strings.HasPrefix(line, "```"):
			blocks = append(blocks, next)
			next, open = Block{}, false
		case open:
			next.Text += line + "\n"
		case strings.HasPrefix(line, "```"):
			next.Line, next.Language, open = i+1, strings.TrimPrefix(line, "```"), true
		default:
			found := directive.FindStringSubmatch(line)
			if found == nil {
				continue
			}
			if err := next.direct(found[1], found[2]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	if open {
		return nil, fmt.Errorf("line %d: the fence is not closed", next.Line)
	}
	return blocks, nil
}

func (b *Block) direct(name, value string) error {
	switch name {
	case "exit":
		if _, err := fmt.Sscanf(value, "%d", &b.Exit); err != nil {
			return fmt.Errorf("exit %q is not a number", value)
		}
	case "wait":
		b.Wait = value
	case "edit":
		b.Edit = value
	case "skip":
		b.Skip = value
	}
	return nil
}

// Shown returns an error that names the first line of want that output does not contain after the lines before it. "..." in a line of
// want stands for any text within a line. Spaces at the ends of lines have no effect.
func Shown(want, output string) error {
	lines := strings.Split(output, "\n")
	at := 0
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line == "..." {
			continue
		}
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, ".*") + "$")
		for at < len(lines) && !pattern.MatchString(strings.TrimSpace(lines[at])) {
			at++
		}
		if at == len(lines) {
			return fmt.Errorf("the output does not contain %q, or not in this order", line)
		}
		at++
	}
	return nil
}

// Edited returns content after the edit of a diff. It returns an error if the old lines do not occur exactly once.
func Edited(content, diff string) (string, error) {
	var before, after strings.Builder
	for _, line := range strings.SplitAfter(strings.TrimSuffix(diff, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\n") + "\n"
		rest := line
		if line != "\n" {
			rest = line[1:]
		}
		if line[0] != '+' {
			before.WriteString(rest)
		}
		if line[0] != '-' {
			after.WriteString(rest)
		}
	}
	if n := strings.Count(content, before.String()); n != 1 {
		return "", fmt.Errorf("the old lines occur %d times instead of once:\n%s", n, before.String())
	}
	return strings.Replace(content, before.String(), after.String(), 1), nil
}
