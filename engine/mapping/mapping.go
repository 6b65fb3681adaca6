package mapping

import (
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// MaxRules is the maximum number of rules of one mapping.
const MaxRules = 500

// Rule assigns a value to one attribute of the target. Exactly one of Expression and Constant is set.
type Rule struct {
	// Target is a path as in a PATCH (RFC 7644 section 3.5.2): userName, name.givenName, emails[type eq "work"].value,
	// urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department. A filter may only contain comparisons with "eq", joined by "and".
	// It describes the element that gets the value.
	Target string `json:"target"`
	// Expression is in the expression language of group rules and user name templates. The result null removes the value of the attribute.
	Expression string `json:"expression,omitempty"`
	// Constant is a JSON value.
	Constant any `json:"constant,omitempty"`
	// CreateOnly means that the rule does not change the attribute of an existing account.
	CreateOnly bool `json:"createOnly,omitempty"`
}

// Options configures Compile.
type Options struct {
	Names Names
	// Type has the schemas of the target. Default: User with the enterprise extension. Attributes of other schemas are not validated.
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

// RuleError is an error in one rule.
type RuleError struct {
	Index   int // of the rule in the list
	Rule    Rule
	Problem string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %d (%s): %s", e.Index+1, e.Rule.Target, e.Problem)
}

// Errors has all errors of a list of rules, in the order of the rules.
type Errors []*RuleError

func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "; ")
}

// Compile checks and compiles rules. The error is of type Errors and has an entry for every invalid rule.
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
			err = m.checkOverlap(compiled)
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
		return out, fmt.Errorf("the rule has both an expression and a constant")
	case r.Expression == "" && r.Constant == nil:
		return out, fmt.Errorf("the rule has neither an expression nor a constant")
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

// checkOverlap rejects two rules for the same attribute, because the result would depend on their order.
func (m *Mapping) checkOverlap(r rule) error {
	for _, other := range m.rules {
		switch a, b := other.place.key(), r.place.key(); {
		case a == b:
			return fmt.Errorf("another rule already sets %s", other.Target)
		case strings.HasPrefix(a, b+"."), strings.HasPrefix(b, a+"."):
			return fmt.Errorf("the rule overlaps with the rule for %s", other.Target)
		}
	}
	return nil
}

// Result has the attributes of one user on the target.
type Result struct {
	// Resource has the attributes of all rules, without id, meta and active. Null means that the attribute has no value.
	Resource *scim.Resource
	// OnCreate has the attributes that are set only when the account is created.
	OnCreate *scim.Resource
}

// Apply evaluates the rules for one user. It returns the error of the first rule that cannot be evaluated, or whose value the target's
// schema does not allow. After an error the caller must not send the Result, because the account would lose the attribute of the failed
// rule.
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

// Row is the result of one rule for one user.
type Row struct {
	Rule  Rule   `json:"rule"`
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
}

// Preview evaluates every rule for one user, and continues after an error.
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
