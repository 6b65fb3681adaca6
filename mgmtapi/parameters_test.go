package mgmtapi_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unread are the parameters without effect, each with the reason for it. A key is the operation id and the parameter.
var unread = map[string]string{
	"getHookKey query expand":                             "the response always contains the public key",
	"listOAuth2Claims query includeClaims":                "the specification ignores it",
	"unenrollFactor query removeRecoveryEnrollment":       "recovery does not depend on factors",
	"introspect form token_type_hint":                     hints,
	"introspectCustomAS form token_type_hint":             hints,
	"revoke form token_type_hint":                         hints,
	"revokeCustomAS form token_type_hint":                 hints,
	`o.id("assignRoleToUser") query disableNotifications`: "administrators receive no notifications",
}

const hints = "a hint is for servers that search for tokens in several places (RFC 7009 section 2.1, RFC 7662 section 2.1)"

// Every parameter that an operation declares must be read by a function that the operation calls. The test determines these functions from
// the source: Find and Do of the operation, the methods of its request, the code that creates its slice, and the functions that these call.
func TestParameters_AllRead(t *testing.T) {
	src := loadSource(t)
	known := map[string]bool{}
	for _, op := range src.operations() {
		read := src.readBy(op)
		for name, field := range parametersOf(op.request) {
			at := op.id + " " + name
			known[at] = true
			if unread[at] == "" && !read[field] {
				t.Errorf("%s: the parameter is declared, but not read", at)
			}
			if unread[at] != "" && read[field] {
				t.Errorf("%s: the parameter is read, but listed as unread", at)
			}
		}
	}
	require.Greater(t, len(known), 500, "too few parameters were found")
	for at := range unread {
		require.True(t, known[at], "%s: unknown parameter", at)
	}
}

// source is the type-checked source of the management API.
type source struct {
	fset      *token.FileSet
	info      types.Info
	packages  map[string]*types.Package
	files     map[string][]*ast.File
	functions map[*types.Func]*ast.FuncDecl
}

// operationSource is the source of an operation.
type operationSource struct {
	id      string
	request *types.Struct
	starts  []ast.Node // the expressions in the operation table that refer to functions of the operation
}

const mgmt = "github.com/scimwright/scimwright/mgmtapi"

// loadSource type-checks the packages of the management API from source, and loads the export data of other packages.
func loadSource(t *testing.T) *source {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=ImportPath,Dir,GoFiles,Export", "./...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	exports := map[string]string{}
	s := &source{
		fset: token.NewFileSet(), packages: map[string]*types.Package{}, files: map[string][]*ast.File{},
		functions: map[*types.Func]*ast.FuncDecl{},
		info: types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
	}
	compiled := importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed // dependencies come first
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		exports[p.ImportPath] = p.Export
		if p.ImportPath != mgmt && !strings.HasPrefix(p.ImportPath, mgmt+"/") {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(s.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			s.files[p.ImportPath] = append(s.files[p.ImportPath], file)
		}
		config := types.Config{Importer: importing(func(path string) (*types.Package, error) {
			if known := s.packages[path]; known != nil {
				return known, nil
			}
			return compiled.Import(path)
		})}
		s.packages[p.ImportPath], err = config.Check(p.ImportPath, s.fset, s.files[p.ImportPath], &s.info)
		require.NoError(t, err)
		for _, file := range s.files[p.ImportPath] {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					s.functions[s.info.Defs[f.Name].(*types.Func)] = f
				}
			}
		}
	}
	return s
}

type importing func(path string) (*types.Package, error)

func (i importing) Import(path string) (*types.Package, error) { return i(path) }

// operations returns the literals of type rest.Op.
func (s *source) operations() []operationSource {
	var out []operationSource
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		for _, file := range s.files[path] {
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.CompositeLit)
				if !ok {
					return true
				}
				named, ok := types.Unalias(s.info.Types[literal].Type).(*types.Named)
				if !ok || named.Obj().Name() != "Op" || named.TypeArgs().Len() != 2 {
					return true
				}
				op := operationSource{starts: []ast.Node{literal}}
				if made, ok := s.packages[path].Scope().Lookup("New").(*types.Func); ok {
					op.starts = append(op.starts, s.functions[made])
				}
				op.request, _ = named.TypeArgs().At(0).Underlying().(*types.Struct)
				for _, e := range literal.Elts {
					member := e.(*ast.KeyValueExpr)
					if member.Key.(*ast.Ident).Name == "ID" {
						op.id = strings.Trim(types.ExprString(member.Value), `"`)
						if value := s.info.Types[member.Value].Value; value != nil {
							op.id = constant.StringVal(value)
						}
					}
				}
				methods := types.NewMethodSet(types.NewPointer(named.TypeArgs().At(0)))
				for i := range methods.Len() {
					if f := s.functions[methods.At(i).Obj().(*types.Func)]; f != nil {
						op.starts = append(op.starts, f)
					}
				}
				out = append(out, op)
				return true
			})
		}
	}
	return out
}

// parametersOf returns the fields of a request for its path, query, headers, cookies and form, including those of embedded structs.
func parametersOf(request *types.Struct) map[string]*types.Var {
	out := map[string]*types.Var{}
	if request == nil {
		return out
	}
	for i := range request.NumFields() {
		f := request.Field(i)
		tag := reflect.StructTag(request.Tag(i))
		for _, in := range []string{"path", "query", "header", "cookie", "form"} {
			if name := tag.Get(in); name != "" {
				out[in+" "+name] = f
			}
		}
		if inner, ok := f.Type().Underlying().(*types.Struct); ok && f.Embedded() {
			maps.Copy(out, parametersOf(inner))
		}
	}
	return out
}

// readBy returns the fields that the functions of the operation read.
func (s *source) readBy(op operationSource) map[*types.Var]bool {
	read, seen := map[*types.Var]bool{}, map[ast.Node]bool{}
	var follow func(n ast.Node)
	follow = func(n ast.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		ast.Inspect(n, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			switch o := s.info.Uses[name].(type) {
			case *types.Var:
				if o.IsField() {
					read[o.Origin()] = true
				}
			case *types.Func:
				if f := s.functions[o.Origin()]; f != nil {
					follow(f)
				}
			}
			return true
		})
	}
	for _, n := range op.starts {
		follow(n)
	}
	return read
}
