package model

import (
	"cmp"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/scim/filter"
)

// GroupType says who looks after a group.
type GroupType string

// The types of groups: made by callers, belonging to an application, and built into the organisation.
const (
	GroupService GroupType = "SVC_GROUP"
	GroupApp     GroupType = "APP_GROUP"
	GroupBuiltIn GroupType = "BUILT_IN"
)

// EveryoneName is the name of the built-in group of all users that are not DEPROVISIONED.
const EveryoneName = "Everyone"

// Group is a set of users.
type Group struct {
	Type GroupType `json:"type"`
	// App is the application that an APP_GROUP belongs to.
	App string `json:"app,omitempty"`
	// Profile holds the attributes that have a value: name, description.
	Profile map[string]any `json:"profile"`
	// LastUpdated is when the profile changed.
	LastUpdated time.Time `json:"lastUpdated"`
	// LastMembershipUpdated is when a member came or left, to the second: a burst of changes writes the group once a second.
	LastMembershipUpdated time.Time `json:"lastMembershipUpdated"`
}

// Text returns a profile attribute, "" when it has no value or is not a string.
func (g *Group) Text(attribute string) string {
	text, _ := g.Profile[attribute].(string)
	return text
}

// ownGroups is where expressions see groups come from that belong to no application.
const ownGroups = "SVC"

// Named is the group as expressions see it.
func (g *Group) Named(id string) expression.Group {
	return expression.Group{ID: id, Name: g.Name(), App: cmp.Or(g.App, ownGroups)}
}

// Name returns the name of the group.
func (g *Group) Name() string { return g.Text("name") }

// Protected says that callers may neither change nor delete the group nor edit its members.
func (g *Group) Protected() bool { return g.Type != GroupService }

// The indexes of the groups.
const (
	GroupByUniqueName = "name"   // folded name of SVC_GROUPs, unique
	GroupByName       = "prefix" // folded name
	GroupByType       = "type"   // the type
)

func groupCollection() docstore.Collection[Group] {
	return docstore.NewCollection("groups",
		docstore.Index[Group]{Name: GroupByUniqueName, Version: filter.FoldVersion, Unique: true, Values: func(g *Group) []any {
			if g.Type != GroupService {
				return nil
			}
			return []any{filter.Fold(g.Name())}
		}},
		docstore.Index[Group]{Name: GroupByName, Version: filter.FoldVersion, Values: func(g *Group) []any {
			return []any{filter.Fold(g.Name())}
		}},
		docstore.Index[Group]{Name: GroupByType, Values: func(g *Group) []any { return []any{string(g.Type)} }},
	)
}
