package appprofile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// defaults is the mapping that applications begin with that provision: which
// user attribute an app attribute is taken from, and the other way round. All
// are applied at creation and update. The user name follows the template of the
// application.
var defaults = []struct{ app, user string }{
	{"givenName", "firstName"},
	{"middleName", "middleName"},
	{"familyName", "lastName"},
	{"email", "email"},
	{"displayName", "displayName"},
	{"locale", "locale"},
	{"secondEmail", "secondEmail"},
	{"mobilePhone", "mobilePhone"},
	{"userType", "userType"},
}

// Rules returns the rules of a mapping by the attribute that they make: those
// that applications begin with, changed by what the mapping says. m may be nil
// for the mapping to an application that was never changed, and the connection
// for an application that has none.
func Rules(app *model.App, conn *model.Connection, m *model.Mapping) map[string]model.MappingRule {
	rules, provisions := map[string]model.MappingRule{}, app.Provisions(conn)
	if m != nil && m.Direction == model.ToUser {
		settings := conn.ImportSettings()
		rules["login"] = model.MappingRule{Expression: settings.LoginRule(), PushStatus: model.Push}
	} else if names := app.Credentials.UserNameTemplate; names.Type != model.TemplateNone {
		rules[model.AppUserName] = model.MappingRule{Expression: templateExpression(names), PushStatus: model.DontPush}
		if app.RenamesUsers() {
			rules[model.AppUserName] = model.MappingRule{Expression: templateExpression(names), PushStatus: model.Push}
		}
	}
	if provisions {
		for _, d := range defaults {
			if m != nil && m.Direction == model.ToUser {
				rules[d.user] = model.MappingRule{Expression: "appuser." + d.app, PushStatus: model.Push}
			} else {
				rules[d.app] = model.MappingRule{Expression: "user." + d.user, PushStatus: model.Push}
			}
		}
	}
	if m != nil {
		for name, rule := range m.Rules {
			if rule == nil {
				delete(rules, name)
			} else {
				rules[name] = *rule
			}
		}
	}
	return rules
}

// CheckRule says what is wrong with the expression of a rule that makes an
// attribute with the property from a source with the attributes. The error is
// meant for the caller.
func CheckRule(direction model.MappingDirection, text string, source map[string]expression.Kind, p *model.Property) error {
	compiled, err := expression.Compile(text, names(direction, source))
	if err != nil {
		return err
	}
	from, to := compiled.Kind(), p.Kind()
	single := from != expression.Array && from != expression.Object
	switch {
	case from == expression.Any, from == to, to == expression.Array && single:
		return nil
	case single && (to == expression.String || from == expression.String), from == expression.Integer && to == expression.Number:
		return nil // what does not look like a value of the attribute is known only when there is one
	}
	return fmt.Errorf("the expression gives a value of type %s, and the attribute is of type %s", from, p.Type)
}

// Mapping is a compiled mapping. It may be used by several goroutines.
type Mapping struct{ rules []rule }

type rule struct {
	attribute string
	once      bool
	property  model.Property
	program   *program
}

// Compile compiles the rules. Those for attributes without a property are left
// out, and so is the one of the user name.
func (p *Programs) Compile(rules map[string]model.MappingRule, property func(name string) (model.Property, bool)) *Mapping {
	m := &Mapping{}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if described, ok := property(name); ok && name != model.AppUserName {
			m.rules = append(m.rules, rule{
				attribute: name, once: rules[name].PushStatus == model.DontPush || described.Mutability == model.Immutable,
				property: described, program: p.expression(rules[name].Expression),
			})
		}
	}
	return m
}

// HasRule says whether the mapping has a rule for the attribute.
func (m *Mapping) HasRule(attribute string) bool {
	return slices.ContainsFunc(m.rules, func(r rule) bool { return r.attribute == attribute })
}

// Outcome is what a mapping makes of a source.
type Outcome struct {
	// Profile holds the attributes that have a value.
	Profile map[string]any
	// Kept holds what rules that are applied once have given, nil for nothing.
	Kept map[string]any
	// Problems say which values fit no attribute, by the attribute.
	Problems map[string]string
}

// Apply evaluates the rules. Those that are applied once give what they gave
// before: what is in kept, or in the profile so far when the rule has been one
// of that kind for no longer. For something new, both are nil and fresh is set.
func (m *Mapping) Apply(v *Values, fresh bool, profile, kept map[string]any) Outcome {
	out := Outcome{Profile: make(map[string]any, len(m.rules))}
	for i := range m.rules {
		r := &m.rules[i]
		value, given := kept[r.attribute]
		if !given && r.once && !fresh {
			value, given = profile[r.attribute], true
		}
		if r.property.Mutability == model.Immutable && value == nil {
			given = false // it can still get its first value
		}
		if !r.once || !given {
			var problem string
			if value, problem = fit(&r.property, r.program.eval(v)); problem != "" {
				if out.Problems == nil {
					out.Problems = map[string]string{}
				}
				out.Problems[r.attribute] = problem
			}
		}
		if value != nil {
			out.Profile[r.attribute] = value
		}
		if r.once {
			if out.Kept == nil {
				out.Kept = map[string]any{}
			}
			out.Kept[r.attribute] = value
		}
	}
	return out
}

// UserName is what a user name template gives, with its suffix; "" when it
// gives nothing.
func (p *Programs) UserName(t model.UserNameTemplate, v *Values) string {
	name := text(p.template(t.Template), v)
	if name == "" {
		return ""
	}
	return name + t.Suffix
}

// Text is what an expression gives where a text is wanted, "" for nothing.
func (p *Programs) Text(expression string, v *Values) string {
	return text(p.expression(expression), v)
}

func text(p *program, v *Values) string {
	value, _ := fit(&model.Property{Type: model.PropertyString}, p.eval(v))
	made, _ := value.(string)
	return made
}

// fit brings a value into the type of a property, and says what is wrong with
// it. What is no value is nil.
func fit(p *model.Property, value any) (any, string) {
	value = model.PlainValue(value)
	if model.NoValue(value) {
		return nil, ""
	}
	if p.Type != model.PropertyArray {
		value = convert(p.Type, value)
	} else {
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		converted := make([]any, 0, len(list))
		for _, element := range list {
			if n, ok := element.(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
				return nil, "The value is no number"
			}
			if !model.NoValue(element) {
				converted = append(converted, convert(p.Items.Type, element))
			}
		}
		if value = converted; len(converted) == 0 {
			return nil, ""
		}
	}
	if n, ok := value.(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
		return nil, "The value is no number"
	}
	if problem := p.Problem(value); problem != "" {
		return nil, problem
	}
	return value, ""
}

// convert brings a single value into a type, where that loses nothing.
func convert(t model.PropertyType, value any) any {
	switch v := value.(type) {
	case float64:
		if t == model.PropertyString {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	case bool:
		if t == model.PropertyString {
			return strconv.FormatBool(v)
		}
	case string:
		switch t {
		case model.PropertyNumber, model.PropertyInteger:
			if n, err := strconv.ParseFloat(v, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
				return n
			}
		case model.PropertyBoolean:
			if v == "true" || v == "false" {
				return v == "true"
			}
		}
	}
	return value
}

// Overlay returns base with the layers laid over it, the last one on top.
// A nil value in a layer clears the attribute. The arguments are not changed.
func Overlay(base map[string]any, layers ...map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for _, layer := range layers {
		for name, value := range layer {
			if value == nil {
				delete(out, name)
			} else {
				out[name] = value
			}
		}
	}
	return out
}
