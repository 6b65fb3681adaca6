package factors

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/mfa"
)

var _ mfa.Factors = (*Slice)(nil)

// methods are the authentication methods of the types of factors (RFC 8176).
var methods = map[model.FactorType]string{
	model.FactorQuestion: "kba", model.FactorSMS: "sms", model.FactorCall: "tel", model.FactorEmail: "otp", model.FactorPush: "swk",
	model.FactorTOTP: "otp", model.FactorToken: "otp", model.FactorHardware: "otp", model.FactorHOTP: "otp", model.FactorWeb: "mca",
	model.FactorU2F: "hwk", model.FactorWebAuthn: "hwk",
}

// Usable implements mfa.Factors. It omits email factors whose address no longer belongs to the user.
func (s *Slice) Usable(ctx context.Context, q docstore.Reader, user docstore.Doc[model.User]) ([]mfa.SignInFactor, error) {
	off, err := s.deactivatedKinds(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []mfa.SignInFactor
	err = model.Each(ctx, q, s.Factors, s.shown(user.ID, off), func(doc docstore.Doc[model.Factor]) error {
		a := s.actOn(&target{owner: owner{user: user}, found: doc})
		if doc.Value.Status == model.FactorPending || doc.Value.Type == model.FactorEmail && checkOwnAddress(a) != nil {
			return nil
		}
		out = append(out, a.signIn(nil))
		return nil
	})
	return out, err
}

// signIn returns the factor as shown to the user during a sign-in.
func (a *act) signIn(embedded map[string]any) mfa.SignInFactor {
	f := &a.factor
	out := mfa.SignInFactor{
		ID: a.id, Type: string(f.Type), Provider: string(f.Provider), Vendor: f.Vendor, Profile: masked(f.Profile), Embedded: embedded,
	}
	if f.Status == model.FactorPending {
		out.Status = string(f.Status)
	}
	return out
}

// shownDigits is the number of digits of a phone number that are not masked.
const shownDigits = 4

// masked returns a profile with masked phone numbers and addresses, so that a stolen password does not reveal them.
func masked(profile map[string]string) map[string]string {
	if profile == nil {
		return nil
	}
	out := map[string]string{}
	for name, value := range profile {
		switch name {
		case "phoneNumber":
			value = maskedNumber(value)
		case "email":
			first, size := utf8.DecodeRuneInString(value)
			if local, domain, found := strings.Cut(value, "@"); found && len(local) > size {
				value = string(first) + "***@" + domain
			}
		}
		out[name] = value
	}
	return out
}

// maskedNumber returns a number that shows only its last digits.
func maskedNumber(number string) string {
	digits := 0
	for _, r := range number {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsDigit(r) {
			return r
		}
		if digits--; digits >= shownDigits {
			return 'X'
		}
		return r
	}, number)
}

// outcome returns the result of a step.
func (a *act) outcome(result model.FactorResult, embedded map[string]any, transaction string) mfa.Outcome {
	return mfa.Outcome{Result: result, Factor: a.signIn(embedded), Transaction: transaction, Method: methods[a.factor.Type]}
}

// factorOf returns the factor of a step of a sign-in.
func factorOf(at mfa.Attempt) target { return target{owner: owner{User: at.User}, Factor: at.Factor} }

// Verify implements mfa.Factors.
func (s *Slice) Verify(ctx context.Context, at mfa.Attempt, then mfa.Then) error {
	r := &verifyRequest{target: factorOf(at), Lifetime: defaultQuery.Lifetime, Body: &at.Proof}
	if err := s.find(ctx, s.Store.Reader(), &r.target); err != nil {
		return err
	}
	a := s.actOn(&r.target)
	_, refusal, err := a.prove(ctx, r, at.Transaction, func(v Verification) error {
		return then(a.tx, a.outcome(v.Result, v.Embedded, v.transaction))
	})
	if err == nil && refusal != nil {
		err = a.refusal(refusal.code, refusal)
	}
	return err
}

// EnsureEmail implements mfa.Factors.
func (s *Slice) EnsureEmail(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User]) error {
	address := user.Value.Text("email")
	a := s.newAct(s.kindOf(model.FactorEmail, model.FactorProviderService),
		&enrollRequest{owner: owner{user: user}, enrollQuery: defaultQuery})
	a.tx = tx
	allowed, err := s.allowed(ctx, tx, a.kind.Org)
	if err != nil || !allowed || address == "" {
		return err
	}
	if err := a.loadFactors(ctx); err != nil {
		return err
	}
	if before := a.has(func(f *model.Factor) bool { return f.Status != model.FactorPending }); before != nil {
		if strings.EqualFold(before.Value.Profile["email"], address) {
			return nil
		}
		// an email factor with another address: the secondary address, or a primary address that the user had before
		former := a.forFactor(*before)
		if err := former.remove(ctx); err != nil {
			return err
		}
		if err := former.log(ctx, audit.FactorDeactivate, ""); err != nil {
			return err
		}
	}
	if err := a.replacePending(ctx); err != nil {
		return err
	}
	a.factor.Profile = map[string]string{"email": address}
	return a.complete(ctx)
}

// Enrollable implements mfa.Factors. It omits kinds that only an administrator can enroll.
func (s *Slice) Enrollable(ctx context.Context, q docstore.Reader, _ docstore.Doc[model.User]) ([]mfa.SignInFactor, error) {
	off, err := s.deactivatedKinds(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []mfa.SignInFactor
	for _, k := range s.kinds {
		if !off[k.Org] && k.Type != model.FactorHOTP {
			out = append(out, mfa.SignInFactor{
				Type: string(k.Type), Provider: string(k.Provider), Vendor: string(k.Provider), Status: string(model.FactorNotSetUp),
			})
		}
	}
	return out, nil
}

// Enroll implements mfa.Factors.
func (s *Slice) Enroll(ctx context.Context, e mfa.Enrollment, then mfa.Then) error {
	r := &enrollRequest{owner: owner{User: e.User}, enrollQuery: defaultQuery}
	r.Body.Type, r.Body.Provider, r.Body.Profile, r.Body.Verify = e.Type, e.Provider, e.Profile, e.Proof
	if err := s.findOwner(ctx, s.Store.Reader(), &r.owner); err != nil {
		return err
	}
	_, err := s.enrollThen(ctx, r, func(a *act, shown Factor) error {
		result := model.FactorWaiting
		if a.factor.Status == model.FactorActive {
			result = model.FactorSuccess
		}
		return then(a.tx, a.outcome(result, forUser(shown.Embedded), ""))
	})
	return err
}

// forUser returns the embedded data of an enrollment without links to administrator operations.
func forUser(embedded map[string]any) map[string]any {
	waiting, ok := embedded["activation"].(*Activation)
	if !ok {
		return embedded
	}
	shown := *waiting
	shown.Links = rest.Links{}
	if qr, there := waiting.Links["qrcode"]; there {
		shown.Links["qrcode"] = qr
	}
	return map[string]any{"activation": &shown}
}

// Activate implements mfa.Factors.
func (s *Slice) Activate(ctx context.Context, at mfa.Attempt, then mfa.Then) error {
	r := &activateRequest{target: factorOf(at), Body: &at.Proof}
	if err := s.find(ctx, s.Store.Reader(), &r.target); err != nil {
		return err
	}
	return s.activateThen(ctx, r, func(a *act, shown any) error {
		if waiting, ok := shown.(*Activation); ok {
			return then(a.tx, a.outcome(waiting.Result, forUser(map[string]any{"activation": waiting}), ""))
		}
		return then(a.tx, a.outcome(model.FactorSuccess, nil, ""))
	})
}
