package desired

import (
	"cmp"
	"context"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Unprovisioned is the number of users that are assigned to an application, have no account on its target, and get no account for the
// reason.
type Unprovisioned struct {
	Reason string
	Users  int
}

// The reasons why assigned users get no account.
const (
	reasonAppInactive    = "the application is inactive"
	reasonNoConnection   = "the application has no provisioning connection"
	reasonConnectionOff  = "the connection is not active"
	reasonBlocked        = "the user name or the profile cannot be used"
	reasonStaged         = "the user is not activated"
	reasonSuspended      = "the user is suspended"
	reasonCreateOff      = "Create Users is off"
	reasonAssignedBefore = "assigned while Create Users was off"
)

// userPage is the number of assignments per query.
const userPage = 500

// Unprovisioned counts the users that are assigned to an application and get no account, by reason, the most frequent first. Users that are
// pending, retried or failed are not included: the engine counts those.
func (s *State) Unprovisioned(ctx context.Context, app string) ([]Unprovisioned, error) {
	q := s.Store.Reader()
	a, err := model.Optional(ctx, q, s.Apps, app)
	if err != nil || a == nil {
		return nil, err
	}
	var conn *model.Connection
	if doc, err := model.Optional(ctx, q, s.Connections, app); err != nil {
		return nil, err
	} else if doc != nil {
		conn = &doc.Value
	}
	if !a.Value.Provisions(conn) {
		return nil, nil
	}
	lacking := docstore.Eq(model.AppUserByUnprovisioned, app)
	if why := reasonForAll(&a.Value, conn); why != "" {
		n, err := s.AppUsers.Count(ctx, q, lacking)
		if err != nil || n == 0 {
			return nil, err
		}
		return []Unprovisioned{{why, n}}, nil
	}
	counts := map[string]int{}
	query := docstore.Query[model.AppUser]{Where: lacking, Limit: userPage}
	for {
		page, err := s.AppUsers.Query(ctx, q, query)
		if err != nil {
			return nil, err
		}
		if err := s.countReasons(ctx, q, conn, page.Docs, counts); err != nil {
			return nil, err
		}
		if query.After = page.Next; page.Next == "" {
			break
		}
	}
	var all []Unprovisioned
	for why, n := range counts {
		all = append(all, Unprovisioned{why, n})
	}
	slices.SortFunc(all, func(a, b Unprovisioned) int {
		return cmp.Or(cmp.Compare(b.Users, a.Users), cmp.Compare(a.Reason, b.Reason))
	})
	return all, nil
}

// reasonForAll returns the reason that applies to every user of an application, or "" if users can have accounts.
func reasonForAll(app *model.App, conn *model.Connection) string {
	switch {
	case app.Status != model.AppActive:
		return reasonAppInactive
	case conn == nil:
		return reasonNoConnection
	case !conn.Enabled:
		return reasonConnectionOff
	}
	return ""
}

// countReasons counts the reasons why assignments have no account.
func (s *State) countReasons(ctx context.Context, q docstore.Reader, conn *model.Connection, docs []docstore.Doc[model.AppUser],
	counts map[string]int) error {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.Value.UserID
	}
	status := map[string]model.UserStatus{}
	err := model.EachOf(ctx, q, s.Users, ids, func(u *docstore.Doc[model.User]) { status[u.ID] = u.Value.Status })
	if err != nil {
		return err
	}
	for i := range docs {
		if why := reasonFor(&docs[i].Value, status[docs[i].Value.UserID], conn); why != "" {
			counts[why]++
		}
	}
	return nil
}

// reasonFor returns the reason why an assigned user without an account gets no account, or "" if the account is pending, retried or failed.
func reasonFor(u *model.AppUser, user model.UserStatus, conn *model.Connection) string {
	switch {
	case u.Blocked:
		return reasonBlocked
	case user == model.UserStaged:
		return reasonStaged
	case user == model.UserSuspended:
		return reasonSuspended
	case !conn.Creates():
		return reasonCreateOff
	case !u.Provisioned(), u.SyncState == model.SyncDisabled:
		return reasonAssignedBefore
	}
	return ""
}
