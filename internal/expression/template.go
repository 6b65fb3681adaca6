package expression

import "strings"

// Template is text with ${expressions} in it. It may be used by several goroutines.
type Template struct {
	parts []part
}

type part struct {
	literal string
	program *Program
}

// CompileTemplate checks and compiles a template. Offsets in errors count from its beginning.
func CompileTemplate(text string, names Names) (*Template, error) {
	t := &Template{}
	for at := 0; at < len(text); {
		begin := strings.Index(text[at:], "${")
		if begin < 0 {
			t.parts = append(t.parts, part{literal: text[at:]})
			break
		}
		if begin > 0 {
			t.parts = append(t.parts, part{literal: text[at : at+begin]})
		}
		begin += at + len("${")
		end := templateEnd(text, begin)
		if end < 0 {
			return nil, &Error{Text: text, Offset: begin - len("${"), Problem: "the ${ is not closed"}
		}
		program, err := Compile(text[begin:end], names)
		if err != nil {
			problem := err.(*Error) //nolint:errorlint // Compile returns no other type
			return nil, &Error{Text: text, Offset: begin + problem.Offset, Problem: problem.Problem}
		}
		t.parts = append(t.parts, part{program: program})
		at = end + 1
	}
	return t, nil
}

// templateEnd finds the } that closes an expression. Those in strings and maps do not.
func templateEnd(text string, i int) int {
	for depth := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\'', '`':
			i = stringEnd(text, i) - 1
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// Eval returns the text with the values put in; null is empty.
func (t *Template) Eval(v Values) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.literal)
		if p.program == nil {
			continue
		}
		got, err := p.program.Eval(v)
		if err != nil {
			return "", err
		}
		b.WriteString(text(got))
	}
	return b.String(), nil
}

// CutTemplate splits the text behind a ${ into the expression and what follows its }. Without one, all is the expression.
func CutTemplate(text string) (inner, after string) {
	end := templateEnd(text, 0)
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end+1:]
}
