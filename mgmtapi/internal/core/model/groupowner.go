package model

import "github.com/scimwright/scimwright/internal/docstore"

// OwnerType says what owns a group.
type OwnerType string

// The types of owners.
const (
	OwnerUser  OwnerType = "USER"
	OwnerGroup OwnerType = "GROUP"
)

// GroupOwner says that a user or a group owns a group. Its document id is GroupOwnerID(group, owner).
type GroupOwner struct {
	Group string    `json:"group"`
	Owner string    `json:"owner"`
	Type  OwnerType `json:"type"`
}

// GroupOwnerID is the document id of an owner of a group.
func GroupOwnerID(group, owner string) string { return docstore.JoinID(group, owner) }

// The indexes of the owners.
const (
	GroupOwnerByGroup = "group_id" // the group
	GroupOwnerByOwner = "owner_id" // the user or group that owns
)

func groupOwnerCollection() docstore.Collection[GroupOwner] {
	return docstore.NewCollection("group_owners",
		docstore.Index[GroupOwner]{Name: GroupOwnerByGroup, Values: func(o *GroupOwner) []any { return []any{o.Group} }},
		docstore.Index[GroupOwner]{Name: GroupOwnerByOwner, Values: func(o *GroupOwner) []any { return []any{o.Owner} }},
	)
}
