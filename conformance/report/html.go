package report

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page is what the template shows.
type page struct {
	Document
	Style    template.CSS
	Script   template.JS
	Policy   string // Content-Security-Policy: nothing from outside, and no script but ours
	Outcomes []conformance.Outcome
	Levels   []conformance.Level
	Areas    []pageArea
	Took     string
}

type pageArea struct {
	Name   string
	Counts []int // by outcome
}

// pageExchange is one request and its answer as the page prints them.
type pageExchange struct {
	Line, Request, Response string
	Status                  int
	Curl                    string
}

// HTML writes the report as one file for the browser, which asks for nothing from outside: the verdicts by area, by client and
// by clause, and every check with its findings and exchanges, to be searched, filtered and printed.
func HTML(w io.Writer, r *conformance.Result, version string) error {
	sum := sha256.Sum256([]byte(pageScript))
	p := page{
		Document: document(r, version), Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Policy:   "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Outcomes: conformance.Outcomes(), Levels: conformance.Levels(),
		Took: r.Duration.Round(10 * time.Millisecond).String(),
	}
	// What was found comes first; the areas keep the order of the checks.
	slices.SortStableFunc(p.Checks, func(a, b Check) int {
		return cmp.Compare(slices.Index(p.Outcomes, a.Outcome), slices.Index(p.Outcomes, b.Outcome))
	})
	for _, name := range areas(r.Checks) {
		area := pageArea{Name: name}
		for _, o := range p.Outcomes {
			n := 0
			for _, c := range r.Checks {
				if c.Check.Area() == name && c.Outcome == o {
					n++
				}
			}
			area.Counts = append(area.Counts, n)
		}
		p.Areas = append(p.Areas, area)
	}
	recorded := evidence(r)
	t, err := template.New("page").Funcs(template.FuncMap{
		"show": func(f Finding) pageExchange { return show(*f.Exchange, f.Curl) },
		"sent": func(check string) []*wirelog.Exchange { return recorded[check] },
		// One at a time: a run has thousands, and the page is the longest of them.
		"lay":    func(e *wirelog.Exchange) pageExchange { return show(*exchange(*e), wirelog.Curl(*e)) },
		"search": search,
		"words":  func(v conformance.Verdict) string { return verdictWords[v] },
		"join":   strings.Join,
	}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("report: the template of the page is damaged: %w", err)
	}
	b := bufio.NewWriter(w)
	if err := t.Execute(b, p); err != nil {
		return err
	}
	return b.Flush()
}

// show lays an exchange out as it went over the wire, with JSON indented.
func show(e Exchange, curl string) pageExchange {
	return pageExchange{
		Line: e.Method + " " + e.URL, Status: e.Status, Curl: curl,
		Request:  message(e.Method+" "+e.URL, e.RequestHeaders, e.RequestBody),
		Response: message(strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))), e.ResponseHeaders, e.ResponseBody),
	}
}

func message(first string, header http.Header, body string) string {
	var b strings.Builder
	b.WriteString(first + "\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, v := range header[name] {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	if body == "" {
		return b.String()
	}
	var indented bytes.Buffer
	if deepest(body) <= maxIndent && json.Indent(&indented, []byte(body), "", "  ") == nil {
		body = indented.String()
	}
	b.WriteString("\n" + body)
	return b.String()
}

// maxIndent is how deeply nested JSON is indented. Bodies of ten thousand levels, which the suite sends, would fill gigabytes.
const maxIndent = 32

// deepest is an upper bound of how many objects and arrays lie in each other.
func deepest(body string) (most int) {
	depth := 0
	for i := range len(body) {
		switch body[i] {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}

// search is the text by which a check is found, in lower case.
func search(c Check) string {
	words := []string{c.ID, c.Title, c.Reason, strings.Join(c.Clients, " ")}
	for _, q := range c.Clauses {
		words = append(words, q.ID, q.Section)
	}
	for _, f := range c.Findings {
		words = append(words, f.What, f.Want, f.Got)
	}
	return strings.ToLower(strings.Join(words, " "))
}
