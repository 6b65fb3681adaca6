package tenants

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/scimwright/scimwright/internal/similar"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// Limits of a file of tenants: maxFile is its maximum size in bytes, maxDepth its maximum nesting depth.
const (
	maxFile  = 4 << 20
	maxDepth = 100
)

// ReadFile reads the tenants of a YAML or JSON file, in the order of the file. Directories of schemas are relative to the file. Errors name
// the file, the line and the tenant, and never contain a token.
//
//	tenants:
//	  acme:
//	    tokens: [acme-secret, "reader;read-only;expires=2026-12-01T00:00:00Z"] # in the syntax of ParseToken
//	    quirks: [no-patch, "latency=50ms,p=0.5"]                               # in the syntax of quirks.Parse
//	    strict: true                                                           # or lenient: [op-case, ...]
//	    schemas: acme-schemas                                                  # a directory, for LoadTypes
func ReadFile(path string) ([]Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: the file has more than %d bytes", path, maxFile)
	}
	configs, err := parse(data, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return configs, nil
}

// LoadTypes reads the resource types from a directory of schema documents with schema.Load.
func LoadTypes(dir string) ([]*schema.ResourceType, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("schemas: %w", err)
	}
	types, err := schema.Load(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("schemas in %s: %w", dir, err)
	}
	return types, nil
}

// parse parses the content of a file that is in the directory dir.
func parse(data []byte, dir string) ([]Config, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	var configs []Config
	err = members(root, map[string]reader{"tenants": func(n ast.Node) error {
		return pairs(n, func(name, n ast.Node) error {
			c, err := readTenant(name, n, dir)
			configs = append(configs, c)
			return err
		})
	}})
	if err == nil && len(configs) == 0 {
		err = errNoTenants
	}
	return configs, err
}

var errNoTenants = errors.New("the file defines no tenants")

func readTenant(name, n ast.Node, dir string) (Config, error) {
	c := Config{Name: scalar(name)}
	if err := CheckName(c.Name); err != nil {
		return c, at(name, err)
	}
	strict, accepted := false, lenient.Set(0)
	var leniency ast.Node
	err := members(n, map[string]reader{
		"tokens": texts(func(text string) error {
			t, err := ParseToken(text)
			if err != nil {
				return err
			}
			c.Tokens = append(c.Tokens, t)
			return uniqueTokens(c.Tokens)
		}),
		"quirks": texts(func(text string) error {
			s, err := quirks.Parse(text)
			c.Quirks = append(c.Quirks, s)
			return err
		}),
		"strict": func(n ast.Node) error {
			value, ok := n.(*ast.BoolNode)
			if !ok {
				return at(n, errors.New("strict must be true or false"))
			}
			strict = value.Value
			return nil
		},
		"lenient": func(n ast.Node) error {
			leniency = n
			return texts(func(name string) error {
				set, err := lenient.Parse(name)
				accepted |= set
				return err
			})(n)
		},
		"schemas": func(n ast.Node) error {
			path, err := text(n)
			if err != nil {
				return err
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			if c.Types, err = LoadTypes(path); err != nil {
				return at(n, err)
			}
			return nil
		},
	})
	switch {
	case err != nil:
	case len(c.Tokens) == 0:
		err = at(name, errors.New("tokens are required: no client could use the tenant"))
	case strict && leniency != nil:
		err = at(leniency, errors.New("strict and lenient are mutually exclusive"))
	case strict:
		c.Refuse = lenient.All
	case leniency != nil:
		c.Refuse = lenient.All &^ accepted
	}
	if err != nil {
		return c, fmt.Errorf("tenant %s: %w", c.Name, err)
	}
	return c, nil
}

// reader reads the value of one member.
type reader func(n ast.Node) error

// at adds the line to an error.
func at(n ast.Node, err error) error {
	return fmt.Errorf("line %d: %w", n.GetToken().Position.Line, err)
}

// parseYAML returns the value of the only document in data. [pairs] rejects duplicate names.
func parseYAML(data []byte) (ast.Node, error) {
	tokens := lexer.Tokenize(string(data))
	if t := tooDeep(tokens); t != nil {
		return nil, fmt.Errorf("line %d: more than %d levels of nesting", t.Position.Line, maxDepth)
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, fmt.Errorf("neither YAML nor JSON: %w", syntaxError(err))
	}
	switch {
	case len(file.Docs) > 1:
		return nil, errors.New("the file has more than one document")
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		return nil, errNoTenants
	}
	return plain(file.Docs[0].Body), nil
}

// tooDeep returns the token at which brackets, or consecutive markers of list items and names, are nested too deep, or nil. The time and
// memory of the YAML parser grow with the square of the depth.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, marks := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			marks++
		default:
			marks = 0
		}
		if brackets+marks > maxDepth {
			return t
		}
	}
	return nil
}

// syntaxError returns the line and the reason. The rest of the parser's error is an excerpt of the file, which contains tokens.
func syntaxError(err error) error {
	var place yaml.Error
	if !errors.As(err, &place) || place.GetToken() == nil {
		return errors.New("syntax error")
	}
	return fmt.Errorf("line %d: %s", place.GetToken().Position.Line, place.GetMessage())
}

// plain returns the node without its anchor, its tag and the "?" that marks a name. A node with a string tag becomes a string. A node with
// a null tag is returned unchanged, because no value in a file of tenants may be null.
func plain(n ast.Node) ast.Node {
	for {
		switch outer := n.(type) {
		case *ast.AnchorNode:
			n = outer.Value
		case *ast.TagNode:
			value, single := outer.Value.(ast.ScalarNode)
			switch {
			case outer.Start.Value == "!!null":
				return n
			case outer.Start.Value == "!!str" && single:
				return &ast.StringNode{BaseNode: &ast.BaseNode{}, Token: value.GetToken(), Value: scalar(value)}
			}
			n = outer.Value
		case *ast.MappingKeyNode:
			n = outer.Value
		default:
			return n
		}
	}
}

// pairs visits the members of an object. Their names must be unique.
func pairs(n ast.Node, visit func(name, value ast.Node) error) error {
	object, ok := n.(ast.MapNode)
	if !ok {
		return at(n, errors.New("an object is expected"))
	}
	seen := map[string]bool{}
	for i := object.MapRange(); i.Next(); {
		name, value := plain(i.Key()), plain(i.Value())
		if seen[scalar(name)] {
			return at(name, fmt.Errorf("%q occurs twice", scalar(name)))
		}
		seen[scalar(name)] = true
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

// members reads an object that may only have the known members.
func members(n ast.Node, known map[string]reader) error {
	return pairs(n, func(name, value ast.Node) error {
		read, ok := known[scalar(name)]
		if !ok {
			return at(name, fmt.Errorf("unknown member %q%s", scalar(name), similar.Hint(scalar(name), slices.Sorted(maps.Keys(known)))))
		}
		return read(value)
	})
}

// texts reads a list of strings.
func texts(read func(text string) error) reader {
	return func(n ast.Node) error {
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			return at(n, errors.New("a list of strings is expected"))
		}
		for _, item := range list.Values {
			item = plain(item)
			value, err := text(item)
			if err != nil {
				return err
			}
			if err := read(value); err != nil {
				return at(item, err)
			}
		}
		return nil
	}
}

// text reads a string. A scalar that YAML reads as a number, such as a token of digits, is read in its original spelling.
func text(n ast.Node) (string, error) {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(n), nil
	}
	return "", at(n, errors.New("a string is expected"))
}

// scalar returns the text of a value as written in the file, without quotes. It returns "" for an object or a list.
func scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case ast.ScalarNode:
		return n.GetToken().Value
	}
	return ""
}
