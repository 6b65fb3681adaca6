package tenants

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// maxFile bounds a file of tenants, in bytes.
const maxFile = 4 << 20

// ReadFile reads the tenants of a YAML or JSON file, in its order. Directories of schemas are relative to the file. Errors
// name the file, the line and the tenant, and repeat no token.
//
//	tenants:
//	  acme:
//	    tokens: [acme-secret, "reader;read-only;expires=2026-12-01T00:00:00Z"] # as ParseToken reads them
//	    quirks: [no-patch, "latency=50ms,p=0.5"]                               # as quirks.Parse reads them
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
		return nil, fmt.Errorf("%s: it has more than %d bytes", path, maxFile)
	}
	configs, err := parse(data, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return configs, nil
}

// LoadTypes reads the resource types of a directory of schema documents, as schema.Load does.
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

// parse reads the text of a file that stands in dir.
func parse(data []byte, dir string) ([]Config, error) {
	documents := yaml.NewDecoder(bytes.NewReader(data))
	var root yaml.Node
	switch err := documents.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, errNoTenants
	case err != nil:
		return nil, fmt.Errorf("neither YAML nor JSON: %w", err)
	}
	if err := documents.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document in it")
	}
	var configs []Config
	err := members(root.Content[0], map[string]reader{"tenants": func(n *yaml.Node) error {
		return pairs(n, func(name, n *yaml.Node) error {
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

var errNoTenants = errors.New("it names no tenants")

func readTenant(name, n *yaml.Node, dir string) (Config, error) {
	c := Config{Name: name.Value}
	if err := CheckName(c.Name); err != nil {
		return c, at(name, err)
	}
	strict, accepted := false, lenient.Set(0)
	var leniency *yaml.Node
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
		"strict": func(n *yaml.Node) error {
			if n.Tag != "!!bool" || n.Decode(&strict) != nil {
				return at(n, errors.New("strict is true or false"))
			}
			return nil
		},
		"lenient": func(n *yaml.Node) error {
			leniency = n
			return texts(func(name string) error {
				set, err := lenient.Parse(name)
				accepted |= set
				return err
			})(n)
		},
		"schemas": func(n *yaml.Node) error {
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
		err = at(name, errors.New("it has no tokens, so nobody could use it"))
	case strict && leniency != nil:
		err = at(leniency, errors.New("strict and lenient exclude each other"))
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
type reader func(n *yaml.Node) error

// at adds the place.
func at(n *yaml.Node, err error) error { return fmt.Errorf("line %d: %w", n.Line, err) }

// pairs visits the members of an object, whose names are all different.
func pairs(n *yaml.Node, visit func(name, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return at(n, errors.New("an object is expected here"))
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if seen[name.Value] {
			return at(name, fmt.Errorf("%q is there twice", name.Value))
		}
		seen[name.Value] = true
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

// members reads an object that has no other members than these.
func members(n *yaml.Node, known map[string]reader) error {
	return pairs(n, func(name, value *yaml.Node) error {
		read, ok := known[name.Value]
		if !ok {
			return at(name, fmt.Errorf("there is no member %q", name.Value))
		}
		return read(value)
	})
}

// texts reads a list of strings.
func texts(read func(text string) error) reader {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.SequenceNode {
			return at(n, errors.New("a list of strings is expected here"))
		}
		for _, item := range n.Content {
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

// text reads a string. What YAML takes for a number, as a token of digits, is the text that stands there.
func text(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", at(n, errors.New("a string is expected here"))
	}
	return n.Value, nil
}
