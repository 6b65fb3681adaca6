package factors

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

type removeRequest struct {
	target
	Recovery bool `query:"removeRecoveryEnrollment" default:"false" doc:"Accepted and ignored: recovery does not depend on factors."`
}

// unenroll removes a factor in any status.
func (s *Slice) unenroll(ctx context.Context, r *removeRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		a := s.actOn(&r.target)
		if err := a.reload(ctx, tx, &r.target); err != nil {
			return err
		}
		if a.user.Value.Status == model.UserDeprovisioned {
			return rest.Fail(rest.CodeStatus)
		}
		if err := a.remove(ctx); err != nil {
			return err
		}
		return a.log(ctx, audit.FactorDeactivate, "")
	})
}

// resetRoute is the operation that removes all factors of a user.
func (s *Slice) resetRoute() rest.Route {
	return rest.Op[owner, rest.Empty]{
		ID: "resetFactors", Route: http.MethodPost + " /api/v1/users/{user}/lifecycle/reset_factors", Tag: "Users", Scopes: writeScope,
		Summary: "Unenrolls all factors of a user", Find: lookup.In(s.Store, s.findOwner, (*owner).self), Do: s.resetAll,
	}
}

func (s *Slice) resetAll(ctx context.Context, o *owner) (rest.Empty, error) {
	return rest.Empty{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.findOwnerIn(ctx, tx, o, o.user.ID); err != nil {
			return err
		}
		switch {
		case o.user.Value.Transition != "":
			return rest.Fail(rest.CodeTransitioning)
		case o.user.Value.Status == model.UserDeprovisioned:
			return rest.Fail(rest.CodeStatus)
		}
		removed, err := s.removeAll(ctx, tx, o.user)
		if err != nil {
			return err
		}
		for _, a := range removed {
			if err := a.log(ctx, audit.FactorDeactivate, ""); err != nil {
				return err
			}
		}
		return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.FactorResetAll, Targets: []model.LogParty{audit.User(o.user)}})
	})
}

// removeAll removes all factors of a user. After the deletion of the user, only the id in user is set.
func (s *Slice) removeAll(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User]) (removed []*act, err error) {
	base := &act{Slice: s, tx: tx, now: s.Now(), user: user}
	err = model.Each(ctx, tx, s.Factors, docstore.Eq(model.FactorByUser, user.ID), func(doc docstore.Doc[model.Factor]) error {
		// The removal of an earlier factor may have removed this one too.
		there, err := model.Optional(ctx, tx, s.Factors, doc.ID)
		if err != nil || there == nil {
			return err
		}
		a := base.forFactor(*there)
		removed = append(removed, a)
		return a.remove(ctx)
	})
	return removed, err
}

// forget deletes the data of a deleted user.
func (s *Slice) forget(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error {
	if _, err := s.removeAll(ctx, tx, docstore.Doc[model.User]{ID: e.ID}); err != nil {
		return err
	}
	_, err := s.FactorWindows.DeleteWhere(ctx, tx, docstore.IDs(model.FactorWindowID(wrongCodes.what, e.ID)))
	return err
}
