package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// preamble declares the variables that the examples of the documents use without declaring them.
const preamble = `package example

import (
	"context"
	"database/sql"
	"net/http"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
)

var (
	ctx             context.Context
	db              *sql.DB
	tx              *sql.Tx
	mux             *http.ServeMux
	e, eng          *provision.Engine
	directory       engine.Directory
	myDirectory     engine.Directory
	myHandler       http.Handler
	requireOperator func(next http.Handler) http.Handler
	token, userID   string
	key             []byte
)
`

var (
	goBlock     = regexp.MustCompile("(?ms)^```go\n(import .*?)^```$")
	importGroup = regexp.MustCompile(`(?s)^import (?:\([^)]*\)|[^\n]*)\n`)
)

// TestDocs_ExamplesCompile type-checks the Go examples of README.md and of the pages in docs that start with their imports. Such an example
// may ignore errors.
func TestDocs_ExamplesCompile(t *testing.T) {
	files := []string{filepath.Join(root, "README.md")}
	for _, directory := range []string{"docs/tutorials", "docs/howto", "docs/reference", "docs/explanation"} {
		pages, err := filepath.Glob(filepath.Join(root, directory, "*.md"))
		require.NoError(t, err)
		files = append(files, pages...)
	}
	packages := importable(t)
	var found int
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, at := range goBlock.FindAllSubmatchIndex(text, -1) {
			found++
			line := 1 + strings.Count(string(text[:at[2]]), "\n")
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(file), line), func(t *testing.T) {
				require.NoError(t, checkExample(packages, string(text[at[2]:at[3]])))
			})
		}
	}
	require.GreaterOrEqual(t, found, 8)
}

func TestCheckExample_FindsErrors(t *testing.T) {
	packages := importable(t)
	const imports = "import \"github.com/scimwright/scimwright/engine\"\n"
	require.NoError(t, checkExample(packages, imports+"err := eng.Mark(ctx, tx, engine.Mark{})\n"))
	require.Error(t, checkExample(packages, imports+"err := eng.Mark(ctx, tx, engine.Note{})\n"), "an unknown name")
	once := imports + "var lags []engine.Lag\nlags, err := eng.Apps().Lags(ctx)\n"
	require.NoError(t, checkExample(packages, once))
	require.Error(t, checkExample(packages, once+"lags, err := eng.Apps().Lags(ctx)\n"), "declared twice")
	require.Error(t, checkExample(packages, imports+"_ = ctx\n"), "an import that is not used")
	require.Error(t, checkExample(packages, imports+"eng.Mark(\n"), "no Go")
}

// drivers are the database drivers that examples import only to register them. No public package imports a driver, so importable adds the
// drivers.
var drivers = []string{"github.com/jackc/pgx/v5/stdlib", "github.com/mattn/go-sqlite3"}

// importable returns the public packages and their dependencies, by path.
func importable(t *testing.T) map[string]*types.Package {
	t.Helper()
	loaded, err := LoadTypes(root, Public)
	require.NoError(t, err)
	packages := map[string]*types.Package{}
	for _, driver := range drivers {
		packages[driver] = types.NewPackage(driver, "driver")
		packages[driver].MarkComplete()
	}
	var add func(p *types.Package)
	add = func(p *types.Package) {
		if packages[p.Path()] == nil {
			packages[p.Path()] = p
			for _, i := range p.Imports() {
				add(i)
			}
		}
	}
	for _, p := range loaded {
		add(p)
	}
	return packages
}

// checkExample type-checks an example: imports, then declarations or statements.
func checkExample(packages map[string]*types.Package, example string) error {
	imports := importGroup.FindString(example)
	body := strings.TrimPrefix(example, imports)
	if !strings.Contains("\n"+body, "\nfunc ") {
		body = "func _() {\n" + body + "}\n"
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, source := range []string{preamble, "package example\n" + imports + body} {
		f, err := parser.ParseFile(fset, "example.go", source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	var failed []error
	config := types.Config{
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if p := packages[path]; p != nil {
				return p, nil
			}
			return nil, fmt.Errorf("archtest: %s is not imported by the public packages", path)
		}),
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); !ok || !strings.HasPrefix(e.Msg, "declared and not used") {
				failed = append(failed, err)
			}
		},
	}
	_, _ = config.Check("example", fset, files, nil)
	return errors.Join(failed...)
}
