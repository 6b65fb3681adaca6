package schemas

import (
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Limits of a schema.
const (
	MaxCustom     = 500 // custom properties
	MaxUnique     = 5   // custom properties whose values are unique
	maxNameLength = 100 // characters of a name
)

var namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// body is the body of an update. Read-only members are ignored, so that a client can send back a schema as it was read.
type body struct {
	Definitions struct {
		Custom given `json:"custom" doc:"Properties to add, change or, with null, remove."`
		Base   given `json:"base" doc:"Base properties to change."`
	} `json:"definitions" doc:"The properties."`
}

// given holds the members of a part of a schema in a body.
type given struct {
	Properties map[string]*model.Property `json:"properties" doc:"Properties by name."`
	Required   []string                   `json:"required" doc:"Properties that require a value, in addition to those with required=true."`
}

// customPath and basePath are the paths of properties in a request.
const (
	customPath = "definitions.custom.properties"
	basePath   = "definitions.base.properties"
)

const unchangeable = "This member of a base property cannot be changed"

// kind holds the differences between the schemas of users, groups and applications.
type kind struct {
	// base reports whether the base schema has the name.
	base func(name string) bool
	// unique reports whether values can be unique.
	unique bool
	// places reports whether properties can have an attribute path on the target.
	places bool
	// shown reports whether all values are shown, so that WRITE_ONLY is not allowed.
	shown bool
}

var (
	userKind  = kind{base: model.UserAttribute, unique: true}
	groupKind = kind{base: model.GroupAttribute, shown: true}
	appKind   = kind{base: model.AppAttribute, places: true}
)

// apply returns the custom properties with the changes of the body, and records errors in them.
func (g *given) apply(old map[string]model.Property, k kind, causes *rest.Causes) map[string]model.Property {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]model.Property{}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Properties)) {
		p, path := g.Properties[name], at(customPath, name)
		switch {
		case k.base(name):
			causes.Add(path, "The base schema has a property with this name")
		case !namePattern.MatchString(name) || len(name) > maxNameLength:
			causes.Add(path, "The name must be a letter, followed by letters, digits and underscores, at most %d characters", maxNameLength)
		case p == nil:
			delete(out, name)
		default:
			before, exists := old[name]
			if exists && p.Type == "" {
				p.Type = before.Type
			}
			if exists && p.Type != before.Type {
				causes.Add(at(path, "type"), "The type of a property cannot be changed")
			}
			if p.Required == nil && slices.Contains(g.Required, name) {
				p.Required = new(true)
			}
			out[name] = complete(*p, path, causes)
			if p.IsUnique() && !k.unique {
				causes.Add(at(path, "unique"), "Only properties of users can be unique")
			}
			if p.Mutability == model.WriteOnly && k.shown {
				causes.Add(at(path, "mutability"), "Properties of groups cannot be WRITE_ONLY")
			}
		}
	}
	if k.places {
		g.checkPlaces(out, causes)
	}
	if len(out) > MaxCustom {
		causes.Add(customPath, "A schema can have at most %d custom properties", MaxCustom)
	}
	unique := 0
	for _, p := range out {
		if p.IsUnique() {
			unique++
		}
	}
	if unique > MaxUnique {
		causes.Add(customPath, "At most %d custom properties of a schema can have unique values", MaxUnique)
	}
	return out
}

// checkPlaces records errors in the attribute paths of the given properties: invalid paths and paths that overlap with another property's.
func (g *given) checkPlaces(all map[string]model.Property, causes *rest.Causes) {
	base := model.AppSchema{Custom: all}
	places := map[string]appprofile.AttributePath{}
	for name, p := range base.All(true) {
		if p.ExternalName == "" || name == model.AppUserName {
			continue
		}
		place, err := appprofile.ParsePlace(p.ExternalNamespace, p.ExternalName)
		if err != nil {
			causes.Add(at(customPath, name, "externalName"), "%s", err)
			continue
		}
		places[name] = place
	}
	for _, name := range slices.Sorted(maps.Keys(g.Properties)) {
		place, ok := places[name]
		for _, other := range slices.Sorted(maps.Keys(places)) {
			if ok && other != name && (place.Within(places[other]) || places[other].Within(place)) {
				causes.Add(at(customPath, name, "externalName"), "The property %s has this attribute path on the target", other)
				break
			}
		}
	}
}

