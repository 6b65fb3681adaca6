package grouprules

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/expression"
)

// check returns an error if a text is not a valid boolean expression over the user attributes in attributes. The response to the
// administrator contains the error.
func check(text string, attributes map[string]expression.Kind) error {
	program, err := expression.Compile(text, expression.Names{"user": attributes})
	if err != nil {
		return err
	}
	if kind := program.Kind(); kind != expression.Boolean && kind != expression.Any {
		return &expression.Error{Text: text, Problem: "the expression is a " + string(kind) + ", but a rule requires a boolean"}
	}
	return nil
}

// compile compiles an expression that was validated when it was stored. An attribute that is no longer defined is null.
func compile(text string) (*expression.Program, error) {
	return expression.Compile(text, expression.Names{"user": {expression.AnyAttribute: expression.Any}})
}

// maxPrograms is the maximum number of cached expressions.
const maxPrograms = 1000

// programs caches compiled expressions by their texts.
type programs struct {
	mu     sync.Mutex
	byText map[string]*expression.Program
}

// get returns the compiled expression, nil if it no longer compiles: such a rule matches no user.
func (p *programs) get(text string) *expression.Program {
	p.mu.Lock()
	defer p.mu.Unlock()
	program, ok := p.byText[text]
	if ok {
		return program
	}
	if len(p.byText) >= maxPrograms || p.byText == nil {
		p.byText = map[string]*expression.Program{}
	}
	program, _ = compile(text)
	p.byText[text] = program
	return program
}

// rule is an active rule with its compiled expression.
type rule struct {
	id       string
	groups   []string
	excluded []string
	program  *expression.Program
}

// testsGroups reports whether the result of the rule may depend on the groups of a user. It only searches the text of the expression. If it
// is wrong, the rule is evaluated more often than necessary.
func (r *rule) testsGroups() bool {
	return r.program != nil && (strings.Contains(r.program.String(), "isMemberOf") || strings.Contains(r.program.String(), "Groups."))
}

// ruleUser is a user with the values that rules can test.
type ruleUser struct {
	id      string
	profile map[string]any
	groups  map[string]expression.Group // all groups that rules can test, by their ids
}

// matches reports whether a rule matches a user who is in some groups. An expression whose evaluation fails does not match.
func (r *rule) matches(p *ruleUser, in map[string]bool) bool {
	if r.program == nil || slices.Contains(r.excluded, p.id) {
		return false
	}
	values := expression.Values{Objects: map[string]map[string]any{"user": p.profile}}
	for _, id := range slices.Sorted(maps.Keys(in)) {
		if g, ok := p.groups[id]; ok {
			values.Groups = append(values.Groups, g)
		}
	}
	got, err := r.program.Eval(values)
	return err == nil && got == true
}

// match returns the rules that match a user. base holds the memberships of the user that rules do not assign. Rules may test the groups
// that other rules assign to, so match evaluates them repeatedly until the set no longer changes. If it never stops changing, because rules
// contradict each other, match returns the rules that keep changing instead.
func match(rules []*rule, p *ruleUser, base map[string]bool) (matched, restless map[string]bool) {
	matched = map[string]bool{}
	// A chain of rules needs at most one round per rule, and one more to confirm. A rule that changes after that never stops changing.
	rounds := len(rules) + 1
	for n := range 2 * rounds {
		in := maps.Clone(base)
		for _, r := range rules {
			if matched[r.id] {
				for _, g := range r.groups {
					in[g] = true
				}
			}
		}
		next, same := map[string]bool{}, true
		for _, r := range rules {
			if r.matches(p, in) {
				next[r.id] = true
			}
			if next[r.id] != matched[r.id] {
				same = false
				if n >= rounds {
					if restless == nil {
						restless = map[string]bool{}
					}
					restless[r.id] = true
				}
			}
		}
		if same {
			return next, nil
		}
		matched = next
	}
	return nil, restless
}
