package model

import "github.com/scimwright/scimwright/internal/docstore"

// AppGroup is the assignment of a group to an application. Its document id is
// AppGroupID(app, group).
type AppGroup struct {
	AppID   string `json:"appId"`
	GroupID string `json:"groupId"`
	// Priority selects among the assigned groups of a user: the group with the lowest number provides the profile. It is unique within the
	// application.
	Priority int `json:"priority"`
	// Profile holds values of app attributes for the members.
	Profile map[string]any `json:"profile,omitempty"`
}

// AppGroupID is the document id of the assignment of a group to an application.
func AppGroupID(app, group string) string { return docstore.JoinID(app, group) }

// EventAppGroupChanged is the topic of AppGroupChanged.
const EventAppGroupChanged = "appgroup.changed"

// AppGroupChanged reports that the assignment of a group to an application was created, changed or removed. AppUserChanged reports the
// effects on users.
type AppGroupChanged struct {
	App   string `json:"app"`
	Group string `json:"group"`
}

// Topic implements Event.
func (AppGroupChanged) Topic() string { return EventAppGroupChanged }

// Key implements Event with AppGroupID.
func (e AppGroupChanged) Key() string { return AppGroupID(e.App, e.Group) }

// The indexes of the app groups.
const (
	AppGroupByApp      = "app"      // index by the application
	AppGroupByGroup    = "group"    // index by the group
	AppGroupByPriority = "priority" // index by the priority
)

func appGroupCollection() docstore.Collection[AppGroup] {
	return docstore.NewCollection("app_groups",
		docstore.Index[AppGroup]{Name: AppGroupByApp, Values: func(g *AppGroup) []any { return []any{g.AppID} }},
		docstore.Index[AppGroup]{Name: AppGroupByGroup, Values: func(g *AppGroup) []any { return []any{g.GroupID} }},
		docstore.Index[AppGroup]{Name: AppGroupByPriority, Kind: docstore.Int, Values: func(g *AppGroup) []any {
			return []any{g.Priority}
		}},
	).Cached()
}
