package engine

import (
	"maps"
	"time"
)

// TraitTTL is how long a trait of a target is believed. After that the first form of a request is tried again.
const TraitTTL = 24 * time.Hour

// Learned is what was found out about the target of an app by working with it. It is stored with the lane, so that a restart
// does not find out again, and belongs to one base URL: behind another one everything is open again.
type Learned struct {
	BaseURL string `json:"baseUrl,omitempty"`
	// Traits are the ways in which the target differs, and when each was found out. They are believed for TraitTTL.
	Traits map[Trait]time.Time `json:"traits,omitempty"`
	// Probed are the traits that the probe of ProbedAt found the target to have (true) or not to have (false), without those that a
	// sequence has found out about since. They are believed for TraitTTL too.
	Probed   Traits    `json:"probed,omitempty"`
	ProbedAt time.Time `json:"probedAt,omitzero"`
	// Config is what the ServiceProviderConfig says. It is read for targets of the style Auto, at most once a day.
	Config *Config `json:"config,omitempty"`
	// MemberBatch is how many members one request may carry; 0 for as many as Target.MemberBatch says. It is halved by each
	// refusal or timeout of a larger one and grows back by a quarter with each group that is pushed.
	MemberBatch int `json:"memberBatch,omitempty"`
	// Rate is how many requests per second the target takes, 0 for as many as Target.Rate says. It is halved by each 429 and grows
	// back by a quarter with every 10 s without one.
	Rate float64 `json:"rate,omitempty"`
}

// Config is the part of a ServiceProviderConfig (RFC 7643 section 5) that matters here.
type Config struct {
	ReadAt time.Time `json:"readAt"`
	// NoPatch and NoFilter say that the target declares not to support these. What it does not mention may work.
	NoPatch  bool `json:"noPatch,omitempty"`
	NoFilter bool `json:"noFilter,omitempty"`
}

// TraitsAt returns the traits that the engine relies on at a time.
func (l Learned) TraitsAt(now time.Time) Traits {
	out := Traits{}
	if l.Config != nil {
		out[NoPatch] = l.Config.NoPatch
		out[NoUserFilter], out[NoGroupFilter] = l.Config.NoFilter, l.Config.NoFilter
	}
	maps.Copy(out, l.probed(now))
	for t, since := range l.Traits {
		if now.Sub(since) < TraitTTL {
			out[t] = true
		}
	}
	return out
}

// UsedFor returns what the engine relies on for a target: with FallbackNone only what the target says about itself.
func (l Learned) UsedFor(t Target) Learned {
	if t.Fallback == FallbackNone {
		l.Traits, l.Probed, l.MemberBatch = nil, nil, 0
	}
	return l
}

// Style returns the style that a target is sent: Catalog or Wizard, or Auto as long as it is not known which. What a probe has seen counts
// for more than what the target says of itself, unless Target.Fallback is FallbackNone.
func (l Learned) Style(t Target, now time.Time) Style {
	l = l.UsedFor(t)
	without, tried := l.probed(now)[NoPatch]
	if !tried {
		without = l.Config != nil && l.Config.NoPatch
	}
	switch {
	case t.Style == Wizard, t.Style == Auto && without:
		return Wizard
	case t.Style == Auto && !tried && l.Config == nil:
		return Auto
	}
	return Catalog
}

// probed are the findings of the probe that are still believed.
func (l Learned) probed(now time.Time) Traits {
	if now.Sub(l.ProbedAt) >= TraitTTL {
		return nil
	}
	return l.Probed
}

// Trait is a way in which a target was seen to differ from what is asked of it first.
type Trait string

// The traits. Each is found out by a refusal, or by a success without effect, after which another form of the same request
// worked.
const (
	NoPatch     Trait = "no-patch"      // PATCH is refused or has no effect: PUT is sent
	NoPut       Trait = "no-put"        // PUT is refused or has no effect: PATCH is sent, an operation for each attribute
	NeedsPath   Trait = "needs-path"    // a PATCH operation needs a path
	NoValuePath Trait = "no-value-path" // a path must not have a filter: members are removed by a list of values
	// PATCH does not replace the members of a group, or not all: what differs is added and removed
	NoMembersReplace Trait = "no-members-replace"
	NoUserFilter     Trait = "no-user-filter"  // users cannot be filtered: the list is read
	NoGroupFilter    Trait = "no-group-filter" // groups cannot be filtered: the list is read
	MembersHidden    Trait = "members-hidden"  // the members of a group are never shown
	PatchTrusted     Trait = "patch-trusted"   // a PATCH that was answered without the resource was read back, and had its effect
	PutTrusted       Trait = "put-trusted"     // the same for PUT
)

// Traits says which traits a target has. One that is missing is not known to hold.
type Traits map[Trait]bool
