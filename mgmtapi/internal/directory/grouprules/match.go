package grouprules

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/expression"
)

// check says what is wrong with the expression of a rule over users with the attributes. The error may be shown to an
// administrator.
func check(text string, attributes map[string]expression.Kind) error {
	program, err := expression.Compile(text, expression.Names{"user": attributes})
	if err != nil {
		return err
	}
	if kind := program.Kind(); kind != expression.Boolean && kind != expression.Any {
		return &expression.Error{Text: text, Problem: "the expression is a " + string(kind) + ", and a rule needs true or false"}
	}
	return nil
}

// compile compiles an expression that was checked when it was written. An attribute that there is not any more is null.
func compile(text string) (*expression.Program, error) {
	return expression.Compile(text, expression.Names{"user": {expression.AnyAttribute: expression.Any}})
}

// maxPrograms is how many compiled expressions are kept.
const maxPrograms = 1000

// programs keeps compiled expressions by their texts.
type programs struct {
	mu     sync.Mutex
	byText map[string]*expression.Program
}

// get returns the compiled expression, nil when it does not compile any more: such a rule is for nobody.
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

// rule is an active rule, ready to be asked.
type rule struct {
	id       string
	groups   []string
	excluded []string
	program  *expression.Program
}

// testsGroups says whether the answer may depend on the groups of a user. A text that only looks as if it did costs time and
// changes nothing.
func (r *rule) testsGroups() bool {
	return r.program != nil && (strings.Contains(r.program.String(), "isMemberOf") || strings.Contains(r.program.String(), "Groups."))
}

// person is a user as rules see it.
type person struct {
	id      string
	profile map[string]any
	groups  map[string]expression.Group // all that can be asked about, by their ids
}

// matches asks a rule about a person that is in some groups. An expression that cannot be evaluated is not fulfilled.
func (r *rule) matches(p *person, in map[string]bool) bool {
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

// match finds the rules that match a person whose memberships beside those that the rules give are base: the smallest set that
// agrees with itself, since rules may test the groups that others assign to. When there is none, because rules contradict each
// other, it returns those that never come to rest instead.
func match(rules []*rule, p *person, base map[string]bool) (matched, restless map[string]bool) {
	matched = map[string]bool{}
	// One round more for each rule brings every chain of rules to rest; what still changes then never rests.
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
