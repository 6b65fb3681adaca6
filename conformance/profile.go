package conformance

import (
	"net/http"
	"slices"
)

// A Profile is a provisioning client: the conversations it holds with a service provider, as data. A run with profiles holds
// them with objects of its own and says for each one whether the client's provisioning will work.
type Profile struct {
	// ID is one lower-case word: "okta". It is the area of the checks that the steps become.
	ID string
	// Client names the product.
	Client string
	// Doubt says what is not known for certain about the requests the client sends; empty when they are documented or recorded.
	Doubt string
	// Conversations are the ways the client is set up; each gets a verdict of its own.
	Conversations []ClientFlow
}

// A ClientFlow is what a client sends from the connection test to the last deletion, in its order.
type ClientFlow struct {
	// ID is lower-case words, empty when the profile has only one conversation. It begins the ids of the steps' checks.
	ID string
	// Title says which set-up of the client this is.
	Title string
	Steps []Step
}

// A Step is one request of a client, the answer it works with, and the state of the target that the next step builds on.
//
// Texts in Path, Query, Body and expectations may hold placeholders: ${run} begins the name of every object of the
// conversation, ${mail:LABEL} is the userName of a label and ${upper:LABEL} the same in capitals, and ${NAME} what an earlier step saved. A
// step whose placeholder nobody saved is blocked by the step that should have.
type Step struct {
	// ID is lower-case words, unique within the conversation.
	ID string
	// Title says what the client does, as a sentence without the final stop.
	Title  string
	Method string
	Path   string
	Query  []string // name, value, name, value
	Header http.Header
	// Body is sent as JSON. With Base it holds the members that are set in the resource that was kept under that name.
	Body Doc
	Base string
	// Status lists the answers the client works with. Doubtful are those of which it is not known: they count as a limit.
	Status, Doubtful []int
	// Answer is what the body of a 2xx answer must contain. See [Expectation].
	Answer Expectation
	// Save maps a name to the top-level member of the answer whose text later steps use.
	Save map[string]string
	// Keep stores the whole answer under a name, for the Base of a later step.
	Keep string
	// Within names a list that was kept: the answer's list has to show, from its startIndex on, the same resources in the
	// same order.
	Within string
	// State is what has to be found after the step. The client does not send these requests.
	State []State
	// Needs are conditions of the part of the client's work that the step belongs to.
	Needs []Need
	// Limit says what is lost when the step does not work and the client's provisioning goes on all the same; empty when it
	// does not go on.
	Limit string
	// Why says what the client does when the step does not work, Fix where to look.
	Why, Fix string
}

// A State is a GET and what its answer must hold.
type State struct {
	Path   string
	Query  []string
	Status int // Defaults to 200
	Answer Expectation
}

// An Expectation describes a JSON object. Of a [Doc] each member is looked up in the object and has to match: a Doc member by
// member, a list element by element in any order and of equal length, a [Kind] by its kind, [AtLeast] by its size, [OneOf] by any of its
// values, [ContainsAll] by an element for each of its own, everything else by equality. nil and an empty list match what is absent, null or
// empty.
type Expectation struct {
	// Contains has to match, or the step does not work.
	Contains Doc
	// Keeps should match; what does not is a limit: the client goes on, but the target does not keep what it sent.
	Keeps Doc
}

// A Kind is an expectation that leaves the value open.
type Kind string

// The kinds.
const (
	AnInteger       Kind = "an integer"
	ABoolean        Kind = "a boolean"
	KindString      Kind = "a text that is not empty"
	AnyList         Kind = "a list, or nothing"
	IntegerOrAbsent Kind = "an integer, or nothing"
)

// AtLeast is the expectation of an integer that is not smaller.
type AtLeast int

// ContainsAll is the expectation of a list that holds these, and perhaps more: what the target adds by itself does no harm.
type ContainsAll []any

// OneOf is an expectation with several values that the client takes for the same.
type OneOf []any

// Checks returns a check for every step, in order. They are run by [Run] with the profile in [Options.Profiles] and have no
// Run of their own.
func (p Profile) Checks() []Check {
	var out []Check
	for _, c := range p.Conversations {
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
		requests++ // removing what it creates
	}
	return Check{
		ID: p.ID + "." + id, Title: step.Title, Level: level, Needs: append([]Need{NeedWrite, NeedUser}, step.Needs...),
		Requests: requests, Why: step.Why, Fix: step.Fix,
	}
}

// Compatibility says whether a client's provisioning works with a target.
type Compatibility string

// The fits, best first.
const (
	Works           Compatibility = "works"
	WorksWithLimits Compatibility = "works with limits"
	Breaks          Compatibility = "breaks"
	UnknownFit      Compatibility = "unknown" // the conversation could not be held to its end: nothing can be concluded
)

// A ProfileResult is the verdict on one conversation of a client.
type ProfileResult struct {
	// Profile and Conversation are ids, Client and Title say in words which client and which set-up this is.
	Profile, Conversation, Client, Title string
	Fit                                  Compatibility
	// Step is the id of the check of the first step that breaks, Action its title. Empty unless the fit is Breaks.
	Step, Action string
	// Why says what the client then does, or why the fit is unknown; Fix where to look.
	Why, Fix string
	// Finding is what the first step that breaks has found.
	Finding *Finding
	// Limits say what is lost though the client goes on.
	Limits []string
	// Doubt says what is not known for certain about the client's requests.
	Doubt string
}
