package causes

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// A symptom is a check with findings of the outcome Fail or Warn that are not waived.
type symptom struct {
	check conformance.Check
	// findings are those with the outcome Fail or Warn and without a waiver, in the order of the check.
	findings []conformance.Finding
	// evidence has the evidence of each finding, in the same order.
	evidence []evidence
	// seeded is set if the run had the default seed, as the runs behind the signatures: checks that generate requests sent the same ones.
	seeded bool
}

// evidence is what a finding shows, without the names and ids of the run.
type evidence struct {
	exchange *wirelog.Exchange
	// request is the method, the shape of the path and the names of the query parameters: "GET /Users/{id}?attributes". It is empty
	// without an exchange.
	request string
	// endpoint is the method and the collection: "GET /Users".
	endpoint string
	status   int
	scimType string
	// body is the body of the response. detail is the detail of an Error, without variable parts.
	body, detail string
	// operation is the operation of a PATCH, "" if it has several different ones: "replace emails[].value".
	operation string
	// what, want and got are the texts of the finding, without variable parts.
	what, want, got string
}

// symptomsOf returns the symptoms of a result, in the order of its checks. It omits the steps of client flows, for which the result has
// verdicts per client.
func symptomsOf(r *conformance.Result) []*symptom {
	flows := map[string]bool{}
	for _, p := range r.Profiles {
		flows[p.Profile] = true
	}
	var out []*symptom
	for _, c := range r.Checks {
		if flows[c.Check.Area()] {
			continue
		}
		s := &symptom{check: c.Check, seeded: r.Seed == conformance.DefaultSeed}
		for _, f := range c.Findings {
			if f.Waiver == nil && (f.Outcome == conformance.Fail || f.Outcome == conformance.Warn) {
				s.findings = append(s.findings, f)
				s.evidence = append(s.evidence, evidenceOf(f, r.Target))
			}
		}
		if len(s.findings) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// outcome returns Fail if a finding of the symptom has it, otherwise Warn.
func (s *symptom) outcome() conformance.Outcome {
	if slices.ContainsFunc(s.findings, func(f conformance.Finding) bool { return f.Outcome == conformance.Fail }) {
		return conformance.Fail
	}
	return conformance.Warn
}

// shown returns the finding that represents the symptom: the first with the most severe outcome, if possible with an exchange.
func (s *symptom) shown() (conformance.Finding, evidence) {
	best := 0
	rank := func(f conformance.Finding) int {
		n := 0
		if f.Outcome == s.outcome() {
			n += 2
		}
		if f.Exchange != nil {
			n++
		}
		return n
	}
	for i, f := range s.findings {
		if rank(f) > rank(s.findings[best]) {
			best = i
		}
	}
	return s.findings[best], s.evidence[best]
}

func evidenceOf(f conformance.Finding, target string) evidence {
	e := evidence{what: normalize(f.What), want: normalize(f.Want), got: normalize(f.Got), exchange: f.Exchange}
	if x := f.Exchange; x != nil {
		e.request, e.endpoint = requestShape(x.Method, x.URL, target)
		e.status, e.body = x.Status, x.ResponseBody
		var message struct {
			ScimType string `json:"scimType"`
			Detail   string `json:"detail"`
		}
		if json.Unmarshal([]byte(x.ResponseBody), &message) == nil {
			e.scimType, e.detail = message.ScimType, detailOf(message.Detail)
		}
		e.operation = operationOf(x.RequestBody)
	}
	return e
}

// detailOf returns the detail of an Error without variable parts. The message of an exception that the target's program has not handled
// keeps the names of functions and variables in quotation marks, because they distinguish the faults of the program.
func detailOf(detail string) string {
	if programError.MatchString(detail) {
		return truncate(variable.ReplaceAllString(detail, "#"), maxException)
	}
	return truncate(normalize(detail), maxDetail)
}

// truncate shortens a text that only fingerprints contain to n characters.
func truncate(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	cut := string(runes[:n-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
		cut = cut[:i]
	}
	return cut + "…"
}

// accepted reports whether the target returned a success in place of an error status.
func (e evidence) accepted() bool {
	return strings.HasPrefix(e.what, "status") && strings.HasPrefix(e.want, "4") && strings.HasPrefix(e.got, "2") && status.MatchString(e.got)
}

// maxDetail is the number of characters of the detail of an Error that evidence contains.
const maxDetail = 60

// maxException is the number of characters of the message of an exception that evidence contains.
const maxException = 160

var (
	// bracketed matches the filter in the path of an operation.
	bracketed = regexp.MustCompile(`\[.*\]`)
	// schemaURN matches the URN of a schema at the start of the path of an operation.
	schemaURN = regexp.MustCompile(`(?i)^urn:.*:`)
)

// operationOf returns the op and the form of the path of the operations in the body of a PATCH: "add", "remove emails[]". The result is ""
// if the body is not that of a PATCH, or if its operations differ.
func operationOf(body string) string {
	var message struct {
		Operations []struct {
			Op   string `json:"op"`
			Path string `json:"path"`
		} `json:"Operations"`
	}
	if !strings.Contains(body, "Operations") || json.Unmarshal([]byte(body), &message) != nil {
		return ""
	}
	out := ""
	for i, o := range message.Operations {
		path := schemaURN.ReplaceAllString(bracketed.ReplaceAllString(o.Path, "[]"), "URN:")
		form := strings.TrimSpace(strings.ToLower(o.Op) + " " + path)
		if i > 0 && form != out {
			return ""
		}
		out = form
	}
	return out
}

// requestShape returns the shape of a request and its endpoint; see [evidence].
func requestShape(method, address, target string) (shape, endpoint string) {
	path := strings.TrimPrefix(address, target)
	if u, err := url.Parse(path); err == nil {
		path = u.EscapedPath()
		var names []string
		for name := range u.Query() {
			names = append(names, name)
		}
		slices.Sort(names)
		shape = strings.Join(names, "&")
	}
	collection, rest, single := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	endpoint = method + " /" + collection
	path = "/" + collection
	if single && rest != "" {
		path += "/{id}"
		if rest == ".search" {
			path = "/" + collection + "/.search"
		}
	}
	if shape != "" {
		shape = "?" + shape
	}
	return method + " " + path + shape, endpoint
}

var (
	// pathWithID matches the path of a resource in the text of a finding.
	pathWithID = regexp.MustCompile(`/([A-Z][A-Za-z]+)/[^\s/?,;:)"]+`)
	// quoted matches a string in quotation marks.
	quoted = regexp.MustCompile(`"[^"]*"`)
	// variable matches a word with a digit, or a name that the run has made up.
	variable = regexp.MustCompile(`[\w@.+:-]*(?:\d|scimconf-)[\w@.+:-]*`)
	status   = regexp.MustCompile(`^[1-5]\d\d$`)
)

// normalize replaces the parts of a text that differ from request to request: ids, strings in quotation marks, names of the run, numbers.
// An HTTP status remains.
func normalize(text string) string {
	if status.MatchString(text) {
		return text
	}
	text = pathWithID.ReplaceAllString(text, "/$1/{id}")
	text = quoted.ReplaceAllString(text, `""`)
	return variable.ReplaceAllString(text, "#")
}
