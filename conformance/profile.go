package conformance

import (
	"net/http"
	"slices"
)

// A Profile is a provisioning client: its client flows with a service provider, as data. A run with profiles performs these flows with its
// own objects. For each flow, it reports whether the client's provisioning will work.
type Profile struct {
	// ID is one lower-case word: "okta". It is the area of the checks of the steps.
	ID string
	// Client names the product.
	Client string
	// Doubt describes which requests of the client are uncertain. It is empty if all are documented or recorded.
	Doubt string
	// ClientFlows are the client flows, one for each way to set the client up. Each flow gets its own verdict.
	ClientFlows []ClientFlow
}

// A ClientFlow is the sequence of requests that a client sends, from the connection test to the last deletion.
type ClientFlow struct {
	// ID consists of lower-case words. It is empty if the profile has only one client flow. It is part of the ids of the steps' checks.
	ID string
	// Title is the name of the client's configuration.
	Title string
	Steps []Step
}

// A Step is one request of a client, the responses that the client accepts, and the state of the target that the next step requires.
//
// Strings in Path, Query, Body and expectations may contain placeholders: ${run} is the prefix of the names of the flow's objects,
// ${mail:LABEL} the userName of a label, ${upper:LABEL} the same in capitals, and ${NAME} a value that an earlier step saved. A step whose
// placeholder was not saved is blocked.
type Step struct {
	// ID consists of lower-case words and is unique within the client flow.
	ID string
	// Title states what the client does, as a sentence without the final period.
	Title  string
	Method string
	Path   string
	Query  []string // name, value, name, value
	Header http.Header
	// Body is sent as JSON. If Base is set, the request contains the resource with that name from an earlier step, and the members of Body
	// replace its members.
	Body Doc
	Base string
	// Status lists the statuses that the client accepts. Doubtful lists statuses that the client may or may not accept; they count as a limit.
	Status, Doubtful []int
	// Answer is what the body of a 2xx response must contain. See [Expectation].
	Answer Expectation
	// Save maps a name to the top-level member of the response whose value later steps use.
	Save map[string]string
	// Keep stores the whole response under a name, for the Base of a later step.
	Keep string
	// Within is the name under which an earlier step has stored a list (Keep). The response of this step is a page: it must contain the
	// resources of that list from its startIndex on, in the same order.
	Within string
	// State is the state of the target that is required after the step. The client does not send these requests.
	State []State
	// Needs are the conditions for the step, as in [Check].
	Needs []Need
	// Limit describes what is lost if the step fails and the client's provisioning continues. It is empty if the provisioning does not
	// continue.
	Limit string
	// Unmet replaces Limit if the target returns one of Status, but the response or the state is not as expected. It may be empty.
	Unmet string
	// Why describes what the client does if the step fails, Fix what to change in the target.
	Why, Fix string
}

// A State is a GET request and what its response must contain.
type State struct {
	Path   string
	Query  []string
	Status int // default: 200
	Answer Expectation
}

// An Expectation describes a JSON object. Each member of a [Doc] must match the member of the object: a Doc by its members, a list by its
// elements in any order and with equal length, a [Kind] by the JSON kind, [AtLeast] by the size, [OneOf] by any of its values,
// [ContainsAll] by a separate element for each of its own, any other value by equality. nil and an empty list match a member that is
// absent, null or empty.
type Expectation struct {
	// Contains must match, or the step fails.
	Contains Doc
	// Keeps should match. A difference is a limit: the client continues, but the target does not store what the client sent.
	Keeps Doc
}

// A Kind is an expectation of a JSON kind with any value.
type Kind string

// The kinds.
const (
	AnInteger       Kind = "an integer"
	ABoolean        Kind = "a boolean"
	KindString      Kind = "a non-empty string"
	AnyList         Kind = "a list or absent"
	IntegerOrAbsent Kind = "an integer or absent"
)

// AtLeast is the expectation of an integer that is equal or greater.
type AtLeast int

// ContainsAll is the expectation of a list that contains these elements. It may contain others, which the target adds on its own.
type ContainsAll []any

// OneOf is an expectation with several values that are equivalent for the client.
type OneOf []any

// Checks returns a check for every step, in order. [Run] runs them with the profile in [Options.Profiles]. Their Run is nil.
func (p Profile) Checks() []Check {
	var out []Check
	for _, c := range p.ClientFlows {
		for _, step := range c.Steps {
			out = append(out, p.check(c, step))
		}
	}
	return out
}

func (p Profile) check(c ClientFlow, step Step) Check {
	id := step.ID
	if c.ID != "" {
		id = c.ID + "-" + step.ID
	}
	level := Interop
	if step.Limit != "" {
		level = May
	}
	requests := 1 + len(step.State)
	if step.Method == http.MethodPost && naming()[step.Path] != "" && slices.Contains(step.Status, http.StatusCreated) {
		requests++ // the request that removes the created object
	}
	return Check{
		ID: p.ID + "." + id, Title: step.Title, Level: level, Needs: append([]Need{NeedWrite, NeedUser}, step.Needs...),
		Requests: requests, Why: step.Why, Fix: step.Fix,
	}
}

// Compatibility reports whether a client's provisioning works with a target.
type Compatibility string

// The compatibilities, best first.
const (
	Works                Compatibility = "works"
	WorksWithLimits      Compatibility = "works with limits"
	Breaks               Compatibility = "breaks"
	UnknownCompatibility Compatibility = "unknown" // the client flow did not finish: no conclusion
)

// A ProfileResult is the verdict on one client flow.
type ProfileResult struct {
	// Profile and ClientFlow are ids. Client is the name of the client, Title that of its configuration.
	Profile, ClientFlow, Client, Title string
	Compatibility                      Compatibility
	// Breaks contains every step that fails and after which the client's provisioning does not continue, in order. A step that fails only
	// because an earlier step failed is not in Breaks. Breaks is empty unless Compatibility is [Breaks].
	Breaks []BrokenStep
	// Untried is the number of steps that could not be tested, because an earlier step failed.
	Untried int
	// Reason is a clause that explains why Compatibility is unknown.
	Reason string
	// Limits describe what is lost although the client continues.
	Limits []string
	// Doubt describes which requests of the client are uncertain.
	Doubt string
	// Steps contains the result of every step, in order. The steps are not in [Result.Checks].
	Steps []CheckResult
}

// A BrokenStep is a step of a client flow that fails.
type BrokenStep struct {
	// Check is the id of the step's check. Action describes what the client does in the step, as a sentence without the final period.
	Check, Action string
	// Why describes the consequence for the client's users. Fix describes what to change in the target.
	Why, Fix string
	// Finding is the first finding of the step with the outcome [Warn].
	Finding Finding
}

// ID returns the id of the client flow with that of its profile: "okta-catalog", or "google" if the profile has one flow.
func (r ProfileResult) ID() string {
	if r.ClientFlow == "" {
		return r.Profile
	}
	return r.Profile + "-" + r.ClientFlow
}
