package causes

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// A general is a fault that changes the responses to many kinds of requests in the same way. The evidence alone shows it, so it takes its
// symptoms from all groups, whatever known faults explain them, and has a headline of its own.
type general struct {
	id string
	// min is the least number of symptoms.
	min int
	// key returns what the symptoms of one fault have in common. It returns "" for all other symptoms.
	key func(s *symptom) string
	// applies reports whether the symptoms with one key show the fault, given all symptoms of the run. nil means yes.
	applies func(own, all []*symptom) bool
	// telling are the checks whose findings describe the fault best, the best one first.
	telling []string
	// text returns the texts of the cause. If why or fix is "", that of the telling check remains.
	text func(symptoms []*symptom, key string) generalText
}

// A generalText contains the texts of a cause that replace those of the telling check, unless they are "".
type generalText struct{ headline, why, fix string }

// documents are the endpoints of the discovery documents, in the order in which a headline names them.
var documents = []string{"/ServiceProviderConfig", "/ResourceTypes", "/Schemas"}

// generals are in the order of precedence.
var generals = []general{
	{
		id:  "closed-connection",
		min: 1,
		key: func(s *symptom) string {
			f, e := s.shown()
			if f.Want != completeResponse || !closed.MatchString(f.Got) {
				return ""
			}
			method, _, _ := strings.Cut(e.endpoint, " ")
			return method
		},
		// A target that closes connections at random has no fault in these requests.
		applies: func(_, all []*symptom) bool {
			return !slices.ContainsFunc(all, func(s *symptom) bool {
				_, e := s.shown()
				return s.check.ID == anyUnsteady && closed.MatchString(e.got)
			})
		},
		text: func(symptoms []*symptom, method string) generalText {
			return generalText{
				headline: join(endpointsOf(symptoms, method)) + ": the server closes the connection without a response",
				why: "The server has probably crashed while it processed the request, for example with a panic. The client receives no " +
					"status and sends the request again.",
				fix: "Find the panic in the server's log at the time of the request, and correct it. Return a status for every request, also " +
					"after an unexpected error.",
			}
		},
	},
	{
		id:      "documents-missing",
		min:     1,
		key:     func(s *symptom) string { return s.document() },
		applies: func(own, _ []*symptom) bool { return len(missingDocuments(own)) > 0 },
		telling: []string{"discovery.service-provider-config", "discovery.resource-types", "discovery.schemas"},
		text: func(symptoms []*symptom, _ string) generalText {
			documents := missingDocuments(symptoms)
			missing, noun := join(documents), "documents"
			if len(documents) == 1 {
				noun = "document"
			}
			return generalText{
				headline: "missing " + noun + ": GET " + missing + " returns 404",
				why:      "Without these documents, a client cannot determine which resource types, attributes and features the server supports.",
				fix:      "Serve " + missing + " (RFC 7644 section 4).",
			}
		},
	},
	{
		id:  "error-body-empty",
		min: 3,
		key: func(s *symptom) string {
			_, e := s.shown()
			if e.exchange == nil || e.status < 400 || e.body != "" || e.exchange.Method == http.MethodHead || status.MatchString(e.got) {
				return ""
			}
			return "empty"
		},
		applies: func(own, _ []*symptom) bool {
			// If only 401 responses are empty, the fault is in the component that verifies the credentials.
			return slices.ContainsFunc(own, func(s *symptom) bool { _, e := s.shown(); return e.status != 401 })
		},
		telling: []string{"traffic.error-body", "errors.schema"},
		text: func(symptoms []*symptom, _ string) generalText {
			var statuses []string
			for _, s := range symptoms {
				_, e := s.shown()
				if text := fmt.Sprint(e.status); !slices.Contains(statuses, text) {
					statuses = append(statuses, text)
				}
			}
			slices.Sort(statuses)
			return generalText{
				headline: "error responses have an empty body (" + strings.Join(statuses, ", ") + ")",
				why:      "From an empty body, a client learns neither scimType nor detail: it can show the administrator only the status code.",
				fix: "Write an Error message with schemas, status, detail and scimType in every error response, including those of middleware " +
					"and of the router (RFC 7644 section 3.12).",
			}
		},
	},
	{
		id:  "scim-type-missing",
		min: 4,
		key: func(s *symptom) string {
			f, e := s.shown()
			if !strings.HasPrefix(f.What, "scimType of ") || !missing(e.got) {
				return ""
			}
			return "missing"
		},
		applies: func(own, _ []*symptom) bool { return len(wanted(own)) >= 3 }, // fewer have faults of their own
		telling: []string{"errors.scim-type"},
		text: func(symptoms []*symptom, _ string) generalText {
			return generalText{
				headline: "error responses have no scimType (" + strings.Join(wanted(symptoms), ", ") + ")",
				why:      "Clients choose their reaction by scimType: without it, a duplicate name looks like any other conflict.",
				fix:      "Set scimType in each Error message to the keyword for the error (RFC 7644 section 3.12, table 9).",
			}
		},
	},
	{
		id:  "path-required",
		min: 2,
		key: func(s *symptom) string {
			_, e := s.shown()
			if !s.rejectedPatch() || strings.Contains(e.operation, " ") {
				return ""
			}
			return fmt.Sprint(e.status)
		},
		applies: func(own, all []*symptom) bool {
			// If the target rejects as many operations with a path, the path is not the reason.
			withPath := 0
			for _, s := range all {
				if _, e := s.shown(); s.rejectedPatch() && strings.Contains(e.operation, " ") {
					withPath++
				}
			}
			return withPath < len(own)
		},
		telling: []string{"patch.replace-no-path", "patch.add-no-path"},
		text: func(_ []*symptom, status string) generalText {
			return generalText{
				headline: "PATCH with an operation without a path returns " + status + " instead of 200 or 204",
				why:      "Clients send changes, such as deactivations, in operations without a path: all these changes fail.",
				fix: "Accept operations without a path: apply the operation to each attribute in its value, as if the name of the attribute were " +
					"the path (RFC 7644 sections 3.5.2.1 and 3.5.2.3).",
			}
		},
	},
	{
		id:      "attribute-not-requested",
		min:     2,
		key:     func(s *symptom) string { return s.surplus() },
		telling: []string{"projection.attributes", "projection.list", "projection.on-write"},
		text: func(_ []*symptom, name string) generalText {
			return generalText{
				headline: "responses contain " + name + " although attributes= does not name it",
				fix: "Omit " + name + " unless the parameter attributes names it, in all responses: to GET, in lists, to POST, PUT and PATCH, " +
					"and for /Me.",
			}
		},
	},
}

