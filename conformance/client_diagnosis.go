package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A symptom is one difference between what a step expects and a response or the state of the target.
type symptom struct {
	step Step
	// res is the response that shows the difference. If state is set, it is the response to a GET of the suite after the step, otherwise
	// the response to the client.
	res   *Response
	state bool
	// path is the path of the member that differs. It is empty if the status differs.
	path      string
	want, got any
	// touched reports whether the request of the step contains the attribute of the path.
	touched bool
}

// A diagnosis replaces the Why and the Fix of a step for one kind of symptom. If why or fix is nil or returns "", the text of the step
// remains.
type diagnosis struct {
	applies  func(symptom) bool
	why, fix func(symptom) string
}

// diagnoses are the kinds of symptoms for which the response shows what to fix. The first kind that applies is used. For all other
// symptoms, the texts of the step remain.
var diagnoses = []diagnosis{
	{
		applies: func(s symptom) bool {
			return s.code() == http.StatusMethodNotAllowed || s.code() == http.StatusNotImplemented
		},
		fix: func(s symptom) string {
			return fmt.Sprintf("Support %s of %s: the client sends no other request in its place.", s.step.Method, s.noun())
		},
	},
	{
		applies: func(s symptom) bool { return s.code() == http.StatusUnauthorized || s.code() == http.StatusForbidden },
		fix: func(s symptom) string {
			return fmt.Sprintf("Permit %s of %s with the credentials of the client.", s.step.Method, s.noun())
		},
	},
	{
		applies: func(s symptom) bool {
			return s.code() == http.StatusNotAcceptable || s.code() == http.StatusUnsupportedMediaType
		},
		fix: fixed("Accept application/scim+json and application/json, with and without parameters, in Accept and in Content-Type."),
	},
	{
		applies: func(s symptom) bool { return s.code() >= http.StatusInternalServerError },
		fix: func(s symptom) string {
			return "Correct the server error, whose cause the log of the target contains. " + s.step.Fix
		},
	},
	{
		applies: func(s symptom) bool { return s.code() == http.StatusBadRequest && s.filter() != "" },
		fix:     func(s symptom) string { return fmt.Sprintf("Support the filter %s for %s.", s.filter(), s.noun()) },
	},
	{
		applies: func(s symptom) bool {
			return s.code() == http.StatusNotFound && strings.Contains(s.step.Path, "/${") && s.step.Method != http.MethodDelete
		},
		fix: func(s symptom) string {
			return fmt.Sprintf("Find %s by the id from the response to their creation, also in a %s request.", s.noun(), s.step.Method)
		},
	},
	{
		applies: func(s symptom) bool {
			return s.code() >= 200 && s.code() < 300 && slices.Equal(s.step.Status, []int{http.StatusConflict})
		},
		why: fixed("The target stores the user twice, and the client updates and deactivates only one of the two accounts."),
	},
	{
		applies: func(s symptom) bool { return counter(s.path) && isText(s.got) },
		why:     fixed("The client cannot read a list whose counters are strings."),
		fix:     fixed("Write totalResults, startIndex and itemsPerPage as JSON integers, not as strings."),
	},
	{
		applies: func(s symptom) bool { _, total := s.want.(AtLeast); return total && s.path == "totalResults" },
		why:     fixed("The client stops reading after totalResults resources, and treats all others as deleted."),
		fix:     fixed("Write the number of all matches as totalResults, not the number of those on the page."),
	},
	{
		applies: func(s symptom) bool { return s.list() && s.filter() != "" && len(s.res.Resources()) > s.matches() },
		why: func(s symptom) string {
			return fmt.Sprintf("The response contains %s that the client has not searched for, and the client links and changes them.", s.noun())
		},
		fix: func(s symptom) string {
			return fmt.Sprintf("Apply the filter %s: the response contains %s that do not match.", s.filter(), s.noun())
		},
	},
	{
		applies: func(s symptom) bool {
			return s.list() && s.filter() != "" && s.path == "totalResults" && len(s.res.Resources()) == s.matches()
		},
		fix: fixed("Write the number of the matches of the filter as totalResults."),
	},
	{
		applies: func(s symptom) bool {
			return s.list() && s.matches() == 1 && len(s.res.Resources()) == 0 && !s.ownFix()
		},
		why: func(s symptom) string {
			return fmt.Sprintf("The client does not find %s that exist, and creates them again.", s.noun())
		},
		fix: func(s symptom) string {
			return fmt.Sprintf("Return the %s that match the filter %s as soon as the response to their creation is sent.", s.noun(), s.filter())
		},
	},
	{
		applies: func(s symptom) bool { return s.booleanAsText() },
		why:     fixed("The client requires a boolean, and cannot determine whether the user is active."),
		fix:     fixed("Write active as a JSON boolean, not as a string."),
	},
	{
		applies: func(s symptom) bool { return s.state && s.path == "" && s.step.Method == http.MethodPost },
		fix: func(s symptom) string {
			return "Return new " + s.noun() + " by GET, with the id from the response to their creation."
		},
	},
	{
		applies: func(s symptom) bool { return s.state && s.step.Method == http.MethodPost && s.attribute() == "members" },
		why:     fixed("The target does not store the members with which the client creates the group, so users miss access that they need."),
		fix:     fixed("Store the members of the request, and return them by GET."),
	},
	{
		applies: func(s symptom) bool { return s.state && s.step.Method == http.MethodPost && s.path != "" },
		why: func(s symptom) string {
			return fmt.Sprintf("The target does not store %s as the client sends it, and the client does not detect the difference.", s.path)
		},
		fix: func(s symptom) string { return fmt.Sprintf("Store %s of the request, and return it by GET.", s.path) },
	},
	{
		applies: func(s symptom) bool {
			return s.state && s.path != "" && s.step.Method == http.MethodPatch && !s.touched
		},
		why: func(s symptom) string {
			return fmt.Sprintf("The target changes %s, which the request does not contain.", s.path)
		},
		fix: fixed("Change only the attributes that the operations of the PATCH name."),
	},
}

