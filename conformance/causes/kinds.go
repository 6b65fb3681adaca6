package causes

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// A check can have several kinds of findings, and its texts describe the most serious one. This file selects the finding of a check that
// its texts describe, and has the texts for the kinds of findings that they do not describe.

// subjectOf matches the attribute at the start of the subject of a finding.
var subjectOf = regexp.MustCompile(`^[A-Za-z]+`)

// told returns the finding that states the cause of which the symptom is the telling one: the one of shown or, if the texts of the check
// name only the attribute of another finding with the same outcome, that one.
func (s *symptom) told() (conformance.Finding, evidence) {
	first, e := s.shown()
	if s.describes(first) {
		return first, e
	}
	for i, f := range s.findings {
		if f.Outcome == first.Outcome && f.Exchange != nil && s.describes(f) {
			return f, s.evidence[i]
		}
	}
	return first, e
}

// describes reports whether the texts of the check name the attribute of the finding, or the finding is about the status of a response.
func (s *symptom) describes(f conformance.Finding) bool {
	subject := subjectOf.FindString(f.What)
	return subject == "status" || regexp.MustCompile(`\b`+subject+`\b`).MatchString(s.check.Why+" "+s.check.Fix)
}

// kindText returns the texts for a finding that the texts of its check do not describe: the target rejects the request as it must, but with
// another status or scimType, or it rejects a filter because of an error in its program. They are empty for all other findings.
func kindText(c conformance.Check, f conformance.Finding, e evidence) generalText {
	var text generalText
	switch {
	case rejection400.MatchString(f.Got) && strings.HasPrefix(f.Want, "200, or 400"):
		if e.status == 400 && programError.MatchString(e.detail) {
			text.why = "The server rejects the filter because of an error in its program, so the client finds no object."
			text.fix = fmt.Sprintf("Correct the program error that the response contains (%s), and evaluate the filter.", e.detail)
		}
	case strings.HasPrefix(f.What, "scimType of ") && e.status >= 400 && !strings.Contains(c.Why, "scimType"):
		text.why = "Clients choose their reaction by scimType: "
		if missing(f.Got) {
			text.why += fmt.Sprintf("without it, this error looks like any other one with the status %d.", e.status)
		} else {
			text.why += "with another value, they react as to another error."
		}
		text.fix = fmt.Sprintf("Return the Error with scimType %s (RFC 7644 section 3.12, table 9).", f.Want)
	case !strings.HasPrefix(f.What, "status of ") || !errorStatus.MatchString(f.Want) || !status.MatchString(f.Got):
	case strings.HasPrefix(f.Got, "5") && !strings.HasPrefix(f.Want, "2") && !strings.Contains(c.Why, "500"):
		text.why = "With a 5xx status, clients assume that the server failed temporarily, and send again a request that cannot succeed."
	case f.Got == "404" && !strings.Contains(f.Want, "404") && !strings.Contains(c.Why, "404"):
		text.why = "From 404, a client concludes that the endpoint or the object does not exist, and not that its request is invalid."
	}
	return text
}

// errorStatus matches an error status in the expected value of a finding.
var errorStatus = regexp.MustCompile(`\b4\d\d\b`)
