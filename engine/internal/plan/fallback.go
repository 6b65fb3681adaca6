package plan

import (
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/engine"
)

// Alternative is the form of a request that differs from the preferred form of the style, and the reason.
type Alternative struct {
	Form   string // e.g. PATCH with a path
	Reason string // e.g. PUT was rejected: 405 Method Not Allowed
}

// String returns the form and the reason.
func (a Alternative) String() string { return a.Form + " (" + a.Reason + ")" }

// usedTraits returns a copy of the known traits that a sequence may use: none with FallbackNone.
func usedTraits(f engine.Fallback, t engine.Traits) engine.Traits {
	if f == engine.FallbackNone {
		return engine.Traits{}
	}
	return withTraits(t)
}

// strict reports whether only the forms of the style are sent.
func (u *user) strict() bool  { return u.in.Fallback == engine.FallbackNone }
func (g *group) strict() bool { return g.in.Fallback == engine.FallbackNone }

// forms returns the forms of a change in the order in which the sequence tries them.
func (u *user) forms(style engine.Style) []form {
	forms := formsOf(u.traits, style)
	if u.strict() {
		forms = forms[:1]
	}
	return forms
}

// alternative returns the form w of this change and the reason for it. If it is the form that the style prefers, alternative returns nil.
func (c *change) alternative(w form) *Alternative {
	own := formsOf(engine.Traits{}, c.style)[0]
	if w == own {
		return nil
	}
	a := &Alternative{Form: string(w), Reason: string(own) + " did not work with the target before"}
	if n := len(c.tried); n > 0 {
		a.Reason = c.tried[n-1].String()
	}
	return a
}

// String describes the result of an attempt.
func (a attempt) String() string {
	if a.refusal == nil {
		return string(a.form) + " had no effect"
	}
	return string(a.form) + " was rejected: " + a.refusal.message
}

// listInstead describes the list of all resources, which is read if a lookup is rejected.
func listInstead(r *Response) Alternative {
	a := Alternative{Form: "GET of the whole list", Reason: "filters did not work with the target before"}
	if r != nil {
		a.Reason = "the lookup was rejected: " + fail(*r).message
	}
	return a
}

// alternative returns the form of this request for a group, and the reason for it, if it is not the form that the style prefers. Otherwise
// it returns nil.
func (g *group) alternative(method string, c Change) *Alternative {
	own := http.MethodPatch
	if g.in.Style == engine.Wizard {
		own = http.MethodPut
	}
	form := ""
	switch patched := method == http.MethodPatch; {
	case method != own:
		form = method
	case patched && c.Rename && g.traits[engine.NeedsPath]:
		form = "PATCH with a path for the name"
	case patched && len(c.Remove) > 0 && g.traits[engine.NoValuePath]:
		form = "PATCH that removes members by their values"
	case patched && g.full && !c.Replace && g.traits[engine.NoMembersReplace]:
		form = "PATCH that adds and removes members instead of replacing them"
	default:
		return nil
	}
	a := &Alternative{Form: form, Reason: "the other form did not work with the target before"}
	switch {
	case g.refusal != nil:
		a.Reason = "the other form failed: " + strings.TrimPrefix(g.refusal.message, "push: ")
	case len(g.tried) > 0:
		a.Reason = "the other form had no effect"
	}
	return a
}
