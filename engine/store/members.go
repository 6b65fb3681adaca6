package store

// Member is what the engine knows about one user in one pushed group.
type Member struct {
	User        string
	Want        bool // belongs to the group
	Pushed      bool // is in the target's group, as PushedID
	MayBeMember bool // may be in the target's group, as PushedID: a request was about to be sent. Pushed is false then
	// PushedID is the id the user had at the target when it was pushed, or was about to be pushed.
	PushedID string
	// RemoteID and RemoteName are what the user's own row says now; RemoteID is empty while it is not provisioned.
	RemoteID   string
	RemoteName string
	// Asked counts the marks since the directory was last asked about this member; 0 means that Want is up to date.
	Asked int64
}

// MemberQuery selects members of a pushed group, ascending by user.
type MemberQuery struct {
	Group string
	Which MemberSet
	After string
	Limit int
}

// MemberSet names a part of a group's members.
type MemberSet int

// The member sets.
const (
	MembersAsked   MemberSet = iota // the directory is to be asked (Asked > 0)
	MembersWanted                   // Want
	MembersPending                  // Want and Pushed differ, or whether it is in the target's group is not known
	MembersAll                      // those and all others that are known
	MembersLeaving                  // those of MembersPending that are not wanted
)

// MemberAnswer is what the directory said about one member.
type MemberAnswer struct {
	User  string
	Want  bool
	Asked int64 // as it was read; a later mark stays
}
