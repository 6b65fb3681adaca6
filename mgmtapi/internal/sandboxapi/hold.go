package sandboxapi

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func (s *Slice) holdRoutes() []rest.Route {
	const about = "While work is on hold, lifecycle/activate, lifecycle/deactivate and DELETE of a user are accepted and stay pending: " +
		"transitioningToStatus shows the target status, and another lifecycle operation on the user is rejected with E0000112. " +
		"Updates of the users of an application after a change of its mappings also stay pending."
	return []rest.Route{
		rest.Op[struct{}, heldWork]{ID: "getWork", Route: "GET /sandbox/v1/work", Tag: tag,
			Summary: "Read whether asynchronous work of the management API is on hold, and the number of pending items", Description: about,
			Scopes: []string{manage}, Do: func(ctx context.Context, _ *struct{}) (heldWork, error) { return s.heldWork(ctx, s.Store.Reader()) }},
		rest.Op[holdRequest, heldWork]{ID: "holdWork", Route: "PUT /sandbox/v1/work", Tag: tag,
			Summary: "Hold or release asynchronous work of the management API", Description: about,
			Scopes: []string{manage}, Do: s.hold},
	}
}

type heldWork struct {
	Hold    bool `json:"hold" readOnly:"true" doc:"whether work is on hold"`
	Pending int  `json:"pending" readOnly:"true" doc:"number of users and applications with pending work"`
}

type holdRequest struct {
	Body struct {
		Hold *bool `json:"hold" required:"true" doc:"true holds work, false releases it; a hold survives restarts, a reset releases it"`
	} `body:"required"`
}

// heldWork counts the pending work.
func (s *Slice) heldWork(ctx context.Context, q docstore.Reader) (heldWork, error) {
	org, err := s.Org(ctx, q)
	if err != nil {
		return heldWork{}, err
	}
	users, err := s.Transitions.Count(ctx, q, nil)
	if err != nil {
		return heldWork{}, err
	}
	apps, err := s.Followings.Count(ctx, q, nil)
	return heldWork{Hold: org.HoldWork, Pending: users + apps}, err
}

func (s *Slice) hold(ctx context.Context, r *holdRequest) (out heldWork, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.Orgs.Get(ctx, tx, model.OrgDocument)
		if err != nil {
			return err
		}
		if doc.Value.HoldWork != *r.Body.Hold {
			doc.Value.HoldWork = *r.Body.Hold
			if _, err := s.Orgs.Update(ctx, tx, doc.ID, doc.Rev, doc.Value); err != nil {
				return err
			}
		}
		out, err = s.heldWork(ctx, tx)
		return err
	})
	if err == nil && !out.Hold && s.o.Released != nil {
		s.o.Released()
	}
	return out, err
}
