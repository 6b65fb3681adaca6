package expression

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Limits of an expression.
const (
	MaxLength = 8 << 10 // maximum length of the source, in bytes
	maxNodes  = 2000
	maxMemory = 100_000 // maximum number of elements in memory during the evaluation, see vm.VM
)

// Kind is the type of a value.
type Kind string

// The kinds. Any is a value whose type is known only at evaluation.
const (
	Any     Kind = "any"
	String  Kind = "string"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Array   Kind = "array"
	Object  Kind = "object"
)

// Names are the names that an expression may use: the objects (user, source, app...) with their attributes. An unlisted attribute is an
// error at compile time, unless the object lists AnyAttribute.
type Names map[string]map[string]Kind

// AnyAttribute allows an object to have unlisted attributes of any kind, which are null if they have no value. It is for the evaluation of
// expressions that were checked earlier, possibly with other attributes.
const AnyAttribute = "*"

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	text    string
	program *vm.Program
	kind    Kind
}

// Error describes an error in an expression and its position.
type Error struct {
	Text    string
	Offset  int // offset of the first invalid byte in the source
	Problem string
}

func (e *Error) Error() string {
	return fmt.Sprintf("at character %d: %s", e.Offset+1, e.Problem)
}

// Compile checks and compiles an expression. The error is an *Error; it may be shown to an administrator.
func Compile(text string, names Names) (*Program, error) {
	if len(text) > MaxLength {
		return nil, &Error{Text: text, Problem: fmt.Sprintf("the expression is longer than %d bytes", MaxLength)}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Text: text, Problem: "the expression is empty"}
	}
	rewrite := &dialect{names: names}
	options := []expr.Option{
		expr.Env(environment(names)), expr.DisableAllBuiltins(), expr.MaxNodes(maxNodes), expr.Optimize(false), expr.Patch(rewrite),
	}
	for _, f := range functions {
		options = append(options, expr.Function(f.name, f.run, f.types...))
	}
	program, err := expr.Compile(spell(text), options...)
	if rewrite.err != nil {
		rewrite.err.Text = text
		return nil, rewrite.err
	}
	if err != nil {
		out := &Error{Text: text, Problem: err.Error()}
		if at, ok := errors.AsType[*file.Error](err); ok {
			out.Offset, out.Problem = at.From, at.Message
		}
		out.Problem = plain(out.Problem)
		return nil, out
	}
	if rewrite.unknown != nil {
		rewrite.unknown.Text = text
		return nil, rewrite.unknown
	}
	return &Program{text: text, program: program, kind: kindOf(program.Node())}, nil
}

// plain replaces the terms of the library in an error message.
func plain(problem string) string {
	if m := misfit.FindStringSubmatch(problem); m != nil {
		for operator, name := range operators {
			if name == m[2] {
				return fmt.Sprintf("the operator %s does not accept an operand of the type %s in this position", operator, m[1])
			}
		}
		if m[2] == "truth" {
			return fmt.Sprintf("a %s is neither true nor false", m[1])
		}
	}
	return strings.NewReplacer("interface {}", "any", "nil", "null", contextName+" ", "").Replace(problem)
}

var misfit = regexp.MustCompile(`^cannot use (\S+) as argument \(type \S+\) to call (\w+)`)

// Kind returns the type of the result, Any if it is not known.
func (p *Program) Kind() Kind { return p.kind }

// String returns the source of the expression.
func (p *Program) String() string { return p.text }

// Values are the input of an evaluation: the attributes of each object of Names. A missing attribute is null.
type Values struct {
	Objects map[string]map[string]any
	// Groups are the groups of the user, which the functions isMemberOf... and Groups.* search.
	Groups []Group
}

// Group is a group that the user belongs to.
type Group struct {
	ID, Name string
	App      string // the source of the group, for the first argument of Groups.*
}

// Eval evaluates the expression. The result is nil, a bool, a string, an int, a float64, a []any or a map[string]any. It returns an error
// if the types of values do not match (a number compared with a string) or a limit is exceeded.
func (p *Program) Eval(v Values) (any, error) {
	env := make(map[string]any, len(v.Objects)+1)
	for name, attributes := range v.Objects {
		object := make(map[string]any, len(attributes))
		for k, a := range attributes {
			object[k] = normal(a)
		}
		env[name] = object
	}
	env[contextName] = &context{groups: v.Groups}
	machine := vm.VM{MemoryBudget: maxMemory}
	out, err := machine.Run(p.program, env)
	if err != nil {
		problem := err.Error()
		if at, ok := errors.AsType[*file.Error](err); ok {
			problem = at.Message
		}
		return nil, fmt.Errorf("%s: %s", p.text, plain(problem))
	}
	return normal(out), nil
}

// contextName is the variable with the data that functions need beyond their arguments. Expressions cannot contain this name.
const contextName = "\u00a0context"

type context struct{ groups []Group }

func environment(names Names) types.Map {
	env := types.Map{contextName: types.TypeOf(&context{})}
	for object, attributes := range names {
		fields := types.Map{}
		for name, kind := range attributes {
			if name == AnyAttribute {
				name = types.Extra
			}
			fields[name] = typeOf(kind)
		}
		env[object] = fields
	}
	return env
}

func typeOf(k Kind) types.Type {
	switch k {
	case String:
		return types.String
	case Integer:
		return types.Int
	case Number:
		return types.Float64
	case Boolean:
		return types.Bool
	case Array:
		return types.TypeOf([]any{})
	case Object:
		return types.TypeOf(map[string]any{})
	default:
		return types.Any
	}
}

func kindOf(n ast.Node) Kind {
	t := n.Type()
	if t == nil {
		return Any
	}
	switch t.Kind() {
	case reflect.String:
		return String
	case reflect.Int:
		return Integer
	case reflect.Float64:
		return Number
	case reflect.Bool:
		return Boolean
	case reflect.Slice:
		return Array
	case reflect.Map:
		return Object
	default:
		return Any
	}
}
