package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/gofiles"
)

// File is the data of one Go file that the rules check.
type File struct {
	Package string // directory below the module root, slash-separated
	Name    string // file name
	Test    bool
	Imports []string
	Doc     string   // the package comment, if it is in this file
	Inits   int      // number of init functions
	Getenv  []string // calls that read the environment
}

// Scan reads every Go file below root, except testdata.
func Scan(root string) ([]File, error) {
	var files []File
	err := gofiles.Walk(root, ".go", func(file, rel string) error {
		f, err := scanFile(file, rel)
		files = append(files, f)
		return err
	})
	return files, err
}

func scanFile(file, rel string) (File, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return File{}, err
	}
	f := File{Package: path.Dir(rel), Name: path.Base(rel), Test: strings.HasSuffix(rel, "_test.go")}
	if parsed.Doc != nil {
		f.Doc = parsed.Doc.Text()
	}
	for _, imp := range parsed.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return File{}, err
		}
		f.Imports = append(f.Imports, p)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				f.Inits++
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "os" && slices.Contains([]string{"Getenv", "LookupEnv", "Environ"}, n.Sel.Name) {
				f.Getenv = append(f.Getenv, "os."+n.Sel.Name)
			}
		}
		return true
	})
	return f, nil
}

// Check returns one sentence for each broken rule.
func Check(files []File) []string {
	var broken []string
	documented := map[string]bool{}
	for _, f := range files {
		broken = append(broken, checkImports(f)...)
		documented[f.Package] = documented[f.Package] ||
			(!f.Test && (strings.HasPrefix(f.Doc, "Package ") || strings.HasPrefix(f.Doc, "Command ")))
		if f.Test {
			continue
		}
		if f.Inits > 0 {
			broken = append(broken, fmt.Sprintf("%s/%s has an init function: move its work into constructors", f.Package, f.Name))
		}
		if len(f.Getenv) > 0 && (!match(f.Package, "cmd/...") || match(f.Package, "cmd/internal/...")) && !strings.HasSuffix(f.Package, "test") {
			broken = append(broken,
				fmt.Sprintf("%s/%s calls %s: only main packages and command line tags read the environment", f.Package, f.Name, f.Getenv[0]))
		}
	}
	for pkg, ok := range documented {
		if !ok && !onlyTests(files, pkg) {
			broken = append(broken, fmt.Sprintf("%s has no package comment that describes its purpose", pkg))
		}
	}
	slices.Sort(broken)
	return broken
}

func checkImports(f File) []string {
	var broken []string
	rule, found := ruleFor(f.Package)
	if !found {
		return []string{fmt.Sprintf("%s has no rule: add one to internal/archtest/rules.go with its reason", f.Package)}
	}
	for _, imp := range f.Imports {
		ours, isOurs := strings.CutPrefix(imp, Module+"/")
		switch {
		case isOurs && ours != f.Package && !allowed(rule, f, ours):
			broken = append(broken, fmt.Sprintf("%s/%s imports %s: %s", f.Package, f.Name, ours, rule.Why))
		case isOurs && !roomMayImport(f.Package, ours, f.Test):
			broken = append(broken, fmt.Sprintf("%s/%s imports %s: see Rooms in internal/archtest/rooms.go", f.Package, f.Name, ours))
		case !isOurs && rule.StdlibOnly && !f.Test && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") && !rule.besides(imp):
			broken = append(broken, fmt.Sprintf("%s/%s imports %s: standard library only, because %s", f.Package, f.Name, imp, rule.Why))
		}
		if f.Test {
			continue
		}
		for _, c := range Confined {
			if (match(imp, c.Import) || match(ours, c.Import)) && !slices.ContainsFunc(c.To, func(to string) bool { return match(f.Package, to) }) {
				broken = append(broken, fmt.Sprintf("%s/%s imports %s: %s", f.Package, f.Name, c.Import, c.Why))
			}
		}
	}
	return broken
}

func ruleFor(pkg string) (Rule, bool) {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return match(pkg, r.Package) })
	if i < 0 {
		return Rule{}, false
	}
	return Rules[i], true
}

func allowed(r Rule, f File, imp string) bool {
	may := r.May
	if f.Test || strings.HasSuffix(f.Package, "test") {
		may = slices.Concat(may, r.Tests, everyTest)
	}
	return slices.ContainsFunc(may, func(pattern string) bool { return match(imp, pattern) })
}

func (r Rule) besides(imp string) bool {
	return slices.ContainsFunc(r.Besides, func(pattern string) bool { return match(imp, pattern) })
}

// match reports whether the package path matches the pattern: a path, "path/..." for a path and all below it, "..." for everything, or
// "*suffix" for the end of the last element.
func match(pkg, pattern string) bool {
	if pattern == "..." {
		return true
	}
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(pkg, suffix)
	}
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == root || strings.HasPrefix(pkg, root+"/")
	}
	return pkg == pattern
}

func onlyTests(files []File, pkg string) bool {
	return !slices.ContainsFunc(files, func(f File) bool { return f.Package == pkg && !f.Test })
}
