package matrix

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/internal/counted"
	"github.com/scimwright/scimwright/internal/look"
)

// A Writer writes a matrix in one form.
type Writer struct {
	// Name is the name of the form on the command line, What describes the form.
	Name, What string
	Write      func(w io.Writer, m *Matrix) error
}

// Writers returns the writers of all forms.
func Writers() []Writer {
	return []Writer{
		{Name: "markdown", What: "tables by client, area and clause, and the causes of each product", Write: Markdown},
		{Name: "html", What: "the same tables and causes as markdown, in one file for a browser", Write: HTML},
		{Name: "json", What: "everything, for programs and for writing the other forms later", Write: JSON},
	}
}

// WriterNamed returns the writer of the form with the given name.
func WriterNamed(name string) (Writer, bool) {
	i := slices.IndexFunc(Writers(), func(w Writer) bool { return w.Name == name })
	if i < 0 {
		return Writer{}, false
	}
	return Writers()[i], true
}

// JSON writes the matrix as JSON, which [Parse] reads.
func JSON(w io.Writer, m *Matrix) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(m)
}

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

// HTML writes the matrix as one file for a browser, without scripts and external resources.
func HTML(w io.Writer, m *Matrix) error {
	t, err := template.New("matrix").Funcs(template.FuncMap{
		"words": verdict, "day": day, "counts": counts, "join": strings.Join, "label": label, "id": anchor,
		"anchor":   func(i int) string { return anchor(m.Products[i]) },
		"headline": func(i, cause int) string { return m.Products[i].Causes[cause-1].Headline },
		"hint":     func(e Entry) string { return hint(m, e) },
		"next":     func(i int) int { return i + 1 },
		"outcome":  look.Outcome,
	}).Parse(pageTemplate)
	if err == nil {
		_, err = look.Define(t)
	}
	if err != nil {
		return fmt.Errorf("matrix: the template of the page is damaged: %w", err)
	}
	b := bufio.NewWriter(w)
	err = t.Execute(b, struct {
		*Matrix
		Style template.CSS
	}{m, template.CSS(report.Style() + pageStyle)})
	if err != nil {
		return err
	}
	return b.Flush()
}

var verdictWords = map[conformance.Verdict]string{conformance.Clean: "clean", conformance.Findings: "findings",
	conformance.Untested: "not tested"}

func verdict(e Entry) string { return verdictWords[e.Verdict] }

func day(t time.Time) string { return t.Format(time.DateOnly) }

// counts returns the numbers of checks by outcome, most severe first: "15 fail, 6 warn, 501 pass".
func counts(by map[conformance.Outcome]int) string {
	var parts []string
	for _, o := range conformance.Outcomes() {
		if by[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[o], o))
		}
	}
	return strings.Join(parts, ", ")
}