// anyUnsteady is the check that has findings about each request that fails and then succeeds when it is repeated.
const anyUnsteady = "steadiness.responses"

// completeResponse is what the suite expects of every request; see [conformance.T].
const completeResponse = "a complete HTTP response"

var (
	// closed matches the reason for a missing response if the server has closed the connection.
	closed = regexp.MustCompile(`connection was closed|reset by peer|broken pipe`)
	// surplusOf matches the subject of a finding about an attribute that the parameter attributes does not name.
	surplusOf = regexp.MustCompile(`^([A-Za-z]\w*)\b.*[ ?&]attributes=`)
)

// wanted returns the expected values of the symptoms, sorted.
func wanted(symptoms []*symptom) []string {
	var out []string
	for _, s := range symptoms {
		f, _ := s.shown()
		out = append(out, f.Want)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rejectedPatch reports whether the target rejected the operations of a PATCH that it must accept.
func (s *symptom) rejectedPatch() bool {
	f, e := s.shown()
	return strings.HasPrefix(e.endpoint, "PATCH ") && e.operation != "" && strings.HasPrefix(f.Want, "2") && e.got == fmt.Sprint(e.status) &&
		e.status >= 400 && e.status < 500
}

// document returns "404" if the symptom shows that the target does not serve a discovery document. Other requests to the endpoint of the
// document, such as one with a filter, and findings about a member that the document lacks count too.
func (s *symptom) document() string {
	f, e := s.shown()
	found := slices.ContainsFunc(documents, func(d string) bool {
		return e.status == 404 && strings.HasPrefix(e.request, "GET "+d) || missing(e.got) && strings.Contains(f.What, " in the "+d[1:])
	})
	if found {
		return "404"
	}
	return ""
}

// missingDocuments returns the discovery documents for which the target returns 404.
func missingDocuments(symptoms []*symptom) []string {
	return slices.DeleteFunc(slices.Clone(documents), func(d string) bool {
		return !slices.ContainsFunc(symptoms, func(s *symptom) bool {
			_, e := s.shown()
			return e.status == 404 && e.request == "GET "+d && e.got == "404"
		})
	})
}

// surplus returns the attribute that a response contains although the parameter attributes does not name it. It returns "" for other
// findings, for several such attributes, and for a password or token in a response.
func (s *symptom) surplus() string {
	f, e := s.shown()
	if leaks[s.check.ID] || e.status >= 400 {
		return ""
	}
	if strings.HasPrefix(f.What, "further members of ") {
		var names []string
		if json.Unmarshal([]byte(f.Got), &names) != nil || len(names) == 0 {
			return ""
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 1 {
			return names[0]
		}
		return ""
	}
	if m := surplusOf.FindStringSubmatch(f.What); m != nil && f.Want == "absent" {
		return m[1]
	}
	return ""
}

// endpointsOf returns the requests of the symptoms, without ids and parameters. If there are more than two, it returns only the method.
func endpointsOf(symptoms []*symptom, method string) []string {
	var out []string
	for _, s := range symptoms {
		_, e := s.shown()
		request, _, _ := strings.Cut(e.request, "?")
		if request != "" && !slices.Contains(out, request) {
			out = append(out, request)
		}
	}
	if len(out) == 0 || len(out) > 2 {
		return []string{strings.TrimSpace(method + " requests")}
	}
	return out
}

// join lists words in a sentence.
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// gatherGeneral moves the symptoms of each general fault into a group of their own. known is set if most symptoms are those of known
// faults.
func gatherGeneral(groups []*group, symptoms []*symptom, known bool) []*group {
	taken := map[string]bool{}
	for _, fault := range generals {
		byKey := map[string][]*symptom{}
		for _, s := range symptoms {
			if k := fault.key(s); k != "" && !taken[s.check.ID] {
				byKey[k] = append(byKey[k], s)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			own := byKey[key]
			if len(own) < fault.min || fault.applies != nil && !fault.applies(own, symptoms) || smallPart(own, groups, known) ||
				known && knownApart(own, symptoms, groups) {
				continue
			}
			slices.SortStableFunc(own, func(a, b *symptom) int { return fault.rank(a) - fault.rank(b) })
			whole := &group{general: fault.text(own, key), exact: fault.rank(own[0]) < len(fault.telling)}
			for _, s := range own {
				taken[s.check.ID] = true
				whole.checks = append(whole.checks, s.check.ID)
			}
			for _, g := range groups {
				n := len(g.checks)
				if g.exact && 2*common(g.checks, whole.checks) > n {
					// The group is a known fault, of which the general fault is a description.
					for _, id := range g.checks {
						if !slices.Contains(whole.checks, id) && !taken[id] {
							taken[id] = true
							whole.checks = append(whole.checks, id)
						}
					}
				}
				g.checks = slices.DeleteFunc(g.checks, func(id string) bool { return slices.Contains(whole.checks, id) })
				if len(g.checks) == 0 || 2*len(g.checks) < n {
					whole.blocks = append(whole.blocks, g.blocks...)
					g.blocks = nil
				}
				if len(g.checks) < n {
					g.exact = false
				}
			}
			groups = append(slices.DeleteFunc(groups, func(g *group) bool { return len(g.checks) == 0 }), whole)
		}
	}
	return groups
}

// smallPart reports whether a known fault predicts all symptoms, and they are at most half of its symptoms: they are then a known effect of
// it, which its headline describes better. The known fault must be certain, or most symptoms must be those of known faults.
func smallPart(own []*symptom, groups []*group, known bool) bool {
	return slices.ContainsFunc(groups, func(g *group) bool {
		return (g.exact || known && g.sure) && 2*len(own) <= len(g.checks) &&
			!slices.ContainsFunc(own, func(s *symptom) bool { return !g.predicted[s.check.ID] || !slices.Contains(g.checks, s.check.ID) })
	})
}

// maxApart is the greatest share of the symptoms, in percent, that several proved faults explain better than a general fault does: the more
// symptoms a general fault explains, the less probable it is that so many known faults resemble it.
const maxApart = 10

// knownApart reports whether several proved faults predict the symptoms, each some of them, and the symptoms are a small part of all.
func knownApart(own, all []*symptom, groups []*group) bool {
	if 100*len(own) > maxApart*len(all) {
		return false
	}
	faults := 0
	for _, g := range groups {
		mine := slices.DeleteFunc(slices.Clone(own), func(s *symptom) bool { return !slices.Contains(g.checks, s.check.ID) })
		if len(mine) == 0 {
			continue
		}
		if !g.proved || slices.ContainsFunc(mine, func(s *symptom) bool { return !g.predicted[s.check.ID] }) {
			return false
		}
		faults++
	}
	return faults > 1
}

// rank returns the position of a symptom among the telling checks.
func (f general) rank(s *symptom) int {
	if i := slices.Index(f.telling, s.check.ID); i >= 0 {
		return i
	}
	return len(f.telling)
}

// apply replaces the texts of a cause.
func (t generalText) apply(c *Cause) {
	if t.headline != "" {
		c.Headline = clip(t.headline, maxHeadline)
	}
	if t.why != "" {
		c.Why = t.why
	}
	if t.fix != "" {
		c.Fix = t.fix
	}
}

// requiredNames are the required attributes of the objects that a POST creates and a PUT replaces.
var requiredNames = map[string]string{
	"POST /Users": "userName", "PUT /Users/{id}": "userName", "POST /Groups": "displayName", "PUT /Groups/{id}": "displayName",
}

// absentName returns the part of a headline that names the required attribute which an accepted POST or PUT lacks, "" if it lacks none. The
// result is also "" if the finding describes the request in more detail: then the attribute is not what the check tests.
func absentName(f conformance.Finding, e evidence) string {
	name := requiredNames[e.request]
	if name == "" || !e.accepted() || e.what != "status of "+e.request {
		return ""
	}
	var body map[string]any
	if json.Unmarshal([]byte(f.Exchange.RequestBody), &body) != nil || body["schemas"] == nil {
		return ""
	}
	for member, value := range body {
		switch {
		case !strings.EqualFold(member, name):
		case value == nil:
			return " with " + name + " null"
		case value == "":
			return " with an empty " + name
		default:
			return ""
		}
	}
	return " without " + name
}
