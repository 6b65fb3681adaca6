package store

// Member is the state of one user in one pushed group.
type Member struct {
	User        string
	Want        bool // the directory reports the user as a member
	Pushed      bool // the account PushedID is in the target's group
	MayBeMember bool // the account PushedID may be in the target's group: a request was about to be sent; Pushed is then false
	// PushedID is the id on the target that the user had when a request with this member was sent, or was about to be sent.
	PushedID string
	// RemoteID and RemoteName are the current values of the State of the user. RemoteID is empty while the user is not provisioned.
	RemoteID   string
	RemoteName string
	// Asked is the number of marks since the last query of the directory about this member. Zero means that Want is up to date.
	Asked int64
}

// MemberQuery selects members of a pushed group, ascending by user.
type MemberQuery struct {
	Group string
	Which MemberSet
	After string
	Limit int
}

// MemberSet selects some of a group's members by their state.
type MemberSet int

// The member sets.
const (
	MembersAsked   MemberSet = iota // the directory has to be queried (Asked > 0)
	MembersWanted                   // Want
	MembersPending                  // Want and Pushed differ, or MayBeMember
	MembersAll                      // MembersPending and all other known members
	MembersLeaving                  // MembersPending without Want
)

// MemberAnswer is the response of the directory about one member.
type MemberAnswer struct {
	User  string
	Want  bool
	Asked int64 // Member.Asked before the query, so that a later mark is not lost
}
