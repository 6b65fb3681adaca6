package archtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// LoadTypes returns the types of packages of the module below root. The paths in packages are relative to root. LoadTypes type-checks the
// source of the packages without function bodies and without cgo, so it needs no compiled packages from the build cache.
func LoadTypes(root string, packages []string) (map[string]*types.Package, error) {
	patterns := make([]string, len(packages))
	for i, p := range packages {
		patterns[i] = "./" + p
	}
	checked, err := typeCheck(root, platform{runtime.GOOS, runtime.GOARCH}, patterns, nil)
	if err != nil {
		return nil, err
	}
	loaded := map[string]*types.Package{}
	for _, p := range packages {
		loaded[p] = checked[Module+"/"+p]
	}
	return loaded, nil
}

// typeErrors returns the type errors, with those in function bodies, of the packages of the module below root that a build of the patterns
// without cgo compiles for a platform.
func typeErrors(root string, on platform, patterns ...string) ([]string, error) {
	var found []string
	_, err := typeCheck(root, on, patterns, func(err error) { found = append(found, err.Error()) })
	return found, err
}

// platform is a GOOS and a GOARCH.
type platform struct{ system, arch string }

// typeCheck type-checks packages of the module below root, and all that they import. report receives the errors of the packages of the
// module; if it is nil, function bodies are skipped and the first error is returned.
func typeCheck(root string, on platform, patterns []string, report func(error)) (map[string]*types.Package, error) {
	args := append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap"}, patterns...) // dependencies first
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+on.system, "GOARCH="+on.arch)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, failure.String())
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return checked, nil
		} else if err != nil {
			return nil, err
		}
		switch {
		case p.ImportPath == "unsafe":
		case report != nil && strings.HasPrefix(p.ImportPath, Module+"/"):
			checked[p.ImportPath], err = p.check(on, checked, report)
		default:
			checked[p.ImportPath], err = p.check(on, checked, nil)
		}
		if err != nil {
			return nil, err
		}
	}
}

// listed is a package in the output of go list.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
}

// check type-checks a package, without function bodies if report is nil. Its imports must have been checked before. It returns an error of
// the package if report is nil.
func (p listed) check(on platform, checked map[string]*types.Package, report func(error)) (*types.Package, error) {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	conf := types.Config{IgnoreFuncBodies: report == nil, FakeImportC: true, Sizes: types.SizesFor("gc", on.arch), Error: report,
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if pkg := checked[cmp.Or(p.ImportMap[path], path)]; pkg != nil {
				return pkg, nil
			}
			return nil, fmt.Errorf("%s imports %s, which is not listed", p.ImportPath, path)
		})}
	pkg, err := conf.Check(p.ImportPath, files, parsed, nil)
	if report != nil {
		err = nil
	}
	return pkg, err
}

type importerFunc func(path string) (*types.Package, error)

// Import implements types.Importer.
func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
