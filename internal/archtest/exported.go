package archtest

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// NonPublic returns the exported declarations of a package that use a type of a package of the module that is not public, as lines
// "path.Name needs path.Type".
func NonPublic(pkg *types.Package, public []string) []string {
	var found []string
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		found = append(found, needs(relative(pkg.Path())+"."+name, declared(obj), public)...)
		if typ, ok := obj.(*types.TypeName); ok && !typ.IsAlias() {
			for m := range typ.Type().(*types.Named).Methods() {
				if m.Exported() {
					found = append(found, needs(relative(pkg.Path())+"."+name+"."+m.Name(), m.Type(), public)...)
				}
			}
		}
	}
	return found
}

// declared returns the type of a constant, variable or function, and the underlying type of a type declaration.
func declared(obj types.Object) types.Type {
	typ, ok := obj.(*types.TypeName)
	if !ok {
		return obj.Type()
	}
	if alias, ok := typ.Type().(*types.Alias); ok {
		return alias.Rhs()
	}
	return typ.Type().Underlying()
}

// needs returns one line "NAME needs PATH.TYPE" for each named type in t that is declared in a package of the module that public does not
// list. The definitions of these named types are not searched.
func needs(name string, t types.Type, public []string) []string {
	var found []string
	var walk func(t types.Type)
	named := func(obj *types.TypeName, args *types.TypeList) {
		if p := obj.Pkg(); p != nil {
			path, ours := strings.CutPrefix(p.Path(), Module+"/")
			if line := name + " needs " + path + "." + obj.Name(); ours && !slices.Contains(public, path) && !slices.Contains(found, line) {
				found = append(found, line)
			}
		}
		for arg := range args.Types() {
			walk(arg)
		}
	}
	walk = func(t types.Type) {
		switch t := t.(type) {
		case *types.Alias:
			named(t.Obj(), t.TypeArgs())
		case *types.Named:
			named(t.Obj(), t.TypeArgs())
		case *types.Pointer:
			walk(t.Elem())
		case *types.Slice:
			walk(t.Elem())
		case *types.Array:
			walk(t.Elem())
		case *types.Chan:
			walk(t.Elem())
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		case *types.Tuple:
			for v := range t.Variables() {
				walk(v.Type())
			}
		case *types.Signature:
			for p := range t.TypeParams().TypeParams() {
				walk(p.Constraint())
			}
			walk(t.Params())
			walk(t.Results())
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					walk(f.Type())
				}
			}
		case *types.Interface:
			for m := range t.ExplicitMethods() {
				if m.Exported() {
					walk(m.Type())
				}
			}
			for e := range t.EmbeddedTypes() {
				walk(e)
			}
		case *types.Union:
			for term := range t.Terms() {
				walk(term.Type())
			}
		}
	}
	walk(t)
	return found
}

func relative(path string) string { return strings.TrimPrefix(path, Module+"/") }

// API returns the exported declarations of a package as text. A change of the text is a change of the API.
func API(pkg *types.Package) string {
	qualified := func(p *types.Package) string {
		if p == pkg {
			return ""
		}
		return relative(p.Path())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package %s // import %q\n", pkg.Name(), pkg.Path())
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		b.WriteString("\n")
		switch obj := obj.(type) {
		case *types.Const:
			fmt.Fprintf(&b, "const %s %s = %s\n", name, types.TypeString(obj.Type(), qualified), obj.Val().ExactString())
		case *types.TypeName:
			writeType(&b, obj, qualified)
		default:
			fmt.Fprintln(&b, types.ObjectString(obj, qualified))
		}
	}
	return b.String()
}

func writeType(b *strings.Builder, obj *types.TypeName, qualified types.Qualifier) {
	if alias, ok := obj.Type().(*types.Alias); ok {
		fmt.Fprintf(b, "type %s = %s\n", obj.Name(), types.TypeString(alias.Rhs(), qualified))
		return
	}
	named := obj.Type().(*types.Named)
	params := ""
	if list := named.TypeParams(); list.Len() > 0 {
		var all []string
		for p := range list.TypeParams() {
			all = append(all, p.Obj().Name()+" "+types.TypeString(p.Constraint(), qualified))
		}
		params = "[" + strings.Join(all, ", ") + "]"
	}
	fmt.Fprintf(b, "type %s%s ", obj.Name(), params)
	switch t := named.Underlying().(type) {
	case *types.Struct:
		b.WriteString("struct {\n")
		hidden := false
		for i := range t.NumFields() {
			f := t.Field(i)
			if !f.Exported() {
				hidden = true
				continue
			}
			name := f.Name() + " "
			if f.Embedded() {
				name = ""
			}
			fmt.Fprintf(b, "\t%s%s", name, types.TypeString(f.Type(), qualified))
			if tag := t.Tag(i); tag != "" {
				fmt.Fprintf(b, " `%s`", tag)
			}
			b.WriteString("\n")
		}
		if hidden {
			b.WriteString("\t// unexported fields\n")
		}
		b.WriteString("}\n")
	case *types.Interface:
		b.WriteString("interface {\n")
		for e := range t.EmbeddedTypes() {
			fmt.Fprintf(b, "\t%s\n", types.TypeString(e, qualified))
		}
		for m := range t.ExplicitMethods() {
			fmt.Fprintf(b, "\t%s%s\n", m.Name(), strings.TrimPrefix(types.TypeString(m.Type(), qualified), "func"))
		}
		b.WriteString("}\n")
	default:
		fmt.Fprintln(b, types.TypeString(t, qualified))
	}
	var methods []string
	for m := range named.Methods() {
		if m.Exported() {
			methods = append(methods, types.ObjectString(m, qualified))
		}
	}
	slices.Sort(methods)
	for _, m := range methods {
		fmt.Fprintln(b, m)
	}
}