// label returns the text of a cell without its causes.
func label(c Cell) string {
	switch {
	case c.Fit != "":
		return string(c.Fit)
	case c.Outcome == "":
		return "–"
	case c.Counts == nil:
		return string(c.Outcome)
	}
	var parts []string
	for _, o := range []conformance.Outcome{conformance.Fail, conformance.Error, conformance.Warn} {
		if n := c.Counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(parts) == 0 {
		return string(c.Outcome)
	}
	return strings.Join(parts, ", ")
}

// Markdown writes the matrix as Markdown. Numbers in parentheses are the causes of the product in the column.
func Markdown(w io.Writer, m *Matrix) error {
	b := bufio.NewWriter(w)
	p := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	p("# SCIM conformance of %s\n", counted.Of(len(m.Products), "product"))
	p("This page is for readers who compare SCIM servers. A number in parentheses is a cause of findings. The section of the product lists " +
		"its causes by number.\n")
	p("| Product | Version | Set-up | Tested | Suite | Checks |\n|---|---|---|---|---|---|")
	for _, e := range m.Products {
		p("| %s | %s | %s | %s | %s | %s |", text(e.Name), text(e.Version), text(e.Setup), day(e.Tested), text(e.Suite), counts(e.Outcomes))
	}
	head, rule := "", "|---|"
	for _, e := range m.Products {
		head += " " + text(strings.TrimSpace(e.Name+" "+e.Version+" "+hint(m, e))) + " |"
		rule += "---|"
	}
	if len(m.Clients) > 0 {
		p("\n## Clients\n\nEach cell states whether the provisioning of the client works with the product.\n\n| Client |%s\n%s", head, rule)
		for _, r := range m.Clients {
			p("| %s, %s |%s", text(r.Client), text(r.Title), cells(r.Cells))
		}
	}
	p("\n## Areas\n\nEach cell has the number of checks with a finding. Without findings, it has the outcome of the area.\n\n| Area "+
		"|%s\n%s", head, rule)
	for _, r := range m.Areas {
		p("| %s |%s", text(r.Area), cells(r.Cells))
	}
	p("\n## Clauses\n\nClauses with a failure or a warning. Tested clauses without one: %d.\n\n| Clause |%s\n%s", m.Clean, head, rule)
	for _, r := range m.Clauses {
		p("| %s, %s: %s |%s", r.ID, r.Strength(), text(r.Text), cells(r.Cells))
	}
	for _, e := range m.Products {
		markdownProduct(p, e)
	}
	return b.Flush()
}

// hint returns the set-up of a product if another one has the same name and version.
func hint(m *Matrix, e Entry) string {
	for _, o := range m.Products {
		if o.ID != e.ID && o.Name == e.Name && o.Version == e.Version && e.Setup != "" {
			return e.Setup
		}
	}
	return ""
}

func cells(row []Cell) string {
	var b strings.Builder
	for _, c := range row {
		b.WriteString(" " + label(c))
		if len(c.Causes) > 0 {
			var numbers []string
			for _, n := range c.Causes {
				numbers = append(numbers, strconv.Itoa(n))
			}
			b.WriteString(" (" + strings.Join(numbers, ", ") + ")")
		}
		b.WriteString(" |")
	}
	return b.String()
}

func markdownProduct(p func(string, ...any), e Entry) {
	p("\n## %s\n", text(strings.TrimSpace(e.Name+" "+e.Version)))
	line := ""
	if e.Setup != "" {
		line = text(e.Setup) + ". "
	}
	line += fmt.Sprintf("Tested on %s with %s: %s", day(e.Tested), counted.Of(e.Requests, "request"), verdict(e))
	if e.Reason != "" {
		line += ", " + text(e.Reason)
	}
	p("%s. %s.", line, counts(e.Outcomes))
	if e.Leftovers > 0 {
		p("\n%s remained on the server.", counted.Of(e.Leftovers, "object"))
	}
	if e.Link != "" {
		p("\n<%s>", e.Link)
	}
	for _, n := range e.Notes {
		p("\n%s", text(n))
	}
	if e.Reproduce != "" {
		p("\n%s", fence(strings.TrimSpace(e.Reproduce)))
	}
	if len(e.Causes) > 0 {
		p("")
	}
	for i, c := range e.Causes {
		p("%d. **%s**: %s", i+1, c.Outcome, text(c.Headline))
		detail := counted.Of(len(c.Checks), "check") + ": " + codes(c.Checks)
		if len(c.Clauses) > 0 {
			detail += ". Clauses: " + codes(c.Clauses)
		}
		if len(c.Clients) > 0 {
			detail += ". Affects " + text(strings.Join(c.Clients, ", "))
		}
		p("   <br>%s", detail)
		if c.Fix != "" {
			p("   <br>Fix: %s", text(c.Fix))
		}
	}
}

// maxNamed is the maximum number of ids that Markdown lists; the other forms list all.
const maxNamed = 8

func codes(ids []string) string {
	var parts []string
	for _, id := range ids[:min(len(ids), maxNamed)] {
		parts = append(parts, "`"+id+"`")
	}
	if n := len(ids) - maxNamed; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	return strings.Join(parts, ", ")
}

// anchor returns the id of a product's section in the HTML form.
func anchor(e Entry) string {
	return "product-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, e.ID)
}

// text escapes a string so that it is not interpreted as Markdown or HTML.
func text(s string) string {
	return strings.NewReplacer("\\", "\\\\", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]",
		"\\]", "|", "\\|", "#", "\\#", "\r", " ", "\n", " ", "@", "&#64;").Replace(s)
}

// fence returns a code block whose fence is longer than any run of backticks in the text.
func fence(s string) string {
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	return ticks + "sh\n" + s + "\n" + ticks
}
