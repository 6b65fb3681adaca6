package appprofile

import (
	"regexp"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// appKinds and orgKinds are the attributes of the application and of the organization in expressions.
var (
	appKinds = map[string]expression.Kind{"id": expression.String, "name": expression.String, "label": expression.String,
		"clientId": expression.String}
	orgKinds = map[string]expression.Kind{"id": expression.String}
)

// names returns the names that an expression may refer to. source holds the attributes of the source.
func names(direction model.MappingDirection, source map[string]expression.Kind) expression.Names {
	own := "user"
	if direction == model.ToUser {
		own = "appuser"
	}
	return expression.Names{own: source, "source": source, "app": appKinds, "org": orgKinds}
}

// anyNames allows all attributes, for evaluations: an attribute that has been removed from the schema is null.
var anyNames = func() expression.Names {
	everything := map[string]expression.Kind{expression.AnyAttribute: expression.Any}
	return expression.Names{"user": everything, "appuser": everything, "source": everything, "app": everything, "org": everything}
}()

// reference matches an expression that consists of one attribute of the source.
var reference = regexp.MustCompile(`^(?:user|appuser|source)\.(\w+)$`)

// program is a compiled expression or template. The zero value evaluates to null.
type program struct {
	attribute string // source attribute, if the expression consists of it alone
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
		return nil // the operands have incompatible types, so the expression has no value
	}
	return got
}

// template adapts a template to the interface of expressions.
type template struct{ *expression.Template }

func (t template) Eval(v expression.Values) (any, error) { return t.Template.Eval(v) }

// TestsGroups reports whether the result of an expression may depend on the groups of the user. A false positive only costs time.
func TestsGroups(text string) bool {
	return strings.Contains(text, "isMemberOf") || strings.Contains(text, "Groups.")
}

// maxPrograms is the maximum number of cached expressions.
const maxPrograms = 10_000

// Programs caches compiled expressions and templates. The zero value is ready for use. It is safe for concurrent use.
type Programs struct {
	mu     sync.Mutex
	byText map[string]*program
}

func (p *Programs) expression(text string) *program {
	return p.get("e"+text, func() *program {
		if m := reference.FindStringSubmatch(text); m != nil {
			return &program{attribute: m[1]}
		}
		if compiled, err := expression.Compile(text, anyNames); err == nil {
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
		if compiled, err := expression.CompileTemplate(text, anyNames); err == nil {
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

// Values holds the input of expressions.
type Values struct {
	// Source is the profile that the expressions read.
	Source map[string]any
	// AppID and App identify the application.
	AppID string
	App   *model.App
	// Org is the id of the organization.
	Org string
	// Groups holds the groups of the user. Only expressions for which TestsGroups is true use them.
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
