package syslog

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Retention is the duration for which events are stored and can be queried.
const Retention = 90 * 24 * time.Hour

// Options configure the slice.
type Options struct {
	// Logger receives an error if an event about a rejected request cannot be written. Default: none.
	Logger *slog.Logger
}

// Slice serves the system log.
type Slice struct {
	model.Deps
	logger *slog.Logger
}

// New returns the slice and registers its event handlers.
func New(d model.Deps, o Options) *Slice {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Slice{Deps: d, logger: o.Logger}
	model.On(d.Feed, s.membershipChanged)
	return s
}

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return []rest.Route{
		rest.Op[listRequest, rest.Page[LogEvent]]{
			ID: "listLogEvents", Route: "GET /api/v1/logs", Tag: "System log", Scopes: []string{"svc.logs.read"},
			Summary: "Reads the system log",
			Description: "In ascending order and without until, the list always has a link to the next page, even if that page is still empty: " +
				"a client that polls this link receives every event once.",
			Check: checkList, Do: s.list,
		},
	}
}

// membershipChanged logs that a user has joined or left a group. It ignores the built-in group, which contains every user.
func (s *Slice) membershipChanged(ctx context.Context, tx *docstore.Tx, e model.MembershipChanged) error {
	if e.Of.Value.Type == model.GroupBuiltIn {
		return nil
	}
	user, err := s.Users.Get(ctx, tx, e.User)
	if err != nil {
		return err
	}
	event := audit.GroupMemberRemove
	if e.Member {
		event = audit.GroupMemberAdd
	}
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.User(user), audit.Group(e.Of)}})
}

// Limited logs that a rate limit was exceeded, for rest.Options.Limited.
func (s *Slice) Limited(ctx context.Context, q rest.Quota) {
	audit.WriteAlone(ctx, s.Deps, s.logger, audit.Entry{
		Type: audit.RateLimit, Failure: "The limit of " + strconv.Itoa(q.Limit) + " requests a minute was exceeded",
		Targets: []model.LogParty{{ID: q.Bucket, Type: audit.TypeBucket, AlternateID: q.Bucket, DisplayName: q.Bucket}},
		Debug:   map[string]string{"limit": strconv.Itoa(q.Limit), "bucket": q.Bucket},
	})
}

// Purge deletes the events that are older than Retention and returns their number.
func (s *Slice) Purge(ctx context.Context) (n int, err error) {
	oldest := model.LogTime(s.Now().Add(-Retention))
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		n, err = s.LogEvents.DeleteWhere(ctx, tx, docstore.Lt(docstore.ID, oldest))
		return err
	})
	return n, err
}
