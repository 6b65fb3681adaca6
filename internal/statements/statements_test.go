package statements

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
)

// root is the module's directory, relative to this package.
var root = filepath.Join("..", "..")

// readPending returns the statements that no test proves yet.
func readPending(t *testing.T) []string {
	data, err := os.ReadFile(filepath.Join("testdata", "pending.txt"))
	require.NoError(t, err)
	return strings.Fields(string(data))
}

func TestStatements_Proved(t *testing.T) {
	tests, err := Scan(root)
	require.NoError(t, err)
	for _, broken := range Check(Documents(), tests, readPending(t)) {
		t.Error(broken)
	}

	file := filepath.Join(root, "docs", "generated", "management-requirements.md")
	got := Page(Documents(), tests)
	goldentest.Check(t, file, got)
}

func TestDeviations_NameTests(t *testing.T) {
	tests, err := Scan(root)
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "deviations.md"))
	require.NoError(t, err)
	for _, broken := range CheckDeviations(string(page), tests) {
		t.Error(broken)
	}
}

func TestCheck(t *testing.T) {
	documents := func(list ...Statement) []Document {
		return []Document{{ID: "A", Sections: []Section{{Statements: list}}}}
	}
	one, two := Statement{"A-hooks-01", "One."}, Statement{"A-hooks-02", "Two."}
	proof := Test{Name: "p/TestOne", Proves: []string{"A-hooks-01"}}
	for _, tt := range []struct {
		name      string
		documents []Document
		tests     []Test
		pending   []string
		want      string
	}{
		{"all proved", documents(one), []Test{proof}, nil, ""},
		{"all proved or pending", documents(one, two), []Test{proof}, []string{"A-hooks-02"}, ""},
		{"a statement without a test", documents(one, two), []Test{proof}, nil, "A-hooks-02 has no test: Two."},
		{"an unknown statement", documents(one), []Test{proof, {Name: "p/TestTwo", Proves: []string{"A-hooks-02"}}}, nil,
			"p/TestTwo proves A-hooks-02, which does not exist"},
		{"a statement twice", documents(one, Statement{"A-hooks-01", "Two."}), []Test{proof}, nil, "A-hooks-01 occurs twice"},
		{"one text twice", documents(one, Statement{"A-hooks-02", "One."}), []Test{proof}, nil,
			"A-hooks-01 and A-hooks-02 are the same statement"},
		{"an id of another document", documents(Statement{"B-users-01", "One."}), nil, nil, "B-users-01 is in document A"},
		{"an id without a number", documents(Statement{"A-hooks", "One."}), nil, nil, "A-hooks is not an id"},
		{"a test that is skipped", documents(one), []Test{{Name: "p/TestOne", Proves: []string{"A-hooks-01"}, Idle: "it is skipped"}}, nil,
			"p/TestOne proves nothing: it is skipped"},
		{"pending although proved", documents(one), []Test{proof}, []string{"A-hooks-01"},
			"A-hooks-01 is pending although p/TestOne proves it"},
		{"pending and unknown", documents(one), []Test{proof}, []string{"A-hooks-03"}, "A-hooks-03 is pending and does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(Check(tt.documents, tt.tests, tt.pending), "\n")
			require.Contains(t, got, tt.want)
			require.Equal(t, tt.want == "", got == "", got)
		})
	}
}

