package daemon

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	yamltoken "github.com/goccy/go-yaml/token"

	"github.com/scimwright/scimwright/internal/similar"
)

// maxDepth is the maximum nesting of a file.
const maxDepth = 50

// positions are the lines and columns of the members of a file, by path: names and indexes, separated by dots.
type positions map[string]string

// of returns the position of a path, or of the nearest member that contains it.
func (p positions) of(path string) string {
	path = strings.NewReplacer("[", ".", "]", "").Replace(path)
	for {
		if at, ok := p[path]; ok {
			return at
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return "1:1"
		}
		path = path[:i]
	}
}

// decoder converts nodes to values of a type, and records their positions.
type decoder struct{ at positions }

// parseYAML returns the value of the only document in data, as encoding/json would encode the type of shape. Errors begin with the line and
// the column; they contain no values of the file.
func parseYAML(data []byte, shape any) (any, positions, error) {
	tokens := lexer.Tokenize(string(data))
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case yamltoken.SequenceStartType, yamltoken.MappingStartType:
			depth++
		case yamltoken.SequenceEndType, yamltoken.MappingEndType:
			depth--
		}
		if depth > maxDepth || t.Position.IndentNum > maxDepth*10 {
			return nil, nil, fmt.Errorf("%s: the nesting is too deep", place(t))
		}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			if message := syntax.GetMessage(); !strings.Contains(message, "'\t'") {
				return nil, nil, fmt.Errorf("%s: %s", place(syntax.GetToken()), message)
			}
			return nil, nil, fmt.Errorf("%s: the line begins with a tab: YAML requires spaces", place(syntax.GetToken()))
		}
		return nil, nil, errors.New("1:1: the file is not YAML")
	}
	d := decoder{at: positions{}}
	switch {
	case len(file.Docs) > 1:
		return nil, nil, errors.New("1:1: the file has more than one document")
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		return map[string]any{}, d.at, nil
	}
	value, err := d.value(file.Docs[0].Body, reflect.TypeOf(shape), "", 0)
	return value, d.at, err
}

func place(t *yamltoken.Token) string {
	return fmt.Sprintf("%d:%d", t.Position.Line, t.Position.Column)
}

func at(n ast.Node, format string, args ...any) error {
	return fmt.Errorf("%s: %s", place(n.GetToken()), fmt.Sprintf(format, args...))
}

// value converts a node to a value of a type.
func (d *decoder) value(n ast.Node, t reflect.Type, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, at(n, "the nesting is too deep")
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		t = reflect.TypeFor[string]()
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.MappingNode, *ast.MappingValueNode:
		if t.Kind() != reflect.Struct && t.Kind() != reflect.Map && t.Kind() != reflect.Interface {
			return nil, at(n, "%s is required, not an object", expected(t))
		}
		return d.object(n.(ast.MapNode), t, path, depth)
	case *ast.SequenceNode:
		item := t
		switch t.Kind() {
		case reflect.Slice:
			item = t.Elem()
		case reflect.Interface:
		default:
			return nil, at(n, "%s is required, not a list", expected(t))
		}
		list := make([]any, 0, len(n.Values))
		for i, one := range n.Values {
			below := under(path, strconv.Itoa(i))
			d.at[below] = place(one.GetToken())
			v, err := d.value(one, item, below, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return scalar(n, t)
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// scalar converts a string, a number or a boolean.
func scalar(n ast.Node, t reflect.Type) (any, error) {
	var v any
	switch n := n.(type) {
	case *ast.StringNode:
		v = n.Value
	case *ast.LiteralNode:
		v = n.Value.Value
	case *ast.BoolNode:
		v = n.Value
	case *ast.IntegerNode:
		v = n.Value
	case *ast.FloatNode:
		v = n.Value
	default:
		return nil, at(n, "anchors, aliases and tags are not supported")
	}
	kind := reflect.TypeOf(v).Kind()
	ok := false
	switch t.Kind() {
	case reflect.Interface:
		ok = true
	case reflect.String, reflect.Bool:
		ok = kind == t.Kind()
	case reflect.Float64:
		ok = kind == reflect.Float64 || kind == reflect.Uint64 || kind == reflect.Int64
	case reflect.Int, reflect.Int64:
		ok = kind == reflect.Uint64 || kind == reflect.Int64
	default:
	}
	if !ok {
		return nil, at(n, "%s is required", expected(t))
	}
	return v, nil
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a number"
	}
}

// object converts an object, whose names must be those of the type and unique.
func (d *decoder) object(n ast.MapNode, t reflect.Type, path string, depth int) (any, error) {
	known := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		members(t, known)
	}
	out := map[string]any{}
	for i := n.MapRange(); i.Next(); {
		key := i.Key()
		name := key.GetToken().Value
		if s, ok := key.(*ast.StringNode); ok {
			name = s.Value
		}
		below := under(path, name)
		if _, twice := out[name]; twice {
			return nil, at(key, "%q occurs twice", name)
		}
		d.at[below] = place(key.GetToken())
		item := t
		switch t.Kind() {
		case reflect.Struct:
			var ok bool
			if item, ok = known[name]; !ok {
				names := make([]string, 0, len(known))
				for k := range known {
					names = append(names, k)
				}
				return nil, at(key, "unknown key %q%s", name, suggestion(name, names))
			}
		case reflect.Map:
			item = t.Elem()
		default:
		}
		v, err := d.value(i.Value(), item, below, depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// members adds the JSON names of the fields of a struct that a file may contain, with their types.
func members(t reflect.Type, known map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			members(f.Type, known)
		case name != "" && name != "-" && f.IsExported() && f.Tag.Get("readOnly") != "true":
			known[name] = f.Type
		}
	}
}

// suggestion returns a hint to a similar name, or else to all names.
func suggestion(name string, known []string) string {
	slices.Sort(known)
	return cmp.Or(similar.Hint(name, known), "; known are: "+strings.Join(known, ", "))
}
