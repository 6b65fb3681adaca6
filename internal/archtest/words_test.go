package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/gofiles"
)

func TestProseUsesTheTerms(t *testing.T) {
	lines, err := Prose(root)
	require.NoError(t, err)
	require.Greater(t, len(lines), 10_000, "prose was found")
	found := CheckWords(lines)
	for _, f := range found[:min(len(found), 100)] {
		t.Error(f)
	}
	require.Empty(t, found)
}

func TestCheckWords_FindsEach(t *testing.T) {
	examples := []string{
		"the engine mends it", "Whoever asks", "everybody", "read anew", "it heals", "foretells", "beside the model", "on its way", "letter case",
		"for ever", "what came back", "is told", "a stranger", "knows nothing", "works towards", "is none of", "when there is none",
		"is how many", "is called so", "the house", "organisation", "back-off", "answers 404",
	}
	require.Len(t, examples, len(Words))
	for i, text := range examples {
		require.Len(t, CheckWords([]Line{{File: "a.go", Number: 1, Text: text}}), 1, Words[i].Pattern)
	}
	require.Empty(t, CheckWords([]Line{{File: "a.go", Text: "recommended besides enrollment, a household, the answers 12 clients gave"}}))
	require.Empty(t, CheckWords([]Line{{File: "conformance/requirements/rfc7644.go", Text: "beside"}}))
}

func TestProse_Sources(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "module")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("a.go",
		"package a // one\n\nimport \"x/y z\"\n\n// two\ntype t struct {\n\tF int `json:\"f g\" doc:\"three\" help:\"four\"` // five\n}\n\n"+
			"var s = \"six seven\" + \"eight\"\nvar raw = `nine\nten`\n")
	write("b.md", "eleven `code`\n```\nfenced\n```\ntwelve\n")
	lines, err := Prose(dir)
	require.NoError(t, err)
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.File+" "+l.Text)
	}
	require.Equal(t,
		[]string{"a.go // one", "a.go // two", "a.go // five", "a.go three", "a.go four", "a.go six seven", "b.md eleven ``", "b.md twelve",
			"b.md "}, texts)
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w*)\(t \*testing\.T\)`)

func TestTestNames_SubjectAndCondition(t *testing.T) {
	var names int
	err := gofiles.Walk(root, "_test.go", func(file, rel string) error {
		text, err := os.ReadFile(file)
		for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names++
			if problem := CheckTestName(m[1]); problem != "" {
				t.Errorf("%s: %s: %s", rel, m[1], problem)
			}
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, names, 1_000)
}

func TestCheckTestName(t *testing.T) {
	for _, name := range []string{"TestLease_EndsOnStop", "TestWalk", "TestHTTPServer_ReturnsJSONErrors", "TestRFC7644_Lists"} {
		require.Empty(t, CheckTestName(name), name)
	}
	for name, problem := range map[string]string{
		"TestALeaseEnds":                       `"A"`,
		"TestLease_WhoEndsIt":                  `"Who"`,
		"TestLease_Ends_OnStop":                "TestSubject_Condition",
		"Testlease":                            "TestSubject_Condition",
		"TestOneTwoThree_FourFiveSixSevenHTTP": "8 words",
	} {
		require.True(t, strings.Contains(CheckTestName(name), problem), "%s: %s", name, CheckTestName(name))
	}
}
