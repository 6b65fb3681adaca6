package errtext_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/errtext"
)

func TestPlain(t *testing.T) {
	inner := errors.New("engine: it was listed before")
	for want, err := range map[string]error{
		"it was listed before":              inner,
		"save a page: it was listed before": fmt.Errorf("sqlstore: save a page: %w", inner),
		"it was listed before: at once":     fmt.Errorf("sqlstore: %w: at once", inner),
		"import 3 of app: it was listed before\nno such host": errors.Join(fmt.Errorf("engine: import 3 of app: %w", inner),
			errors.New("connect: no such host")),
		"the search engine: it broke": errors.New("the search engine: it broke"),
		"engines: none":               errors.New("engines: none"),
	} {
		require.Equal(t, want, errtext.Plain(err))
	}
}

// TestPlain_KnowsPackages checks that errtext lists every package of the module whose errors start with its name.
func TestPlain_KnowsPackages(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := 0
	var unknown []string
	for _, tree := range []string{"engine", "mgmtapi", "internal", "scimserver", "scim"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				name, _ := call.Fun.(*ast.SelectorExpr)
				text, _ := call.Args[0].(*ast.BasicLit)
				if name == nil || text == nil || name.Sel.Name != "New" && name.Sel.Name != "Errorf" {
					return true
				}
				if value, err := strconv.Unquote(text.Value); err == nil && strings.HasPrefix(value, file.Name.Name+": ") {
					seen++
					if strings.HasPrefix(errtext.Plain(errors.New(value)), file.Name.Name+": ") {
						unknown = append(unknown, path+": "+value)
					}
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	require.Empty(t, unknown, "list the packages in errtext")
	require.Greater(t, seen, 100)
}
