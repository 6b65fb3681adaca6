package mapping

import (
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// MaxRules bounds the rules of one mapping.
const MaxRules = 500

// Rule says what one attribute of the target gets. Exactly one of Expression and Constant is set.
type Rule struct {
	// Target is a path as in a PATCH (RFC 7644 section 3.5.2): userName, name.givenName, emails[type eq "work"].value,
	// urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department. A filter selects by equality only; it says what the
	// element is like that gets the value.
	Target string `json:"target"`
	// Expression in the language of this project's expressions. Null unassigns the attribute.
	Expression string `json:"expression,omitempty"`
	// Constant is a JSON value.
	Constant any `json:"constant,omitempty"`
	// CreateOnly leaves the attribute alone once the account is there.
	CreateOnly bool `json:"createOnly,omitempty"`
}

// Options of Compile.
type Options struct {
	Names Names
	// Type has the schemas of the target. Defaults to User with the enterprise extension. Attributes under the URN of a schema
	// that is not among them are taken as they come.
	Type *schema.ResourceType
}

// Mapping is a compiled list of rules. It may be used by several goroutines.
type Mapping struct {
	rules []rule
	base  string // URN of the schema that attributes without URN belong to
}

type rule struct {
	Rule
	place    place
	program  *expression.Program // nil for a constant
	constant any
}

// RuleError says what is wrong with one rule.
type RuleError struct {
	Index   int // of the rule in the list
	Rule    Rule
	Problem string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %d (%s): %s", e.Index+1, e.Rule.Target, e.Problem)
}

// Errors are all the problems of a list of rules, in their order.
type Errors []*RuleError

func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "; ")
}

// Compile checks and compiles rules. The error is of type Errors and names every rule that cannot be used.
func Compile(rules []Rule, o Options) (*Mapping, error) {
	if o.Type == nil {
		o.Type = schema.UserType()
	}
	m := &Mapping{base: o.Type.Schema.ID}
	var problems Errors
	if len(rules) > MaxRules {
		return nil, Errors{{Index: MaxRules, Rule: rules[MaxRules], Problem: fmt.Sprintf("more than %d rules", MaxRules)}}
	}
	names := o.Names.expression()
	for i, r := range rules {
		compiled, err := compile(r, names, o.Type)
		if err == nil {
			err = m.clash(compiled)
		}
		if err != nil {
			problems = append(problems, &RuleError{Index: i, Rule: r, Problem: err.Error()})
			continue
		}
		m.rules = append(m.rules, compiled)
	}
	if problems != nil {
		return nil, problems
	}
	return m, nil
}

func compile(r Rule, names expression.Names, target *schema.ResourceType) (rule, error) {
	out := rule{Rule: r}
	var err error
	if out.place, err = placeOf(r.Target, target); err != nil {
		return out, err
	}
	switch {
	case r.Expression != "" && r.Constant != nil:
		return out, fmt.Errorf("it has both an expression and a constant")
	case r.Expression == "" && r.Constant == nil:
		return out, fmt.Errorf("it has neither an expression nor a constant")
	case r.Constant != nil:
		value, err := scim.Value(r.Constant)
		if err != nil {
			return out, fmt.Errorf("the constant: %w", err)
		}
		if out.constant, err = out.place.convert(value); err != nil {
			return out, fmt.Errorf("the constant %w", err)
		}
		return out, nil
	}
	if out.program, err = expression.Compile(r.Expression, names); err != nil {
		return out, fmt.Errorf("the expression: %w", err)
	}
	return out, out.place.accepts(out.program.Kind())
}

// clash refuses two rules for one place: which of them counted would be chance.
func (m *Mapping) clash(r rule) error {
	for _, other := range m.rules {
		switch a, b := other.place.key(), r.place.key(); {
		case a == b:
			return fmt.Errorf("another rule gives %s a value already", other.Target)
		case strings.HasPrefix(a, b+"."), strings.HasPrefix(b, a+"."):
			return fmt.Errorf("it overlaps with the rule for %s", other.Target)
		}
	}
	return nil
}

// Result is what a user should look like at the target.
type Result struct {
	// Resource holds the attributes of all rules, without id, meta and active. A null says that the attribute is to have no
	// value.
	Resource *scim.Resource
	// OnCreate holds the attributes that only count when the account is created.
	OnCreate *scim.Resource
}

// Apply evaluates the rules for one user. The error names the first rule that could not be evaluated, or whose value the
// target's schema does not allow; nothing must be sent then, or the account would lose what the rule stands for.
func (m *Mapping) Apply(v Values) (Result, error) {
	out, values := Result{Resource: m.resource(), OnCreate: m.resource()}, v.expression()
	for i, r := range m.rules {
		value, err := r.value(values)
		if err != nil {
			return Result{}, &RuleError{Index: i, Rule: r.Rule, Problem: err.Error()}
		}
		into := out.Resource
		if r.CreateOnly {
			if into = out.OnCreate; value == nil {
				continue
			}
		}
		r.place.set(into, value)
	}
	return out, nil
}

func (m *Mapping) resource() *scim.Resource {
	r := &scim.Resource{}
	r.AddSchema(m.base)
	return r
}

func (r rule) value(v expression.Values) (any, error) {
	if r.program == nil {
		return scim.CloneValue(r.constant), nil
	}
	got, err := r.program.Eval(v)
	if err != nil {
		return nil, err
	}
	value, err := scim.Value(got)
	if err != nil {
		return nil, err
	}
	if value, err = r.place.convert(value); err != nil {
		return nil, fmt.Errorf("the value %w", err)
	}
	return value, nil
}

// Row is what one rule says for one user.
type Row struct {
	Rule  Rule   `json:"rule"`
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
}

// Preview evaluates every rule for one user, also after one that fails.
func (m *Mapping) Preview(v Values) []Row {
	rows, values := make([]Row, len(m.rules)), v.expression()
	for i, r := range m.rules {
		rows[i].Rule = r.Rule
		value, err := r.value(values)
		if err != nil {
			rows[i].Error = err.Error()
			continue
		}
		rows[i].Value = value
	}
	return rows
}
