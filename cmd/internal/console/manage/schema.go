package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/console"
	api "github.com/scimwright/scimwright/engine/control/client"
)

// schema is a schema of the management API.
type schema struct {
	Definitions struct {
		Base, Custom struct{ Properties map[string]property }
	}
}

// property is an attribute of a profile.
type property struct {
	Title, Type, Mutability string
	Required                bool
	Enum                    []any
	OneOf                   []struct {
		Const any
		Title string
	}
	Items struct{ Type string }
}

// attribute is an attribute with its name.
type attribute struct {
	property

	Name string
}

// first are the attributes at the beginning of a form or a table, in this order; the others are in alphabetical order.
var first = []string{
	"login", "userName", "email", "name", "firstName", "lastName", "displayName", "description", "secondEmail", "mobilePhone", "title",
	"department",
}

// attributes returns the attributes of a schema.
func attributes(ctx context.Context, c *api.Client, path string) (all []attribute, err error) {
	var s schema
	if err := c.Do(ctx, http.MethodGet, path, nil, &s); err != nil {
		return nil, err
	}
	for _, part := range []map[string]property{s.Definitions.Base.Properties, s.Definitions.Custom.Properties} {
		for name, p := range part {
			all = append(all, attribute{p, name})
		}
	}
	place := func(a attribute) int {
		if i := slices.Index(first, a.Name); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortFunc(all, func(a, b attribute) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, nil
}

// readOnly is the mutability of an attribute that requests cannot change.
const readOnly = "READ_ONLY"

// fieldsOf returns the fields of a form for the attributes of a profile. Those that are neither required nor in front are further fields.
func fieldsOf(all []attribute, front ...string) (fields []console.Field) {
	for _, a := range all {
		if a.Mutability == readOnly {
			continue
		}
		f := console.Field{
			Name: "profile." + a.Name, Label: a.Title, Kind: "text", Required: a.Required, Clear: !a.Required,
			More: !a.Required && !slices.Contains(front, a.Name),
		}
		if f.Label == "" {
			f.Label = a.Name
		}
		switch a.Type {
		case "boolean":
			f.Kind = "bool"
		case "integer":
			f.Kind = "number"
		case "number":
			f.Kind = "json"
		case "array":
			f.Kind, f.Help = "json", "A JSON array."
			if a.Items.Type == "string" {
				f.Kind, f.Help = "list", "One value per line."
			}
		}
		if f.Kind == "text" && (len(a.Enum) > 0 || len(a.OneOf) > 0) {
			f.Kind, f.Choices = "choice", []console.Choice{{}}
			for _, value := range a.Enum {
				f.Choices = append(f.Choices, console.Choice{Value: fmt.Sprint(value), Label: fmt.Sprint(value)})
			}
			for _, one := range a.OneOf {
				if value := fmt.Sprint(one.Const); !slices.ContainsFunc(f.Choices, func(c console.Choice) bool { return c.Value == value }) {
					f.Choices = append(f.Choices, console.Choice{Value: value, Label: one.Title})
				}
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// valuesOf returns the values of the fields of a profile.
func valuesOf(fields []console.Field, profile map[string]any) url.Values {
	values := url.Values{}
	for _, f := range fields {
		value := profile[strings.TrimPrefix(f.Name, "profile.")]
		if text := shown(value); text != "" {
			values.Set(f.Name, text)
		}
		if list, ok := value.([]any); ok && f.Kind == "list" {
			var lines []string
			for _, element := range list {
				lines = append(lines, shown(element))
			}
			values.Set(f.Name, strings.Join(lines, "\n"))
		}
	}
	return values
}

// shown returns a value as text: strings without quotes, other values as JSON.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// row is an attribute of a profile with its value.
type row struct{ Name, Title, Value string }

// profileRows returns the attributes of a profile that have a value. Attributes that the schema does not have follow.
func profileRows(all []attribute, profile map[string]any) (rows []row) {
	known := map[string]bool{}
	for _, a := range all {
		known[a.Name] = true
		if text := shown(profile[a.Name]); text != "" {
			rows = append(rows, row{a.Name, a.Title, text})
		}
	}
	var others []string
	for name, value := range profile {
		if !known[name] && value != nil {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	for _, name := range others {
		rows = append(rows, row{name, name, shown(profile[name])})
	}
	return rows
}
