package model

import (
	"cmp"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/scim/filter"
)

// GroupType is the type of a group. It determines who manages the group.
type GroupType string

// The types of groups: created by callers, belonging to an application, and built into the organization.
const (
	GroupService GroupType = "SVC_GROUP"
	GroupApp     GroupType = "APP_GROUP"
	GroupBuiltIn GroupType = "BUILT_IN"
)

// EveryoneName is the name of the built-in group of all users who are not DEPROVISIONED.
const EveryoneName = "Everyone"

// Group is a set of users.
type Group struct {
	Type GroupType `json:"type"`
	// App is the application that an APP_GROUP belongs to.
	App string `json:"app,omitempty"`
	// Profile holds the attributes that have a value: name, description.
	Profile map[string]any `json:"profile"`
	// LastUpdated is the time of the last change of the profile.
	LastUpdated time.Time `json:"lastUpdated"`
	// LastMembershipUpdated is the time at which a member last joined or left, to the second: many changes write the group at most once per
	// second.
	LastMembershipUpdated time.Time `json:"lastMembershipUpdated"`
}

// Text returns a profile attribute, "" if it has no value or is not a string.
func (g *Group) Text(attribute string) string {
	text, _ := g.Profile[attribute].(string)
	return text
}

// ownGroups is the value of the attribute App, in expressions, for groups that belong to no application.
const ownGroups = "SVC"

// Named returns the group, which has the given id, in the form that expressions use.
func (g *Group) Named(id string) expression.Group {
	return expression.Group{ID: id, Name: g.Name(), App: cmp.Or(g.App, ownGroups)}
}

// Name returns the name of the group.
func (g *Group) Name() string { return g.Text("name") }

// Protected reports whether callers may neither change nor delete the group nor edit its members.
func (g *Group) Protected() bool { return g.Type != GroupService }

// The indexes of the groups.
const (
	GroupByUniqueName = "name"   // index by folded name, for groups of the type SVC_GROUP, unique
	GroupByName       = "prefix" // index by folded name
	GroupByType       = "type"   // index by the type
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