func fixed(text string) func(symptom) string { return func(symptom) string { return text } }

// diagnose sets the Why and the Fix of a step's check according to the first symptom of the step.
func (t *clientSession) diagnose(c *T, s symptom) {
	if t.diagnosed {
		return
	}
	t.diagnosed = true
	defer func() { c.check.Fix += s.sentForm(c.check.Fix) }()
	i := slices.IndexFunc(diagnoses, func(d diagnosis) bool { return d.applies(s) })
	if i < 0 {
		return
	}
	if why := diagnoses[i].why; why != nil {
		c.check.Why = why(s)
	}
	if fix := diagnoses[i].fix; fix != nil {
		c.check.Fix = fix(s)
	}
}

// sentForm returns sentences about the media type and the op of a rejected request, if they are not those of RFC 7644 and the fix does not
// name them: a target that is strict about them rejects the request for this reason alone. It names the op only if the response does.
func (s symptom) sentForm(fix string) string {
	if code := s.code(); code != http.StatusBadRequest && code != http.StatusUnsupportedMediaType {
		return ""
	}
	text := ""
	if media := s.step.Header.Get("Content-Type"); media != "" && media != scim.MediaType && !strings.Contains(fix, media) {
		text += " The client sends the Content-Type " + media + ": accept it in addition to " + scim.MediaType + "."
	}
	if op := s.step.unusualOp(); op != "" && blames(s.res.Body, op) && !strings.Contains(fix, "case-insensitiv") {
		text += fmt.Sprintf(" The client sends the op %q: compare op case-insensitively.", op)
	}
	return text
}

