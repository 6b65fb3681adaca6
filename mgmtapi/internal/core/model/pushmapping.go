package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// PushMappingStatus is the status of a group push mapping.
type PushMappingStatus string

// The statuses of a group push mapping.
const (
	PushActive   PushMappingStatus = "ACTIVE"
	PushInactive PushMappingStatus = "INACTIVE"
	PushError    PushMappingStatus = "ERROR"
)

// PushMapping pushes a group to the target of an application. Each pair of application and source group has at most one mapping that is not
// deleted.
type PushMapping struct {
	AppID         string `json:"appId"`
	SourceGroupID string `json:"sourceGroupId"`
	// SourceName is the name of the source group when the mapping was last updated. When the source group is renamed, the new name is pushed
	// to the target group.
	SourceName    string            `json:"sourceName"`
	TargetGroupID string            `json:"targetGroupId"`
	Status        PushMappingStatus `json:"status"`
	LastPush      time.Time         `json:"lastPush,omitzero"`
	ErrorSummary  string            `json:"errorSummary,omitempty"`
	// RemoteID is the id of the group in the target, once known.
	RemoteID string `json:"remoteId,omitempty"`

	// Deleted marks a tombstone: reads do not return it, and it is stored until the target has been updated.
	Deleted bool `json:"deleted,omitempty"`
	// TargetName is the last name of the group in the target, for tombstones.
	TargetName string `json:"targetName,omitempty"`
	// DeleteTarget is true if the group in the target is deleted together with the mapping.
	DeleteTarget bool `json:"deleteTarget,omitempty"`
}

// EventPushMappingChanged is the topic of PushMappingChanged.
const EventPushMappingChanged = "pushmapping.changed"

// PushMappingChanged reports that the desired state of a pushed group may have changed. Without Members and AllMembers, the change concerns
// the group itself: its name, its existence, or the status of the mapping.
type PushMappingChanged struct {
	App   string `json:"app"`
	Group string `json:"group"` // the source group
	// Members are the users whose membership in the pushed group may have changed.
	Members []string `json:"members,omitempty"`
	// AllMembers is true if the whole membership must be pushed.
	AllMembers bool `json:"allMembers,omitempty"`
}

// Topic implements Event.
func (PushMappingChanged) Topic() string { return EventPushMappingChanged }

// Key implements Event with JoinID(application, source group).
func (e PushMappingChanged) Key() string { return docstore.JoinID(e.App, e.Group) }

// The indexes of the push mappings. Indexes named "live" omit tombstones.
const (
	PushMappingByPair       = "pair"        // index by JoinID(application, source group), including tombstones
	PushMappingByLivePair   = "live_pair"   // index by JoinID(application, source group), unique
	PushMappingByLiveApp    = "live_app"    // index by the application
	PushMappingByLiveSource = "live_source" // index by the source group
	PushMappingByLiveTarget = "live_target" // index by the target group
	PushMappingByApp        = "app"         // index by the application, including tombstones
	PushMappingByStatus     = "status"      // index by the status
)

func pushMappingCollection() docstore.Collection[PushMapping] {
	index := func(name string, value func(*PushMapping) string) docstore.Index[PushMapping] {
		return docstore.Index[PushMapping]{Name: name, Values: func(m *PushMapping) []any { return []any{value(m)} }}
	}
	live := func(name string, value func(*PushMapping) string) docstore.Index[PushMapping] {
		return docstore.Index[PushMapping]{Name: name, Values: func(m *PushMapping) []any {
			if m.Deleted {
				return nil
			}
			return []any{value(m)}
		}}
	}
	pair := func(m *PushMapping) string { return docstore.JoinID(m.AppID, m.SourceGroupID) }
	livePair := live(PushMappingByLivePair, pair)
	livePair.Unique = true
	return docstore.NewCollection("push_mappings",
		index(PushMappingByPair, pair),
		livePair,
		live(PushMappingByLiveApp, func(m *PushMapping) string { return m.AppID }),
		live(PushMappingByLiveSource, func(m *PushMapping) string { return m.SourceGroupID }),
		live(PushMappingByLiveTarget, func(m *PushMapping) string { return m.TargetGroupID }),
		index(PushMappingByApp, func(m *PushMapping) string { return m.AppID }),
		index(PushMappingByStatus, func(m *PushMapping) string { return string(m.Status) }),
	).Cached()
}
