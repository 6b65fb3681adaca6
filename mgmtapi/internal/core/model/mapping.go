package model

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
)

// MappingDirection is the direction of a mapping.
type MappingDirection string

// The directions: from the users of a type to the users of an application, and the reverse.
const (
	ToApp  MappingDirection = "app"
	ToUser MappingDirection = "user"
)

// Mapping derives a profile from another profile. Every application has two mappings for every user type.
type Mapping struct {
	App       string           `json:"app"`
	UserType  string           `json:"userType"`
	Direction MappingDirection `json:"direction"`
	// Rules holds the changed rules by the attribute that they set, nil for a removed rule. The defaults of appprofile.Rules apply to all
	// attributes that are not in Rules.
	Rules map[string]*MappingRule `json:"rules,omitempty"`
	// TestsGroups is true if a rule may depend on the groups of the user.
	TestsGroups bool `json:"testsGroups,omitempty"`
}

// MappingRule describes how an attribute gets its value.
type MappingRule struct {
	// Expression is in the language of internal/expression.
	Expression string     `json:"expression"`
	PushStatus PushStatus `json:"pushStatus"`
}

// Source returns the id of the user type or application whose profiles the rules read.
func (m *Mapping) Source() string {
	if m.Direction == ToApp {
		return m.UserType
	}
	return m.App
}

// Target returns the id of the user type or application whose profiles the rules set.
func (m *Mapping) Target() string {
	if m.Direction == ToApp {
		return m.App
	}
	return m.UserType
}

// The indexes of the mappings.
const (
	MappingByApp    = "app"       // index by the application
	MappingByType   = "user_type" // index by the user type
	MappingBySource = "source_id" // index by Source
	MappingByTarget = "target_id" // index by Target
	MappingByPair   = "pair"      // index by JoinID(application, user type, direction), unique
	MappingByGroups = "groups"    // index by the application, for mappings with TestsGroups
)

func mappingCollection() docstore.Collection[Mapping] {
	return docstore.NewCollection("mappings",
		docstore.Index[Mapping]{Name: MappingByApp, Values: func(m *Mapping) []any { return []any{m.App} }},
		docstore.Index[Mapping]{Name: MappingByType, Values: func(m *Mapping) []any { return []any{m.UserType} }},
		docstore.Index[Mapping]{Name: MappingBySource, Values: func(m *Mapping) []any { return []any{m.Source()} }},
		docstore.Index[Mapping]{Name: MappingByTarget, Values: func(m *Mapping) []any { return []any{m.Target()} }},
		docstore.Index[Mapping]{Name: MappingByPair, Unique: true, Values: func(m *Mapping) []any {
			return []any{docstore.JoinID(m.App, m.UserType, string(m.Direction))}
		}},
		docstore.Index[Mapping]{Name: MappingByGroups, Values: func(m *Mapping) []any {
			if !m.TestsGroups {
				return nil
			}
			return []any{m.App}
		}},
	).Cached()
}

// CompleteMappings creates the missing mappings of an application, one in each direction for every user type.
func (d Deps) CompleteMappings(ctx context.Context, tx *docstore.Tx, app string) error {
	type pair struct {
		userType  string
		direction MappingDirection
	}
	there := map[pair]bool{}
	err := Each(ctx, tx, d.Mappings, docstore.Eq(MappingByApp, app), func(m docstore.Doc[Mapping]) error {
		there[pair{m.Value.UserType, m.Value.Direction}] = true
		return nil
	})
	if err != nil {
		return err
	}
	return Each(ctx, tx, d.UserTypes, nil, func(t docstore.Doc[UserType]) error {
		for _, direction := range []MappingDirection{ToApp, ToUser} {
			if there[pair{t.ID, direction}] {
				continue
			}
			if _, err := d.Mappings.Insert(ctx, tx, NewID(KindMapping), Mapping{App: app, UserType: t.ID, Direction: direction}); err != nil {
				return err
			}
		}
		return nil
	})
}

// CompleteAllMappings calls CompleteMappings for every application.
func (d Deps) CompleteAllMappings(ctx context.Context, tx *docstore.Tx) error {
	return Each(ctx, tx, d.Apps, nil, func(app docstore.Doc[App]) error { return d.CompleteMappings(ctx, tx, app.ID) })
}

// EventMappingChanged is the topic of MappingChanged.
const EventMappingChanged = "mapping.changed"

// MappingChanged reports that a mapping to an application, or the profile schema of its users, changed. AppUserChanged reports the effects
// on users after the assignments have been updated.
type MappingChanged struct {
	App string `json:"app"`
	// Removed lists the attributes that users of the application can no longer have.
	Removed []string `json:"removed,omitempty"`
}

// Topic implements Event.
func (MappingChanged) Topic() string { return EventMappingChanged }

// Key implements Event with the id of the application.
func (e MappingChanged) Key() string { return e.App }

// PendingResync is the remaining work after a change that affects all users of an application. They are updated in steps, so that no
// request waits for all of them. Its document id is the id of the application.
type PendingResync struct {
	// After is the cursor after the users that are up to date.
	After string `json:"after,omitempty"`
	// Removed lists the attributes whose values are removed.
	Removed []string `json:"removed,omitempty"`
}

func followingCollection() docstore.Collection[PendingResync] {
	return docstore.NewCollection[PendingResync]("followings").Cached()
}