// unusualOp returns the first op of a PATCH that is not in lower case, "" if there is none.
func (s Step) unusualOp() string {
	operations, _ := s.Body["Operations"].([]Doc)
	for _, operation := range operations {
		if kind, _ := operation["op"].(string); kind != strings.ToLower(kind) {
			return kind
		}
	}
	return ""
}

var (
	// namesOp matches a message that contains the word op or operation.
	namesOp = regexp.MustCompile(`(?i)\bop\b|\boperation\b`)
	// rejectsOp matches a message that says that the target does not know an op.
	rejectsOp = regexp.MustCompile(`(?i)\b(?:unknown|unsupported|unrecogni[sz]ed)\W+(?:patch\W+)?op(?:eration)?\b|\bop\b.{0,40}\bone of\b`)
)

// blames reports whether a message says that the target does not know the op of the client: it says so, or it quotes the op as the client
// has sent it. A message that has the op in lower case is about another part of the operation, because the target has understood the op.
func blames(message []byte, op string) bool {
	return rejectsOp.Match(message) || namesOp.Match(message) && bytes.Contains(message, []byte(op))
}

// code returns the status of the response if the symptom is that the client does not accept the status, otherwise 0.
func (s symptom) code() int {
	if s.path != "" || s.state {
		return 0
	}
	return s.res.Status
}

// noun returns the kind of resources that the request is about, such as "users", or the path of the step for any other kind.
func (s symptom) noun() string {
	switch {
	case strings.HasPrefix(s.step.Path, "/Users"):
		return "users"
	case strings.HasPrefix(s.step.Path, "/Groups"):
		return "groups"
	}
	return s.step.Path
}

// clientOperand matches the operand of a filter.
var clientOperand = regexp.MustCompile(`"[^"\[\]]*"$`)

// filter returns the filter of the step with an ellipsis as operand, empty if it has none.
func (s symptom) filter() string {
	for i := 0; i+1 < len(s.step.Query); i += 2 {
		if s.step.Query[i] == "filter" {
			return clientOperand.ReplaceAllString(s.step.Query[i+1], `"…"`)
		}
	}
	return ""
}

// list reports whether the symptom is in a list that the client requested.
func (s symptom) list() bool { return !s.state && (s.path == "totalResults" || s.path == "Resources") }

// matches returns the number of resources that the step expects.
func (s symptom) matches() int {
	list, _ := s.step.Answer.Contains["Resources"].([]Doc)
	return len(list)
}

// ownFix reports whether the Fix of a lookup already names the reason for an empty list: the case of the operand, or an inactive user.
func (s symptom) ownFix() bool {
	list, _ := s.step.Answer.Contains["Resources"].([]Doc)
	return strings.Contains(strings.Join(s.step.Query, " "), "${upper:") || len(list) == 1 && list[0]["active"] != nil
}

// attribute returns the first part of the path.
func (s symptom) attribute() string {
	name, _, _ := strings.Cut(s.path, ".")
	return name
}

// booleanAsText reports whether a boolean is missing because the target returns active as a string.
func (s symptom) booleanAsText() bool {
	if s.path == "active" {
		_, isBoolean := s.want.(bool)
		return isBoolean && isText(s.got)
	}
	if s.path != "Resources" || len(s.res.Resources()) != s.matches() {
		return false
	}
	return slices.ContainsFunc(s.res.Resources(), func(o *scim.Object) bool { v, _ := o.Get("active"); return isText(v) })
}

func counter(path string) bool {
	return path == "totalResults" || path == "startIndex" || path == "itemsPerPage"
}

func isText(v any) bool { _, ok := v.(string); return ok }

// A stain is an attribute of a resource that has a wrong value because a step of the client flow failed. Later steps must not report it
// again.
type stain struct {
	value any
	step  string // id
}

// stainsOf returns the stains of a resource, by attribute.
func (t *clientSession) stainsOf(path string) map[string]stain {
	if t.stains[path] == nil {
		t.stains[path] = map[string]stain{}
	}
	return t.stains[path]
}

