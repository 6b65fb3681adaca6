package engine

import (
	"maps"
	"time"
)

// TraitTTL is the time after which a trait of a target expires. The engine then tries the preferred form of the request again.
const TraitTTL = 24 * time.Hour

// Learned has the properties of a target that the engine detected while using it. The lane stores these properties, so that a restart does
// not lose them. They apply to BaseURL: a new base URL of the target discards them.
type Learned struct {
	BaseURL string `json:"baseUrl,omitempty"`
	// Traits are the detected deviations of the target, with the time of detection. A trait is used until TraitTTL after its detection.
	Traits map[Trait]time.Time `json:"traits,omitempty"`
	// Probed are the traits that the probe of ProbedAt found present (true) or absent (false). A trait that a sequence has detected after the
	// probe is only in Traits. Probed traits are used until TraitTTL after ProbedAt.
	Probed   Traits    `json:"probed,omitempty"`
	ProbedAt time.Time `json:"probedAt,omitzero"`
	// Config is the ServiceProviderConfig. The engine reads it for targets of the style Auto, at most once a day.
	Config *Config `json:"config,omitempty"`
	// MemberBatch is the maximum number of members per request; 0 means Target.MemberBatch. After a request was rejected as too large or timed
	// out, MemberBatch is half the number of members of that request. Each group that was pushed without such a failure increases MemberBatch
	// by a quarter.
	MemberBatch int `json:"memberBatch,omitempty"`
	// Rate is the number of requests per second that the target accepts; 0 means Target.Rate. Each 429 halves it. Every 10s without a 429
	// increase it by a quarter.
	Rate float64 `json:"rate,omitempty"`
}

// Config is the relevant part of a ServiceProviderConfig (RFC 7643 section 5).
type Config struct {
	ReadAt time.Time `json:"readAt"`
	// NoPatch and NoFilter report that the target declares PATCH and filters as unsupported. A capability that the target does not mention may
	// work.
	NoPatch  bool `json:"noPatch,omitempty"`
	NoFilter bool `json:"noFilter,omitempty"`
}

// TraitsAt returns the traits that the engine uses at the time now.
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

// UsedFor returns the properties that the engine uses for a target: with FallbackNone only the ServiceProviderConfig and the rate.
func (l Learned) UsedFor(t Target) Learned {
	if t.Fallback == FallbackNone {
		l.Traits, l.Probed, l.MemberBatch = nil, nil, 0
	}
	return l
}

// Style returns the style for a target: Catalog or Wizard, or Auto if unknown. The result of a probe takes precedence over the
// ServiceProviderConfig, unless Target.Fallback is FallbackNone.
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

// probed returns the probed traits that have not expired.
func (l Learned) probed(now time.Time) Traits {
	if now.Sub(l.ProbedAt) >= TraitTTL {
		return nil
	}
	return l.Probed
}

// Trait is a detected deviation of a target: the preferred form of a request does not work.
type Trait string

// The traits. The engine records most traits after a form of a request was rejected or had no effect, and another form of the same request
// worked.
const (
	NoPatch     Trait = "no-patch"      // PATCH is rejected or has no effect: PUT is sent
	NoPut       Trait = "no-put"        // PUT is rejected or has no effect: PATCH is sent, one operation per attribute
	NeedsPath   Trait = "needs-path"    // a PATCH operation needs a path
	NoValuePath Trait = "no-value-path" // a path must not have a filter: members are removed by a list of values
	// PATCH does not replace all members of a group: the differences are added and removed
	NoMembersReplace Trait = "no-members-replace"
	NoUserFilter     Trait = "no-user-filter"  // users cannot be filtered: the list is read
	NoGroupFilter    Trait = "no-group-filter" // groups cannot be filtered: the list is read
	MembersHidden    Trait = "members-hidden"  // the members of a group are never returned
	PatchTrusted     Trait = "patch-trusted"   // a read showed the change of a PATCH whose response lacked the resource
	PutTrusted       Trait = "put-trusted"     // as PatchTrusted, for PUT
)

// Traits reports which traits a target has. A missing trait is unknown.
type Traits map[Trait]bool
