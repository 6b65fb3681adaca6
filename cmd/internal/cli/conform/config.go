package conform

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/similar"
)

// settings is a configuration file: long names of flags and their values.
type settings map[string]any

// readSettings reads a YAML or JSON file.
func readSettings(path string) (settings, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("--config cannot be read: %v", err)
	}
	var s settings
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return nil, usage("--config %s is not a YAML or JSON object of flags: %v", path, firstLine(err))
	}
	return s, nil
}

// apply sets the settings as defaults of their flags, so that the command line and the environment override them. A setting for an unknown
// flag is an error. A setting for a flag of another command is ignored.
func (s settings) apply(path string) kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		known, set := map[string]bool{}, map[string]bool{}
		err := kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
			if flag, ok := node.(*kong.Flag); ok && flag.Name != "help" && flag.Name != "version" && flag.Name != "config" {
				known[flag.Name] = true
				value, given := s[flag.Name]
				if !given || !fits(flag, value) {
					return next(nil)
				}
				set[flag.Name] = true
				text, err := settingText(value, flag.Tag.Sep, flag.Target.Type() == reflect.TypeFor[lines]())
				if err != nil {
					return usage("--config %s: %s: %v", path, flag.Name, err)
				}
				flag.HasDefault, flag.Default = true, text
			}
			return next(nil)
		})
		if err != nil {
			return err
		}
		for name := range s {
			if !known[name] {
				return usage("--config %s: unknown flag %q%s", path, name, similar.Hint(name, slices.Sorted(maps.Keys(known))))
			}
			if !set[name] {
				return usage("--config %s: %s must be true or false", path, name)
			}
		}
		return nil
	})
}

// fits reports whether the type of a flag allows a value. Of all strings, a boolean flag allows only "true" and "false". A file can have
// another string, because a flag of the same name may have another type in another command.
func fits(flag *kong.Flag, value any) bool {
	text, isText := value.(string)
	return !isText || !flag.IsBool() || text == "true" || text == "false"
}

// settingText returns a value in the form of the command line.
func settingText(value any, sep rune, onLines bool) (string, error) {
	switch v := value.(type) {
	case []any:
		words := make([]string, 0, len(v))
		for _, item := range v {
			word, err := settingText(item, sep, onLines)
			if err != nil {
				return "", err
			}
			words = append(words, word)
		}
		if onLines {
			return strings.Join(words, "\n"), nil
		}
		if sep < 0 {
			sep = ','
		}
		return strings.Join(words, string(sep)), nil
	case string, bool, uint64, int64, float64, int:
		return fmt.Sprint(v), nil
	}
	return "", errors.New("the value must be a string, a number, true, false or a list of these")
}

// readAttributes reads the attributes for created objects, by resource type.
func readAttributes(path string) (map[string]conformance.Doc, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("--attributes cannot be read: %v", err)
	}
	var file map[string]map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, usage("--attributes %s does not map names of resource types to attributes: %v", path, firstLine(err))
	}
	out := map[string]conformance.Doc{}
	for name, attributes := range file {
		if !slices.Contains([]string{"User", "Group"}, name) {
			return nil, usage("--attributes %s: %q is neither User nor Group", path, name)
		}
		out[name] = attributes
	}
	return out, nil
}

// firstLine returns the position and the reason of a YAML error. The other lines quote the file, which may contain secrets.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
