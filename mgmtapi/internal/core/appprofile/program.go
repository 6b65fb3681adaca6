package appprofile

import (
	"regexp"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// appKinds are what expressions may ask of an application, orgKinds of the organisation.
var (
	appKinds = map[string]expression.Kind{"id": expression.String, "name": expression.String, "label": expression.String,
		"clientId": expression.String}
	orgKinds = map[string]expression.Kind{"id": expression.String}
)

// names are what an expression may refer to whose source has the attributes.
func names(direction model.MappingDirection, source map[string]expression.Kind) expression.Names {
	own := "user"
	if direction == model.ToUser {
		own = "appuser"
	}
	return expression.Names{own: source, "source": source, "app": appKinds, "org": orgKinds}
}

// open are the names under which everything is evaluated: what is not there any more is null.
var open = func() expression.Names {
	whatever := map[string]expression.Kind{expression.AnyAttribute: expression.Any}
	return expression.Names{"user": whatever, "appuser": whatever, "source": whatever, "app": whatever, "org": whatever}
}()

// reference is an expression that only names an attribute of the source.
var reference = regexp.MustCompile(`^(?:user|appuser|source)\.(\w+)$`)

// program is a compiled expression or template. The zero value gives null.
type program struct {
	attribute string // of the source, when that is all
	compiled  interface {
		Eval(v expression.Values) (any, error)
	}
}

func (p *program) eval(v *Values) any {
	if p.attribute != "" {
		return v.Source[p.attribute]
	}
	if p.compiled == nil {
		return nil
	}
	got, err := p.compiled.Eval(v.objects())
	if err != nil {
		return nil // values that do not fit together have no result
	}
	return got
}

// template makes an expression of a template.
type template struct{ *expression.Template }

func (t template) Eval(v expression.Values) (any, error) { return t.Template.Eval(v) }

// TestsGroups says whether the result of an expression may depend on the groups of the user. One that only looks as if it did
// costs time and changes nothing.
func TestsGroups(text string) bool {
	return strings.Contains(text, "isMemberOf") || strings.Contains(text, "Groups.")
}

// maxPrograms is how many compiled expressions are kept.
const maxPrograms = 10_000

// Programs keeps compiled expressions and templates. The zero value is ready; it may be used by several goroutines.
type Programs struct {
	mu     sync.Mutex
	byText map[string]*program
}

func (p *Programs) expression(text string) *program {
	return p.get("e"+text, func() *program {
		if m := reference.FindStringSubmatch(text); m != nil {
			return &program{attribute: m[1]}
		}
		if compiled, err := expression.Compile(text, open); err == nil {
			return &program{compiled: compiled}
		}
		return &program{}
	})
}

func (p *Programs) template(text string) *program {
	return p.get("t"+text, func() *program {
		if inner, whole := strings.CutPrefix(text, "${"); whole {
			if m := reference.FindStringSubmatch(strings.TrimSuffix(inner, "}")); m != nil {
				return &program{attribute: m[1]}
			}
		}
		if compiled, err := expression.CompileTemplate(text, open); err == nil {
			return &program{compiled: template{compiled}}
		}
		return &program{}
	})
}

func (p *Programs) get(key string, compile func() *program) *program {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found, ok := p.byText[key]; ok {
		return found
	}
	if p.byText == nil || len(p.byText) >= maxPrograms {
		p.byText = map[string]*program{}
	}
	p.byText[key] = compile()
	return p.byText[key]
}

// Values are what expressions are evaluated with.
type Values struct {
	// Source is the profile that values come from.
	Source map[string]any
	// AppID and App are the application.
	AppID string
	App   *model.App
	// Org is the id of the organisation.
	Org string
	// Groups are those of the user. They are only asked for by expressions for which TestsGroups holds.
	Groups []expression.Group

	made *expression.Values
}

func (v *Values) objects() expression.Values {
	if v.made == nil {
		v.made = &expression.Values{
			Objects: map[string]map[string]any{
				"user": v.Source, "appuser": v.Source, "source": v.Source, "org": {"id": v.Org},
				"app": {"id": v.AppID, "name": v.App.Name, "label": v.App.Label, "clientId": v.AppID},
			},
			Groups: v.Groups,
		}
	}
	return *v.made
}
