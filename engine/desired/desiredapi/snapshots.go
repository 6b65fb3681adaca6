package desiredapi

import (
	"context"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) snapshotRoutes() []rest.Route {
	const tag, one = "Snapshots", "/apps/{app}/snapshots/{snapshot}"
	begin := row(a, tag, "beginSnapshot", "POST /apps/{app}/snapshots", "Begin to upload a list of all users or all groups of an app",
		a.beginSnapshot)
	begin.Status = 201
	return []rest.Route{
		begin,
		row(a, tag, "getSnapshot", "GET "+one, "Show the progress of a snapshot, and the number of missing users or groups", a.getSnapshot),
		row(a, tag, "endSnapshot", "POST "+one+"/end", "End the upload of a snapshot", a.endSnapshot),
		row(a, tag, "listMissing", "GET "+one+"/missing", "List the ids of the users or groups that are not in a snapshot", a.listMissing),
		rest.Needs(row(a, tag, "confirmSnapshot", "POST "+one+"/confirm", "Set the missing users or groups of a snapshot to the state absent",
			a.confirmSnapshot), engine.AccessApprove),
	}
}

// Snapshot is a list of all users or groups that a caller uploads.
type Snapshot struct {
	Snapshot int64     `json:"snapshot" readOnly:"true" doc:"number of the snapshot"`
	Kind     string    `json:"kind" readOnly:"true" enum:"user,group" doc:"what the snapshot lists"`
	State    string    `json:"state" readOnly:"true" enum:"open,ended,removing,confirmed" doc:"progress of the snapshot"`
	Missing  int       `json:"missing" readOnly:"true" doc:"number of users or groups that are not in the snapshot"`
	Begun    time.Time `json:"begun" readOnly:"true" doc:"when the snapshot began"`
	Ended    time.Time `json:"ended,omitzero" readOnly:"true" doc:"when the upload ended"`
}

type beginRequest struct {
	appPath
	Body struct {
		Kind string `json:"kind" required:"true" enum:"user,group" doc:"what the snapshot lists"`
	} `body:"required"`
}

type snapshotPath struct {
	appPath
	Snapshot string `path:"snapshot" doc:"number of the snapshot"`
}

// number returns the number of the snapshot, and 0, which is not found, if it is not a number.
func (p *snapshotPath) number() int64 {
	n, err := strconv.ParseInt(p.Snapshot, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (p *snapshotPath) rejected(err error) error { return rejected(err, p.App, "Snapshot", p.Snapshot) }

type missingRequest struct {
	snapshotPath
	position
}

type confirmRequest struct {
	snapshotPath
	Body struct {
		Expected *int `json:"expected" required:"true" min:"0" doc:"number of missing users or groups; another number is rejected"`
	} `body:"required"`
}

func (a *api) beginSnapshot(ctx context.Context, r *beginRequest) (Snapshot, error) {
	number, err := a.s.BeginSnapshot(ctx, r.App, engine.Kind(r.Body.Kind))
	if err != nil {
		return Snapshot{}, rejected(err, r.App, "", "")
	}
	s, err := a.s.Snapshot(ctx, r.App, number)
	return shownSnapshot(&s), rejected(err, r.App, "Snapshot", strconv.FormatInt(number, 10))
}

func (a *api) getSnapshot(ctx context.Context, r *snapshotPath) (Snapshot, error) {
	s, err := a.s.Snapshot(ctx, r.App, r.number())
	return shownSnapshot(&s), r.rejected(err)
}

func (a *api) endSnapshot(ctx context.Context, r *snapshotPath) (Snapshot, error) {
	s, err := a.s.EndSnapshot(ctx, r.App, r.number())
	return shownSnapshot(&s), r.rejected(err)
}

func (a *api) listMissing(ctx context.Context, r *missingRequest) (rest.Page[string], error) {
	ids, err := a.s.MissingIn(ctx, r.App, r.number(), r.After, r.Limit)
	out := rest.Page[string]{Items: ids}
	if len(ids) == r.Limit {
		out.Next = ids[len(ids)-1]
	}
	return out, r.rejected(err)
}

func (a *api) confirmSnapshot(ctx context.Context, r *confirmRequest) (Snapshot, error) {
	if err := a.s.ConfirmSnapshot(ctx, r.App, r.number(), *r.Body.Expected); err != nil {
		return Snapshot{}, r.rejected(err)
	}
	return a.getSnapshot(ctx, &r.snapshotPath)
}

func shownSnapshot(s *desired.Snapshot) Snapshot {
	return Snapshot{Snapshot: s.Number, Kind: string(s.Kind), State: string(s.State), Missing: s.Missing, Begun: s.Begun, Ended: s.Ended}
}
