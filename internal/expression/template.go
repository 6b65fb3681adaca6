package expression

import "strings"

// Template is text with ${expressions} in it. It is safe for concurrent use.
type Template struct {
	parts []part
}

type part struct {
	literal string
	program *Program
}

// CompileTemplate checks and compiles a template. Offsets in errors are relative to the start of the template.
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

// templateEnd returns the position of the } that closes an expression, skipping those in strings and maps.
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

// Eval returns the text with the values inserted; null is empty.
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

// CutTemplate splits the text after a ${ into the expression and the text after its }. Without a }, all of it is the expression.
func CutTemplate(text string) (inner, after string) {
	end := templateEnd(text, 0)
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end+1:]
}
