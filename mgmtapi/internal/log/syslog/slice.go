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

// Retention is how long events are kept, and how far back the log can be asked for.
const Retention = 90 * 24 * time.Hour

// Options configure the slice.
type Options struct {
	// Logger is told when an event about a refused request cannot be written. Defaults to nobody.
	Logger *slog.Logger
}

// Slice serves the system log.
type Slice struct {
	model.Deps
	logger *slog.Logger
}

// New returns the slice and adds its reactions to the feed.
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

// membershipChanged logs that a user has joined or left a group. Everyone is in the built-in group, so that tells nothing.
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

// Limited logs that a rate limit was hit. It is what rest.Options.Limited wants.
func (s *Slice) Limited(ctx context.Context, q rest.Quota) {
	audit.WriteAlone(ctx, s.Deps, s.logger, audit.Entry{
		Type: audit.RateLimit, Failure: "The limit of " + strconv.Itoa(q.Limit) + " requests a minute was exceeded",
		Targets: []model.LogParty{{ID: q.Bucket, Type: audit.TypeBucket, AlternateID: q.Bucket, DisplayName: q.Bucket}},
		Debug:   map[string]string{"limit": strconv.Itoa(q.Limit), "bucket": q.Bucket},
	})
}

// Purge removes the events that are older than Retention and returns how many there were.
func (s *Slice) Purge(ctx context.Context) (n int, err error) {
	oldest := model.LogTime(s.Now().Add(-Retention))
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		n, err = s.LogEvents.DeleteWhere(ctx, tx, docstore.Lt(docstore.ID, oldest))
		return err
	})
	return n, err
}
