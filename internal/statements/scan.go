package statements

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/gofiles"
)

// Test is a test function or fuzz target of the module.
type Test struct {
	Name   string   // directory and function, such as mgmtapi/internal/hooks/calls/TestCall_Limits
	Proves []string // the statements in its doc comment
	Idle   string   // why the test never runs, empty if it runs
}

// proves matches the sentence in which a comment names statements.
var proves = regexp.MustCompile(`Proves ([ABC]-[^.]*)\.`)

var between = regexp.MustCompile(`,\s*(and\s+)?|\s+and\s+|\s+`)

// Scan returns the tests of all test files below root, except testdata. It returns an error if a comment that is not
// the doc comment of a test names statements.
func Scan(root string) ([]Test, error) {
	var tests []Test
	err := gofiles.Walk(root, "_test.go", func(file, rel string) error {
		found, err := scanFile(file, nil, path.Dir(rel))
		tests = append(tests, found...)
		return err
	})
	return tests, err
}

// scanFile returns the tests of one file. src is the source; if src is nil, scanFile reads the file.
func scanFile(file string, src any, folder string) ([]Test, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	excluded := isExcluded(parsed)
	var tests []Test
	attached := map[*ast.CommentGroup]bool{}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !isTest(f) {
			continue
		}
		attached[f.Doc] = true
		test := Test{Name: path.Join(folder, f.Name.Name), Proves: proved(f.Doc.Text())}
		switch {
		case excluded:
			test.Idle = "a build constraint excludes its file"
		case skipsAlways(f.Body):
			test.Idle = "it is skipped"
		case len(f.Body.List) == 0:
			test.Idle = "it is empty"
		}
		tests = append(tests, test)
	}
	for _, c := range parsed.Comments {
		if !attached[c] && len(proved(c.Text())) > 0 {
			return nil, fmt.Errorf("%s: a comment names statements that it proves, but is not the doc comment of a test",
				set.Position(c.Pos()))
		}
	}
	return tests, nil
}

// proved returns the words after "Proves" in a comment. Check reports words that are not ids of statements.
func proved(comment string) []string {
	var ids []string
	for _, match := range proves.FindAllStringSubmatch(comment, -1) {
		ids = append(ids, between.Split(strings.TrimSpace(match[1]), -1)...)
	}
	return ids
}

// isTest reports whether the go command runs a function as test or fuzz target.
func isTest(f *ast.FuncDecl) bool {
	if f.Recv != nil || f.Body == nil || f.Name.Name == "TestMain" || len(f.Type.Params.List) != 1 {
		return false
	}
	for _, prefix := range []string{"Test", "Fuzz"} {
		if rest, ok := strings.CutPrefix(f.Name.Name, prefix); ok && (rest == "" || rest[0] < 'a' || rest[0] > 'z') {
			return true
		}
	}
	return false
}

// skipsAlways reports whether the function skips the test unconditionally.
func skipsAlways(body *ast.BlockStmt) bool {
	return slices.ContainsFunc(body.List, func(s ast.Stmt) bool {
		expr, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := expr.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name)
	})
}

// isExcluded reports whether a plain `go test` on Linux excludes the file.
func isExcluded(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Pos() > file.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			if err != nil || !expr.Eval(func(tag string) bool {
				return slices.Contains([]string{"linux", "unix", "amd64", "cgo",
					"gc"}, tag)
			}) {
				return true
			}
		}
	}
	return false
}
