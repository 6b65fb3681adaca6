package expression

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/scimwright/scimwright/internal/similar"
)

// words are spelled differently in the library. Both spellings have the same length, so that positions in errors are correct.
var words = map[string]string{"AND": "and", "OR": "or", "NOT": "not", "null": "nil "}

// spell converts an expression to the spelling of the library. String literals do not change.
func spell(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\'' || c == '`':
			end := stringEnd(text, i)
			b.WriteString(text[i:end])
			i = end
		case letter(c):
			end := i
			for end < len(text) && (letter(text[end]) || text[end] >= '0' && text[end] <= '9') {
				end++
			}
			word := text[i:end]
			attribute := i > 0 && text[i-1] == '.'
			switch replacement, known := words[word]; {
			case known && !attribute:
				b.WriteString(replacement)
			case word == "fn" && end < len(text) && text[end] == ':':
				b.WriteString("fn_") // fn:substringBefore is an alias for use in templates
				end++
			default:
				b.WriteString(word)
			}
			i = end
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}

// stringEnd returns the offset after the string that starts at i, or the end of the text if the string is not closed.
func stringEnd(text string, i int) int {
	quote := text[i]
	for j := i + 1; j < len(text); j++ {
		switch {
		case text[j] == '\\' && quote != '`':
			j++
		case text[j] == quote:
			return j + 1
		}
	}
	return len(text)
}

// operators maps each operator to the function that replaces it. Unlike the operators of the library, these functions accept null.
var operators = map[string]string{"+": "add", "<": "less", "<=": "lessOrEqual", ">": "greater", ">=": "greaterOrEqual", "==": "equal",
	"!=": "unequal"}

// dialect converts the library's syntax tree to one with the rules of this language. It walks from the leaves to the root.
type dialect struct {
	names Names
	err   *Error
	// unknown is the error of the first unknown name. The library does not check names in the arguments of functions. Because dialect replaces
	// operators by functions, dialect itself checks the names.
	unknown *Error
}

// Visit implements ast.Visitor.
func (d *dialect) Visit(node *ast.Node) {
	at := (*node).Location()
	replace := func(n ast.Node) {
		n.SetLocation(at)
		*node = n
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if d.names[n.Value] == nil && !names(n.Value) {
			d.miss(at.From, "unknown name "+n.Value)
		}
	case *ast.MemberNode:
		d.member(n)
	case *ast.CallNode:
		d.call(n)
	case *ast.BinaryNode:
		name, known := operators[n.Operator]
		switch {
		case (n.Operator == "==" || n.Operator == "!=") && isNot(n.Left):
			// The library parses NOT a == b as (NOT a) == b; here it means NOT (a == b). For boolean operands, both readings have the same result,
			// so the expression (NOT a) == b may be converted too.
			inner := call(name, untruth(n.Left.(*ast.UnaryNode).Node), n.Right)
			inner.SetLocation(at)
			replace(&ast.UnaryNode{Operator: "not", Node: truth(inner)})
		case known:
			replace(call(name, n.Left, n.Right))
		case n.Operator == "and", n.Operator == "or", n.Operator == "&&", n.Operator == "||":
			n.Left, n.Right = truth(n.Left), truth(n.Right)
		}
	case *ast.UnaryNode:
		if isNot(n) {
			n.Node = truth(n.Node)
		}
	case *ast.ConditionalNode:
		n.Cond = truth(n.Cond)
	}
}

func (d *dialect) miss(offset int, problem string) {
	if d.unknown == nil {
		d.unknown = &Error{Offset: offset, Problem: problem}
	}
}

// member checks that an attribute of an object exists.
func (d *dialect) member(n *ast.MemberNode) {
	object, isName := n.Node.(*ast.IdentifierNode)
	attribute, isText := n.Property.(*ast.StringNode)
	if !isName || !isText {
		return
	}
	if attributes, known := d.names[object.Value]; known {
		_, known := attributes[attribute.Value]
		if _, open := attributes[AnyAttribute]; !known && !open {
			d.miss(attribute.Location().From, "unknown field "+attribute.Value)
		}
	}
}

// names reports whether a name is that of a function, or the first part of a function's name, such as String.
func names(name string) bool {
	return name == contextName || slices.ContainsFunc(functions, func(f aFunction) bool {
		return f.name == name || strings.HasPrefix(f.name, name+".")
	})
}

func isNot(n ast.Node) bool {
	u, ok := n.(*ast.UnaryNode)
	return ok && (u.Operator == "not" || u.Operator == "!")
}

// call replaces the callee by its full name, String.append, and adds the context argument to functions that need it.
func (d *dialect) call(n *ast.CallNode) {
	name := ""
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		name = callee.Value
	case *ast.MemberNode:
		space, isName := callee.Node.(*ast.IdentifierNode)
		property, isText := callee.Property.(*ast.StringNode)
		if !isName || !isText {
			return
		}
		name = space.Value + "." + property.Value
	default:
		return
	}
	f, known := function(name)
	if !known || f.hidden {
		if d.err == nil {
			d.err = &Error{Offset: n.Callee.Location().From, Problem: "unknown function " + name + suggestion(name)}
			if member, ok := n.Callee.(*ast.MemberNode); ok {
				d.err.Offset = member.Node.Location().From
			}
		}
		return
	}
	callee := &ast.IdentifierNode{Value: f.name}
	callee.SetLocation(n.Callee.Location())
	n.Callee = callee
	if f.context {
		n.Arguments = append([]ast.Node{&ast.IdentifierNode{Value: contextName}}, n.Arguments...)
	}
}

func call(name string, arguments ...ast.Node) *ast.CallNode {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: arguments}
}

// truth returns an expression that treats null as false, for the places where a boolean is expected.
func truth(n ast.Node) ast.Node {
	out := call("truth", untruth(n))
	out.SetLocation(n.Location())
	return out
}

func untruth(n ast.Node) ast.Node {
	if c, ok := n.(*ast.CallNode); ok {
		if name, isName := c.Callee.(*ast.IdentifierNode); isName && name.Value == "truth" {
			return c.Arguments[0]
		}
	}
	return n
}

// suggestion returns a hint to a function with a similar name, or "".
func suggestion(name string) string {
	for _, f := range functions {
		if !f.hidden && strings.EqualFold(f.name, name) {
			return "; did you mean " + f.name + "?"
		}
	}
	if _, last, dotted := strings.Cut(name, "."); dotted || last == "" {
		if last == "" {
			last = name
		}
		for _, f := range functions {
			if !f.hidden && strings.HasSuffix(strings.ToLower(f.name), "."+strings.ToLower(last)) {
				return "; did you mean " + f.name + "?"
			}
		}
	}
	var names []string
	for _, f := range functions {
		if !f.hidden {
			names = append(names, f.name)
		}
	}
	if best := similar.Name(name, names); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