// rejectChanges records an error for each member of a base property in the body that differs from the property.
func (g *given) rejectChanges(base func(name string) (model.Property, bool), causes *rest.Causes) {
	for _, name := range slices.Sorted(maps.Keys(g.Properties)) {
		path := at(basePath, name)
		before, ok := base(name)
		switch p := g.Properties[name]; {
		case !ok:
			causes.Add(path, "The base schema has no property with this name")
		case p == nil:
			causes.Add(path, "A base property cannot be removed")
		default:
			differences(before, p, path, causes)
			if len(p.Permissions) > 0 && !reflect.DeepEqual(p.Permissions, before.Permissions) {
				causes.Add(at(path, "permissions"), unchangeable)
			}
			if p.Required != nil && *p.Required != before.IsRequired() {
				causes.Add(at(path, "required"), unchangeable)
			}
			if p.Pattern != nil {
				causes.Add(at(path, "pattern"), unchangeable)
			}
		}
	}
}

// complete returns a custom property with its defaults, and records errors in it.
func complete(p model.Property, path string, causes *rest.Causes) model.Property {
	p.FillIn()
	if p.Pattern != nil && *p.Pattern == "" {
		p.Pattern = nil
	}
	p.Enum, p.OneOf = plain(p.Enum, p.OneOf)
	if p.Items != nil {
		items := *p.Items
		items.Enum, items.OneOf = plain(items.Enum, items.OneOf)
		p.Items = &items
	}
	if p.Title == "" {
		causes.Blank(at(path, "title"))
	}
	if p.Type == "" {
		causes.Blank(at(path, "type"))
		return p
	}
	if p.Type == model.PropertyArray && (p.Items == nil || p.Items.Type == "") {
		causes.Blank(at(path, "items.type"))
		return p
	}
	number := p.Type == model.PropertyNumber || p.Type == model.PropertyInteger
	text := p.Type == model.PropertyString
	for _, m := range []struct {
		name  string
		given bool
		fits  bool
	}{
		{"items", p.Items != nil, p.Type == model.PropertyArray},
		{"format", p.Format != "", text},
		{"minLength", p.MinLength != nil, text},
		{"maxLength", p.MaxLength != nil, text},
		{"minimum", p.Minimum != nil, number},
		{"maximum", p.Maximum != nil, number},
		{"pattern", p.Pattern != nil && *p.Pattern != "", false},
		{"enum", len(p.Enum) > 0, text || number},
		{"oneOf", len(p.OneOf) > 0, text || number},
		{"unique", p.IsUnique(), text || number},
	} {
		if m.given && !m.fits {
			causes.Add(at(path, m.name), "A custom property of the type %s cannot have this member", p.Type)
		}
	}
	if p.MinLength != nil && p.MaxLength != nil && *p.MinLength > *p.MaxLength {
		causes.Add(at(path, "minLength"), "The value must not be greater than maxLength")
	}
	if p.Minimum != nil && p.Maximum != nil && *p.Minimum > *p.Maximum {
		causes.Add(at(path, "minimum"), "The value must not be greater than maximum")
	}
	if problem := model.ChoicesProblem(p.Type, p.Enum, p.OneOf); problem != "" {
		causes.Add(at(path, "enum"), "%s", problem)
	}
	if p.Items != nil {
		if problem := model.ChoicesProblem(p.Items.Type, p.Items.Enum, p.Items.OneOf); problem != "" {
			causes.Add(at(path, "items.enum"), "%s", problem)
		}
	}
	return p
}

// plain returns choices as the store would return them.
func plain(enum []any, oneOf []model.Choice) ([]any, []model.Choice) {
	var values []any
	for _, value := range enum {
		values = append(values, model.PlainValue(value))
	}
	var choices []model.Choice
	for _, c := range oneOf {
		choices = append(choices, model.Choice{Const: model.PlainValue(c.Const), Title: c.Title})
	}
	return values, choices
}
