package archtest

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
)

const root = "../.."

// TestPublicPackages_NeedNoInternalTypes checks that each exported name of a public package uses only public types.
func TestPublicPackages_NeedNoInternalTypes(t *testing.T) {
	loaded, err := LoadTypes(root, Public)
	require.NoError(t, err)
	for _, p := range Public {
		for _, line := range NonPublic(loaded[p], Public) {
			t.Errorf("%s: other modules cannot name it; define the type in a public package", line)
		}
	}

	for _, p := range Public {
		goldentest.Check(t, filepath.Join(root, "docs", "api", filepath.FromSlash(p)+".txt"), API(loaded[p]))
	}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "docs", "api"), func(path string, _ os.DirEntry, err error) error {
		rel, _ := filepath.Rel(filepath.Join(root, "docs", "api"), path)
		if p, ok := strings.CutSuffix(filepath.ToSlash(rel), ".txt"); ok && !slices.Contains(Public, p) {
			t.Errorf("docs/api/%s.txt describes a package that is not public: remove it", p)
		}
		return err
	}))
}

// TestPackages_PublicOrInternal checks that a package that other modules can import is in Public.
func TestPackages_PublicOrInternal(t *testing.T) {
	files, err := Scan(root)
	require.NoError(t, err)
	packages := map[string]bool{}
	for _, f := range files {
		packages[f.Package] = true
	}
	for p := range packages {
		if p == "." || strings.HasPrefix(p, "cmd/") || strings.HasPrefix(p, "examples/") || strings.Contains("/"+p+"/", "/internal/") {
			require.NotContains(t, Public, p)
			continue
		}
		if !slices.Contains(Public, p) {
			t.Errorf("%s can be imported by other modules: add it to Public in public.go or move it below internal", p)
		}
	}
	for _, p := range Public {
		require.True(t, packages[p], "%s is public and does not exist", p)
	}
}

// TestNonPublic_FindsEachWay checks each way in which a declaration can use a type.
func TestNonPublic_FindsEachWay(t *testing.T) {
	hidden := compile(t, Module+"/internal/hidden", "package hidden\ntype T struct{}\ntype I interface{ M() }\ntype G[X any] struct{}", nil)
	tests := map[string]string{
		"parameter":            "func F(hidden.T) {}",
		"result":               "func F() *hidden.T { return nil }",
		"function parameter":   "func F(func(map[string]hidden.T)) {}",
		"method":               "type F struct{}\nfunc (*F) M() []hidden.T { return nil }",
		"field":                "type F struct { A [2]hidden.T }",
		"embedded type":        "type F struct { hidden.T }",
		"embedded interface":   "type F interface { hidden.I }",
		"interface method":     "type F interface { M(chan hidden.T) }",
		"alias":                "type F = hidden.T",
		"alias of a pointer":   "type F = map[hidden.T]int",
		"variable":             "var F hidden.T",
		"type argument":        "var F hidden.G[int]",
		"constraint":           "func F[X hidden.I](X) {}",
		"type of another name": "type F []hidden.T",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			pkg := compile(t, Module+"/public", "package public\nimport \"hidden\"\n"+text, hidden)
			require.NotEmpty(t, NonPublic(pkg, []string{"public"}))
		})
	}
	pkg := compile(t, Module+"/public",
		"package public\nimport \"hidden\"\ntype f = hidden.T\ntype F struct { a hidden.T }\nfunc (F) m(hidden.T) {}\nfunc g(f) {}", hidden)
	require.Empty(t, NonPublic(pkg, []string{"public"}))
	require.Contains(t, API(pkg), "type F struct {\n\t// unexported fields\n}\n")
}

type oneImport struct{ pkg *types.Package }

func (i oneImport) Import(path string) (*types.Package, error) {
	if path == "hidden" {
		return i.pkg, nil
	}
	return importer.Default().Import(path)
}

func compile(t *testing.T, path, text string, hidden *types.Package) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", text, 0)
	require.NoError(t, err)
	pkg, err := (&types.Config{Importer: oneImport{hidden}}).Check(path, fset, []*ast.File{file}, nil)
	require.NoError(t, err)
	return pkg
}