func TestScan(t *testing.T) {
	const head = "package p\n\nimport \"testing\"\n\n"
	for _, tt := range []struct {
		name, source string
		want         Test
	}{
		{"ids over two lines", head + "// TestX shows it. Proves A-hooks-01,\n// A-hooks-02 and B-users-03. Nothing else.\n" +
			"func TestX(t *testing.T) { t.Fail() }",
			Test{Name: "p/TestX", Proves: []string{"A-hooks-01", "A-hooks-02", "B-users-03"}}},
		{"two sentences", head + "// Proves A-hooks-01. Proves C-scim-02.\nfunc TestX(t *testing.T) { t.Fail() }",
			Test{Name: "p/TestX", Proves: []string{"A-hooks-01", "C-scim-02"}}},
		{"no ids", head + "// TestX proves nothing.\nfunc TestX(t *testing.T) { t.Fail() }", Test{Name: "p/TestX"}},
		{"a skipped test", head + "// Proves A-hooks-01.\nfunc TestX(t *testing.T) { t.Skip(); t.Fail() }",
			Test{Name: "p/TestX", Proves: []string{"A-hooks-01"}, Idle: "it is skipped"}},
		{"a test skipped on a condition", head +
			"// Proves A-hooks-01.\nfunc TestX(t *testing.T) { if testing.Short() { t.Skip() }; t.Fail() }",
			Test{Name: "p/TestX", Proves: []string{"A-hooks-01"}}},
		{"an empty test", head + "// Proves A-hooks-01.\nfunc TestX(t *testing.T) {}",
			Test{Name: "p/TestX", Proves: []string{"A-hooks-01"}, Idle: "it is empty"}},
		{"an excluded file", "//go:build ignore\n\n" + head + "// Proves A-hooks-01.\nfunc TestX(t *testing.T) { t.Fail() }",
			Test{Name: "p/TestX", Proves: []string{"A-hooks-01"}, Idle: "a build constraint excludes its file"}},
		{"a file that is included", "//go:build !race && linux\n\n" + head + "// Proves A-hooks-01.\nfunc TestX(t *testing.T) { t.Fail() }",
			Test{Name: "p/TestX", Proves: []string{"A-hooks-01"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := scanFile("x_test.go", tt.source, "p")
			require.NoError(t, err)
			require.Equal(t, []Test{tt.want}, got)
		})
	}

	for name, source := range map[string]string{
		"a helper":            head + "// Proves A-hooks-01.\nfunc helper(t *testing.T) { t.Fail() }",
		"a comment in a test": head + "func TestX(t *testing.T) {\n\t// Proves A-hooks-01.\n\tt.Fail()\n}",
		"TestMain":            head + "// Proves A-hooks-01.\nfunc TestMain(m *testing.M) { m.Run() }",
	} {
		_, err := scanFile("x_test.go", source, "p")
		require.ErrorContains(t, err, "not the doc comment of a test", name)
	}
}

func TestCheckDeviations(t *testing.T) {
	const head = "| Document | Sentence | Why | Switch | Tests |\n|---|---|---|---|---|\n"
	tests := []Test{{Name: "x/p/TestOne"}, {Name: "x/p/TestTwo", Idle: "it is skipped"}}
	for name, tt := range map[string]struct{ page, want string }{
		"a row":               {head + "| A | S | W | `--x` | `p/TestOne` |\n", ""},
		"by its package":      {head + "| A | S | W | `--x` | `p.TestOne` |\n", ""},
		"with a subtest":      {head + "| A | S | W | `--x` | `p.TestOne/by default`, `TestOne` |\n", ""},
		"another package":     {head + "| A | S | W | `--x` | `q.TestOne` |\n", "q.TestOne, which does not exist"},
		"no row":              {head, ""},
		"no table":            {"# Deviations\n", "has no table"},
		"a missing column":    {head + "| A | S | W | `p/TestOne` |\n", "has 4 columns"},
		"an unknown document": {head + "| D | S | W | `--x` | `p/TestOne` |\n", `of document "D"`},
		"no switch":           {head + "| A | S | W | | `p/TestOne` |\n", "no reason or no switch"},
		"no test":             {head + "| A | S | W | `--x` | later |\n", "has no test"},
		"an unknown test":     {head + "| A | S | W | `--x` | `p/TestThree` |\n", "p/TestThree, which does not exist"},
		"a skipped test":      {head + "| A | S | W | `--x` | `p/TestTwo` |\n", "it is skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(CheckDeviations(tt.page, tests), "\n")
			require.Contains(t, got, tt.want)
			require.Equal(t, tt.want == "", got == "", got)
		})
	}
}
