package factors

import (
	"context"
	"iter"
	"reflect"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// enrollQuery holds the query parameters of an enrollment. A verification uses some of them.
type enrollQuery struct {
	Activate    bool   `query:"activate" default:"false" doc:"Completes the enrollment immediately and sends no code."`
	TemplateID  string `query:"templateId" max:"100" doc:"Id of the SMS template, for the type sms. An unknown id selects the built-in text."`
	Lifetime    int    `query:"tokenLifetimeSeconds" default:"300" min:"1" max:"86400" doc:"Validity of a code sent by email, in seconds."`
	UpdatePhone bool   `query:"updatePhone" default:"false" doc:"Changes the number of an sms factor whose enrollment is not complete."`
}

// defaultQuery is the value of a query without parameters.
var defaultQuery = enrollQuery{Lifetime: 300}

type enrollRequest struct {
	owner
	enrollQuery
	Body struct {
		factorKind
		Profile FactorProfile `json:"profile" doc:"Profile of the factor, by its type."`
		Verify  Proof         `json:"verify" writeOnly:"true" doc:"Proof of possession, for tokens."`
		Custom  string        `json:"factorProfileId" max:"100" doc:"Custom profile of the organization, for token:hotp."`
	} `body:"required"`
}

// factorKind is the type and the provider of a factor.
type factorKind struct {
	Type     string `json:"factorType" required:"true" doc:"Type of the factor."`
	Provider string `json:"provider" required:"true" doc:"Provider of the factor."`
}

// MoreTags implements rest.Described.
func (factorKind) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"factorType": `enum:"question,sms,call,email,push,token:software:totp,token,token:hardware,token:hotp,web,u2f,webauthn"`,
		"provider":   `enum:"SVC,CUSTOM,FIDO,VENDOR_A,VENDOR_B,VENDOR_C,VENDOR_D,VENDOR_E"`,
	}
}

// pair returns the requested type and provider.
func (r *enrollRequest) pair() (model.FactorType, model.FactorProvider) {
	return model.FactorType(r.Body.Type), model.FactorProvider(r.Body.Provider)
}

func (s *Slice) enroll(ctx context.Context, r *enrollRequest) (Factor, error) {
	return s.enrollThen(ctx, r, nil)
}

// enrollThen enrolls a factor. If the enrollment is not rejected, it calls then, if not nil, in the transaction.
func (s *Slice) enrollThen(ctx context.Context, r *enrollRequest, then func(a *act, shown Factor) error) (out Factor, err error) {
	k := s.kindOf(r.pair())
	if k == nil {
		return Factor{}, rest.Invalid("factorType", "%s has no factors of the type %s", r.Body.Provider, r.Body.Type)
	}
	a := s.newAct(k, r)
	if err := a.checkTemplate(); err != nil {
		return Factor{}, err
	}
	if k.Prepare != nil {
		if err := k.Prepare(ctx, a); err != nil {
			return Factor{}, err
		}
	}
	prepared := a.prepared
	var refusal *wrong
	err = a.change(ctx, func(tx *docstore.Tx) error {
		if err := s.findOwnerIn(ctx, tx, &r.owner, r.user.ID); err != nil {
			return err
		}
		*a = *s.newAct(k, r)
		a.tx, a.prepared = tx, prepared
		if refusal, err = a.begin(ctx); err != nil || refusal != nil {
			return err
		}
		if out, err = s.render(ctx, tx, a); err == nil && then != nil {
			err = then(a, out)
		}
		return err
	})
	if err == nil && refusal != nil {
		err = a.refusal(refusal.code, refusal)
	}
	return out, err
}

func (s *Slice) newAct(k *kind, r *enrollRequest) *act {
	now := s.Now()
	return &act{
		Slice: s, kind: k, now: now, user: r.user, id: model.NewID(k.Prefix), fresh: true,
		factor: model.Factor{
			User: r.user.ID, Type: k.Type, Provider: k.Provider, Vendor: string(k.Provider), Org: k.Org,
			Status: model.FactorPending, Enrolled: now, Changed: now,
		},
		profile: r.Body.Profile, proof: r.Body.Verify, query: r.enrollQuery, ofCustom: r.Body.Custom,
	}
}

