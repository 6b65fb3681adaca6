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

// defaults is the default mapping of applications that provision: the user attribute of each app attribute, in both directions. All rules
// are applied at creation and update. The user name follows the template of the application.
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

// Rules returns the rules of a mapping by the attribute that they set: the default rules with the changes of the mapping. m may be nil for
// a mapping to the application that was never changed, conn for an application without a connection.
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

// CheckRule returns an error if the expression of a rule is invalid. property is the attribute that the rule sets, source holds the
// attributes of the source. The error is shown to the caller.
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
		return nil // whether the value has the format of the attribute is only known at evaluation
	}
	return fmt.Errorf("the expression returns a value of type %s, but the attribute has the type %s", from, p.Type)
}

// Mapping is a compiled mapping. It is safe for concurrent use.
type Mapping struct{ rules []rule }

type rule struct {
	attribute string
	once      bool
	property  model.Property
	program   *program
}

// Compile compiles the rules. It omits the rule of the user name and rules for attributes without a property.
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

// HasRule reports whether the mapping has a rule for the attribute.
func (m *Mapping) HasRule(attribute string) bool {
	return slices.ContainsFunc(m.rules, func(r rule) bool { return r.attribute == attribute })
}

// Outcome is the result of a mapping.
type Outcome struct {
	// Profile holds the attributes that have a value.
	Profile map[string]any
	// Kept holds the results of rules that are applied once, nil for rules without a result.
	Kept map[string]any
	// Problems holds the errors of values that do not fit their attribute, by attribute.
	Problems map[string]string
}

// Apply evaluates the rules. A rule that is applied once returns its first result: the value in kept. If the rule was applied at every
// update before, the first result is the value in profile. For a new profile, fresh is set, and profile and kept are nil.
func (m *Mapping) Apply(v *Values, fresh bool, profile, kept map[string]any) Outcome {
	out := Outcome{Profile: make(map[string]any, len(m.rules))}
	for i := range m.rules {
		r := &m.rules[i]
		value, given := kept[r.attribute]
		if !given && r.once && !fresh {
			value, given = profile[r.attribute], true
		}
		if r.property.Mutability == model.Immutable && value == nil {
			given = false // an immutable attribute without a value may still receive its first value
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

// UserName returns the result of a user name template, with its suffix, or "" if the template has no result.
func (p *Programs) UserName(t model.UserNameTemplate, v *Values) string {
	name := text(p.template(t.Template), v)
	if name == "" {
		return ""
	}
	return name + t.Suffix
}

// Text returns the result of an expression as a string, or "" for an expression without a result.
func (p *Programs) Text(expression string, v *Values) string {
	return text(p.expression(expression), v)
}

func text(p *program, v *Values) string {
	value, _ := fit(&model.Property{Type: model.PropertyString}, p.eval(v))
	made, _ := value.(string)
	return made
}

// fit converts a value to the type of a property and returns the error of a value that does not fit. It returns nil for a value that counts
// as no value.
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
				return nil, "The value is not a number"
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
		return nil, "The value is not a number"
	}
	if problem := p.Problem(value); problem != "" {
		return nil, problem
	}
	return value, ""
}

// convert converts a single value to a type, if the conversion is lossless.
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

// Overlay returns base overlaid by the layers, of which later ones override earlier ones. A nil value in a layer clears the attribute. The
// arguments are not modified.
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
