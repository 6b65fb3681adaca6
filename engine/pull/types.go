package pull

import (
	"encoding/json"
	"time"
)

// UserRequest is the request to the path /user.
type UserRequest struct {
	App string `json:"app"`
	ID  string `json:"id"`
}

// UserResponse is the response to a UserRequest. App, ID and State are required; App and ID are those of the request.
type UserResponse struct {
	App   string `json:"app"`
	ID    string `json:"id"`
	State string `json:"state"` // active, inactive, absent or keep
	// Resource has the attributes of the account, as engine.UserState.Resource, with a userName. Required if the state is active.
	Resource json.RawMessage `json:"resource,omitempty"`
	// The other members have the meaning of the fields of engine.UserState.
	OnCreate        json.RawMessage `json:"onCreate,omitempty"`
	Manager         string          `json:"manager,omitempty"`
	RemoteID        string          `json:"remoteId,omitempty"`
	Activating      bool            `json:"activating,omitempty"`
	Password        string          `json:"password,omitempty"`
	PasswordVersion string          `json:"passwordVersion,omitempty"`
}

// GroupRequest is the request to the path /group.
type GroupRequest struct {
	App string `json:"app"`
	ID  string `json:"id"`
}

// GroupResponse is the response to a GroupRequest. App, ID and State are required, and DisplayName if the state is active.
type GroupResponse struct {
	App          string `json:"app"`
	ID           string `json:"id"`
	State        string `json:"state"` // active, inactive or absent
	DisplayName  string `json:"displayName,omitempty"`
	RemoteID     string `json:"remoteId,omitempty"`
	DeleteRemote bool   `json:"deleteRemote,omitempty"`
}

// MembersRequest is the request to the path /members.
type MembersRequest struct {
	App   string `json:"app"`
	ID    string `json:"id"` // of the group
	After string `json:"after"`
	Limit int    `json:"limit"`
}

// MembersResponse is the response to a MembersRequest: ids of users that belong to the group, in ascending byte order, after
// MembersRequest.After. If More is true, it may have fewer ids than MembersRequest.Limit, but at least one. If More is false, no member
// follows. App, ID, Members, More and Total are required.
type MembersResponse struct {
	App     string   `json:"app"`
	ID      string   `json:"id"`
	Members []string `json:"members"`
	More    *bool    `json:"more"`  // further members follow
	Total   *int     `json:"total"` // number of all members of the group; confirms an empty list
}

// IsMemberRequest is the request to the path /is-member.
type IsMemberRequest struct {
	App   string   `json:"app"`
	ID    string   `json:"id"` // of the group
	Users []string `json:"users"`
}

// IsMemberResponse is the response to an IsMemberRequest. Members has exactly the users of the request.
type IsMemberResponse struct {
	App     string           `json:"app"`
	ID      string           `json:"id"`
	Members map[string]*bool `json:"members"`
}

// PrincipalsRequest is the request to the path /principals.
type PrincipalsRequest struct {
	App   string `json:"app"`
	Kind  string `json:"kind"` // user or group
	After string `json:"after"`
	Limit int    `json:"limit"`
}

// PrincipalsResponse is the response to a PrincipalsRequest: ids of users or groups that may have an account, in ascending byte order,
// after PrincipalsRequest.After. If More is true, it may have fewer ids than PrincipalsRequest.Limit, but at least one. If More is false,
// no id follows. All members are required.
type PrincipalsResponse struct {
	App  string   `json:"app"`
	Kind string   `json:"kind"`
	IDs  []string `json:"ids"`
	More *bool    `json:"more"`
}

// Limits of the responses.
const (
	DefaultTimeout     = 15 * time.Second // of Options.Timeout
	DefaultConcurrency = 64               // of Options.Concurrency
	DefaultMaxResponse = 1 << 20          // of Options.MaxResponse, in bytes
	MaxPages           = 100              // requests for one list of at most 1000 ids
	MaxID              = 256              // bytes of an id in a list
)