// begin enrolls the factor. A refusal means that the proof in the request is wrong.
func (a *act) begin(ctx context.Context) (refusal *wrong, err error) {
	if err := mayUse(&a.user.Value); err != nil {
		return nil, err
	}
	allowed, err := a.allowed(ctx, a.tx, a.kind.Org)
	if err != nil {
		return nil, err
	}
	if !allowed {
		return nil, rest.Invalid("factorType", "The organization does not allow factors of this type")
	}
	if err := a.loadFactors(ctx); err != nil {
		return nil, err
	}
	if !a.kind.Several && a.has(func(f *model.Factor) bool { return f.Status != model.FactorPending }) != nil {
		return nil, rest.Invalid("factorEnrollRequest", "A factor of this type is already set up.")
	}
	if a.proof == (Proof{}) {
		err = a.kind.Enroll(ctx, a)
	} else {
		refusal, err = a.try(ctx, audit.FactorActivate, func() error { return a.kind.Enroll(ctx, a) })
	}
	if err != nil || refusal != nil {
		return refusal, err
	}
	return nil, a.storeEnrollment(ctx)
}

// storeEnrollment stores the new factor and activates it, or sends the code that its activation requires.
func (a *act) storeEnrollment(ctx context.Context) error {
	if a.rev != 0 && a.factor.Status == model.FactorActive { // adopt has found this factor, which is already complete
		return nil
	}
	if err := a.checkFactorLimit(); err != nil {
		return err
	}
	if err := a.replacePending(ctx); err != nil {
		return err
	}
	if a.kind.ActiveAtEnrollment || a.kind.MaySkipActivation && a.query.Activate {
		return a.complete(ctx)
	}
	if a.kind.Send != nil {
		if err := a.checkAttemptLimit(ctx, a.tx); err != nil {
			return err
		}
		if err := a.kind.Send(ctx, a); err != nil {
			return err
		}
	}
	return a.write(ctx)
}

// maxOfKind is the maximum number of complete factors of a kind per user. At most one more can be pending.
const maxOfKind = 10

// checkFactorLimit rejects a new factor if the user has maxOfKind complete factors of this kind.
func (a *act) checkFactorLimit() error {
	if a.rev != 0 {
		return nil
	}
	n := 0
	for doc := range a.sameKind() {
		if doc.Value.Status != model.FactorPending {
			n++
		}
	}
	if n >= maxOfKind {
		return rest.Invalid("factorEnrollRequest", "A user has at most %d factors of a type.", maxOfKind)
	}
	return nil
}

// loadFactors reads the factors of the user into a.others.
func (a *act) loadFactors(ctx context.Context) error {
	a.others = nil
	return model.Each(ctx, a.tx, a.Factors, docstore.Eq(model.FactorByUser, a.user.ID), func(doc docstore.Doc[model.Factor]) error {
		a.others = append(a.others, doc)
		return nil
	})
}

// sameKind yields the factors of the user that have the same kind.
func (a *act) sameKind() iter.Seq[*docstore.Doc[model.Factor]] {
	return func(yield func(*docstore.Doc[model.Factor]) bool) {
		for i := range a.others {
			if f := &a.others[i].Value; f.Type == a.kind.Type && f.Provider == a.kind.Provider && !yield(&a.others[i]) {
				return
			}
		}
	}
}

// has returns a factor of the same kind that satisfies the condition, or nil.
func (a *act) has(cond func(*model.Factor) bool) *docstore.Doc[model.Factor] {
	for doc := range a.sameKind() {
		if cond(&doc.Value) {
			return doc
		}
	}
	return nil
}

// replacePending removes the pending factors of the same kind, except the factor of this operation.
func (a *act) replacePending(ctx context.Context) error {
	for doc := range a.sameKind() {
		if doc.ID == a.id || doc.Value.Status != model.FactorPending {
			continue
		}
		before := a.forFactor(*doc)
		if err := before.remove(ctx); err != nil {
			return err
		}
		if err := before.log(ctx, audit.FactorDeactivate, ""); err != nil {
			return err
		}
	}
	return nil
}

// adopt continues the operation with an existing factor of the user instead of a new one.
func (a *act) adopt(doc *docstore.Doc[model.Factor]) {
	a.id, a.factor, a.rev = doc.ID, doc.Value, doc.Rev
}
