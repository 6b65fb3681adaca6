package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/scimwright/scimwright/internal/gofiles"
)

// Word is an expression that comments, messages and docs do not use.
type Word struct {
	Pattern string // regular expression, case-insensitive, between word boundaries
	Use     string // what is written instead
}

// Words lists those expressions from the table in docs/contributing/style.md that a pattern can recognize without false positives.
var Words = []Word{
	{`mend(s|ed|ing)?`, "fix"},
	{`whoever`, "the name of the actor"},
	{`(some|any|every)body`, "a user, an operator, any client"},
	{`(anew|afresh)`, "again, from scratch"},
	{`heal(s|ed)?`, "recovers, repairs"},
	{`foret(old|ells?)`, "predicts"},
	{`beside`, "in addition to, next to"},
	{`on (its|their) way`, "in flight, pending"},
	{`letter case`, "case, case-insensitive"},
	{`for ever`, "indefinitely"},
	{`what came`, "the response, the result"},
	{`(is|are|was|were) told`, "receives, is notified, is logged"},
	{`strangers?`, "unmanaged account"},
	{`knows (no|nothing|neither)`, "does not depend on, has no"},
	{`work(s|ed)? towards`, "attempted"},
	{`is none of`, "is not a"},
	{`when there is none`, "if absent"},
	{`is how (many|long|often|far)`, "is the number of, is the duration of, is the interval of"},
	{`(is|are) called so`, "has this name"},
	{`(the|this) house`, "the module"},
	{`(organisation|catalogue|enrol(ment|s)?|spelt|learnt)`, "the US spelling"},
	{`(back-off|time-out)s?`, "backoff, timeout"},
	{`answers (with )?[1-5]\d\d`, "returns and the status"},
}

// exempt lists the permitted uses of Words: a file or a folder, the word ("" permits all words), and the reason.
var exempt = []struct{ file, word, why string }{
	{"internal/archtest/words.go", "", "it lists the words"},
	{"internal/archtest/words_test.go", "", "it tests them"},
	{"docs/contributing/style.md", "", "it lists the words"},
	{"conformance/requirements/", "", "sentences of RFCs"},
	{"docs/generated/", "", "the pages are generated from text that is checked, and from ids"},
	{"engine/sqlstore/legacy.go", "", "steps of the schema, whose hashes are stored"},
	{"engine/sqlstore/", "anew", "a column"},
	{"engine/provision/markall_test.go", "anew", "a column"},
	{"cmd/internal/console/bench_test.go", "anew", "a column"},
	{"engine/provision/drift_test.go", "stranger", "the stored kind of a finding"},
	{"engine/control/drift.go", "stranger", "the kind of a finding in the API"},
}

// Line is a line of prose.
type Line struct {
	File   string // relative to the root of the module
	Number int
	Text   string
}

// Prose returns the comments and the string literals with a space of all Go files below root, and the lines of its Markdown files except
// code. Import paths and struct tags other than help and doc are not prose.
func Prose(root string) ([]Line, error) {
	var all []Line
	err := gofiles.Walk(root, ".go", func(file, rel string) error {
		lines, err := proseOfGo(file, rel)
		all = append(all, lines...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, gofiles.Walk(root, ".md", func(file, rel string) error {
		text, err := os.ReadFile(file)
		if err == nil {
			all = append(all, proseOfMarkdown(rel, string(text))...)
		}
		return err
	})
}

var shownTag = regexp.MustCompile(`\b(?:help|doc):"((?:[^"\\]|\\.)*)"`)

func proseOfGo(file, rel string) ([]Line, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var lines []Line
	add := func(pos token.Pos, text string) {
		for i, line := range strings.Split(text, "\n") {
			lines = append(lines, Line{File: rel, Number: files.Position(pos).Line + i, Text: line})
		}
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			add(c.Pos(), c.Text)
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag == nil {
				return true
			}
			for _, m := range shownTag.FindAllStringSubmatch(n.Tag.Value, -1) {
				add(n.Tag.Pos(), m[1])
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(n.Value); err == nil && strings.Contains(text, " ") && !isTag(n.Value) {
				add(n.Pos(), text)
			}
		}
		return true
	})
	return lines, nil
}

// tag matches a struct tag, which is parsed separately.
var tag = regexp.MustCompile("^`[a-z]+:\"")

func isTag(literal string) bool { return tag.MatchString(literal) }

var codeSpan = regexp.MustCompile("`[^`]*`")

func proseOfMarkdown(rel, text string) []Line {
	lines := proseLines(text)
	for i := range lines {
		lines[i].File, lines[i].Text = rel, codeSpan.ReplaceAllString(lines[i].Text, "``")
	}
	return lines
}

// proseLines returns the lines of a Markdown file outside its code blocks.
func proseLines(text string) []Line {
	var lines []Line
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			lines = append(lines, Line{Number: i + 1, Text: line})
		}
	}
	return lines
}

// CheckWords returns a sentence for each use of one of Words.
func CheckWords(lines []Line) []string {
	patterns := make([]*regexp.Regexp, len(Words))
	for i, w := range Words {
		patterns[i] = regexp.MustCompile(`(?i)\b` + w.Pattern + `\b`)
	}
	var found []string
	for _, line := range lines {
		for i, p := range patterns {
			if m := p.FindString(line.Text); m != "" && !isExempt(line.File, m) {
				found = append(found, fmt.Sprintf("%s:%d: %q: write %s (docs/contributing/style.md)", line.File, line.Number, m, Words[i].Use))
			}
		}
	}
	return found
}

func isExempt(file, word string) bool {
	for _, e := range exempt {
		if (file == e.file || strings.HasSuffix(e.file, "/") && strings.HasPrefix(file, e.file)) &&
			(e.word == "" || strings.EqualFold(e.word, word)) {
			return true
		}
	}
	return false
}

// MaxTestName is the maximum number of words of a test's name, after Test.
const MaxTestName = 6

// citedName is the only test name that breaks the rules, because issues and documents cite it.
const citedName = "TestProseUsesTheTerms"

var testName = regexp.MustCompile(`^Test[A-Z][A-Za-z0-9]*(_[A-Z][A-Za-z0-9]*)?$`)

// CheckTestName returns the error in the name of a test, or "". A name is a subject, and a condition after an underscore.
func CheckTestName(name string) string {
	if !testName.MatchString(name) {
		return "write TestSubject or TestSubject_Condition"
	}
	if name == citedName {
		return ""
	}
	words := camelWords(strings.ReplaceAll(strings.TrimPrefix(name, "Test"), "_", ""))
	for _, w := range words {
		switch w {
		case "A", "An", "The", "Who", "Whoever", "Whose", "Whom", "Which", "That", "Nobody", "Somebody", "Anybody", "Everybody":
			return fmt.Sprintf("%q: a test name has no article and no clause: move details to the comment", w)
		}
	}
	if len(words) > MaxTestName {
		return fmt.Sprintf("%d words: use at most %d and move details to the comment", len(words), MaxTestName)
	}
	return ""
}

// camelWords splits a name into its words. An acronym is one word, and digits belong to the word before them.
func camelWords(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	for i := 1; i < len(runes); i++ {
		lowerNext := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || lowerNext) {
			words = append(words, string(runes[start:i]))
			start = i
		}
	}
	return append(words, string(runes[start:]))
}
