package factors

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// list returns the factors of a user that can be used or completed. It does not read other factors.
func (s *Slice) list(ctx context.Context, o *owner) (out rest.Page[Factor], err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		out = rest.Page[Factor]{}
		off, err := s.deactivatedKinds(ctx, q)
		if err != nil {
			return err
		}
		return model.Each(ctx, q, s.Factors, s.shown(o.user.ID, off), func(doc docstore.Doc[model.Factor]) error {
			f, err := s.actOn(&target{owner: *o, found: doc}).show(ctx, doc.Value.Status)
			out.Items = append(out.Items, f)
			return err
		})
	})
	return out, err
}

// deactivatedKinds returns the ids of the kinds that the organization does not allow.
func (s *Slice) deactivatedKinds(ctx context.Context, q docstore.Reader) (map[string]bool, error) {
	off := map[string]bool{}
	err := model.Each(ctx, q, s.OrgFactors, nil, func(doc docstore.Doc[model.OrgFactor]) error {
		if doc.Value.Status != model.Active {
			off[doc.ID] = true
		}
		return nil
	})
	return off, err
}

// shown returns the condition for factors of a user that are neither EXPIRED nor INACTIVE. The status of such a factor is its stored
// status.
func (s *Slice) shown(user string, off map[string]bool) docstore.Cond {
	complete := docstore.Not(docstore.NotNull(model.FactorByPending))
	if len(off) > 0 {
		var ids []any
		for id := range off {
			ids = append(ids, id)
		}
		complete = docstore.All(complete, docstore.Not(docstore.In(model.FactorByOrg, ids...)))
	}
	begun := docstore.Gt(model.FactorByPending, s.Now().Add(-model.FactorPendingLife))
	return docstore.All(docstore.Eq(model.FactorByUser, user), docstore.Any(complete, begun))
}

// CatalogFactor is a type of factor that a user can enroll.
type CatalogFactor struct {
	Type     string         `json:"factorType" readOnly:"true" doc:"Type of the factor."`
	Provider string         `json:"provider" readOnly:"true" doc:"Provider of the factor."`
	Vendor   string         `json:"vendorName" readOnly:"true" doc:"Name of the provider."`
	Status   string         `json:"status" readOnly:"true" enum:"NOT_SETUP,PENDING_ACTIVATION,ACTIVE" doc:"Enrollment status for this user."`
	Links    rest.Links     `json:"_links" readOnly:"true" doc:"enroll: link for the enrollment."`
	Embedded *CatalogPhones `json:"_embedded,omitempty" readOnly:"true" doc:"Phones of the user, for sms and call."`
}

// CatalogPhones are the phones of a user.
type CatalogPhones struct {
	Phones []Phone `json:"phones" readOnly:"true" doc:"Phones of the user."`
}

// Phone is a phone of a user.
type Phone struct {
	ID      string            `json:"id" readOnly:"true" doc:"Id of the phone."`
	Profile map[string]string `json:"profile" readOnly:"true" doc:"phoneNumber in E.164 format."`
	Status  string            `json:"status" readOnly:"true" enum:"PENDING_ACTIVATION,ACTIVE" doc:"ACTIVE if the number is verified."`
}

// catalog lists the types of factors that the organization allows, in the order of kinds.
func (s *Slice) catalog(ctx context.Context, o *owner) (out rest.Page[CatalogFactor], err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		out = rest.Page[CatalogFactor]{}
		off, err := s.deactivatedKinds(ctx, q)
		if err != nil {
			return err
		}
		var have []docstore.Doc[model.Factor]
		err = model.Each(ctx, q, s.Factors, s.shown(o.user.ID, off), func(doc docstore.Doc[model.Factor]) error {
			have = append(have, doc)
			return nil
		})
		if err != nil {
			return err
		}
		for _, k := range s.kinds {
			if !off[k.Org] {
				out.Items = append(out.Items, k.offer(ctx, o.user.ID, have))
			}
		}
		return nil
	})
	return out, err
}

// offer returns the catalog entry of the kind for a user with these factors.
func (k *kind) offer(ctx context.Context, user string, have []docstore.Doc[model.Factor]) CatalogFactor {
	status := model.FactorNotSetUp
	for _, doc := range have {
		if f := doc.Value; f.Type == k.Type && f.Provider == k.Provider && status != model.FactorActive {
			status = f.Status
		}
	}
	if status == model.FactorEnrolled {
		status = model.FactorActive
	}
	out := CatalogFactor{
		Type: string(k.Type), Provider: string(k.Provider), Vendor: string(k.Provider), Status: string(status),
		Links: rest.Links{"enroll": rest.To(rest.URL(ctx, "api", "v1", "users", user, "factors"), http.MethodPost)},
	}
	if hasPhone(&model.Factor{Type: k.Type}) {
		if phones := phonesOf(user, have); len(phones) > 0 {
			out.Embedded = &CatalogPhones{Phones: phones}
		}
	}
	return out
}

// phonesOf lists the distinct phones of the factors.
func phonesOf(user string, have []docstore.Doc[model.Factor]) []Phone {
	var out []Phone
	at := map[string]int{}
	for _, doc := range have {
		f := doc.Value
		if !hasPhone(&f) {
			continue
		}
		number := f.Profile["phoneNumber"]
		i, known := at[number]
		if !known {
			i, at[number] = len(out), len(out)
			out = append(out, Phone{ID: model.PhoneID(user, number), Profile: map[string]string{"phoneNumber": number}})
		}
		if out[i].Status != string(model.FactorActive) {
			out[i].Status = string(f.Status)
		}
	}
	return out
}

func (s *Slice) questions(context.Context, *owner) (rest.Page[SecurityQuestion], error) {
	return rest.Page[SecurityQuestion]{Items: securityQuestions}, nil
}