// consequence returns the id of the earlier step whose failure explains the wrong value got of an attribute, otherwise "". There are two
// such cases: the attribute still has the wrong value from the failure and this step does not set it, or this step adds or removes values
// of the attribute.
func (t *clientSession) consequence(path, name string, got any) string {
	stained, found := t.stainsOf(path)[name]
	switch {
	case !found:
		return ""
	case t.relative[name]:
		return stained.step
	case !t.touched[name] && scim.Equal(stained.value, got):
		return stained.step
	}
	return ""
}

// touches sets t.touched to the attributes that a request contains, and t.relative to those to which it adds values or from which it
// removes values.
func (t *clientSession) touches(step Step, body any) {
	t.touched, t.relative = map[string]bool{}, map[string]bool{}
	doc, _ := body.(Doc)
	switch step.Method {
	case http.MethodPatch:
		operations, _ := doc["Operations"].([]any)
		for _, o := range operations {
			operation, _ := o.(Doc)
			kind, _ := operation["op"].(string)
			for _, name := range patched(operation) {
				t.touched[name] = true
				if !strings.EqualFold(kind, "replace") {
					t.relative[name] = true
				}
			}
		}
	case http.MethodPut, http.MethodPost:
		for name := range doc {
			t.touched[name] = true
		}
	}
	for name := range step.Body {
		if step.Base != "" {
			t.touched[name] = true
		}
	}
}

// patched returns the attributes that an operation of a PATCH changes: the one in its path or, without a path, those in its value.
func patched(operation Doc) []string {
	if path, ok := operation["path"].(string); ok {
		return []string{leading(path)}
	}
	value, _ := operation["value"].(Doc)
	var names []string
	for name := range value {
		names = append(names, leading(name))
	}
	return names
}

// leading returns the member of a resource that a path begins with: a URN or an attribute.
func leading(path string) string {
	if strings.HasPrefix(path, scim.EnterpriseUserSchema) {
		return scim.EnterpriseUserSchema
	}
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return path
}

// effects describes what the accepted PUT requests, or PATCH requests, for one kind of resource have changed.
type effects struct {
	effective bool  // at least one request had the expected effect
	without   []int // the numbers of the steps after which an attribute does not have the sent value
}

// minWithout is the minimum number of steps with a method and without an effect after which the method counts as one without any effect,
// provided that no step with this method had an effect.
const minWithout = 2

// recordEffect records whether the accepted request of a step has changed the attributes that it contains.
func (t *clientSession) recordEffect(number int, step Step) {
	if step.Method != http.MethodPut && step.Method != http.MethodPatch || len(step.State) == 0 || t.blocked != "" && !t.ineffective {
		return
	}
	key := step.Method + " of " + symptom{step: step}.noun()
	if t.writes[key] == nil {
		t.writes[key] = &effects{}
	}
	switch {
	case t.ineffective:
		t.writes[key].without = append(t.writes[key].without, number)
	case !t.vacuous:
		t.writes[key].effective = true
	}
}

// settleEffects corrects the texts of steps whose method has no effect in the whole client flow, unless the response shows another fault.
func (t *clientSession) settleEffects(results []CheckResult) {
	for request, e := range t.writes {
		if e.effective || len(e.without) < minWithout {
			continue
		}
		for _, i := range e.without {
			if results[i].Check.Fix != t.outline.Steps[i].Fix {
				continue // the response shows another fault
			}
			results[i].Check.Why = "The target reports success and changes nothing. " + t.outline.Steps[i].Why
			results[i].Check.Fix = "Apply " + request + ": the target returns a success status, and the resource remains unchanged."
			if op := t.outline.Steps[i].unusualOp(); op != "" {
				results[i].Check.Fix += fmt.Sprintf(" The client sends the op %q: if the target applies the op in lower case, ignore its case.", op)
			}
		}
	}
}
