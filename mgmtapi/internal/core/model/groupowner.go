package model

import "github.com/scimwright/scimwright/internal/docstore"

// OwnerType is the type of an owner of a group.
type OwnerType string

// The types of owners.
const (
	OwnerUser  OwnerType = "USER"
	OwnerGroup OwnerType = "GROUP"
)

// GroupOwner makes a user or a group an owner of a group. Its document id is GroupOwnerID(group, owner).
type GroupOwner struct {
	Group string    `json:"group"`
	Owner string    `json:"owner"`
	Type  OwnerType `json:"type"`
}

// GroupOwnerID returns the document id of an owner of a group.
func GroupOwnerID(group, owner string) string { return docstore.JoinID(group, owner) }

// The indexes of the owners.
const (
	GroupOwnerByGroup = "group_id" // index by the group
	GroupOwnerByOwner = "owner_id" // index by the owner: a user or a group
)

func groupOwnerCollection() docstore.Collection[GroupOwner] {
	return docstore.NewCollection("group_owners",
		docstore.Index[GroupOwner]{Name: GroupOwnerByGroup, Values: func(o *GroupOwner) []any { return []any{o.Group} }},
		docstore.Index[GroupOwner]{Name: GroupOwnerByOwner, Values: func(o *GroupOwner) []any { return []any{o.Owner} }},
	)
}
