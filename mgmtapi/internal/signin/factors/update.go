package factors

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
)

type updateRequest struct {
	target
	Body struct {
		Profile FactorProfile `json:"profile" required:"true" doc:"The new profile."`
	} `body:"required"`
}

// update replaces the profile of a factor.
func (s *Slice) update(ctx context.Context, r *updateRequest) (out Factor, err error) {
	a := s.actOn(&r.target)
	a.profile = r.Body.Profile
	if a.kind.Update == nil {
		return out, rest.Invalid("factorType", "The profile of a factor of the type %s cannot be changed", a.factor.Type)
	}
	if a.kind.Prepare != nil {
		if err := a.kind.Prepare(ctx, a); err != nil {
			return out, err
		}
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := a.reload(ctx, tx, &r.target); err != nil {
			return err
		}
		if err := a.mayVerify(ctx, tx); err != nil {
			return err
		}
		if err := a.kind.Update(ctx, a); err != nil {
			return err
		}
		a.factor.Changed = a.now
		if err := a.write(ctx); err != nil {
			return err
		}
		if err := a.log(ctx, audit.FactorUpdate, ""); err != nil {
			return err
		}
		out, err = s.render(ctx, tx, a)
		return err
	})
	return out, err
}
