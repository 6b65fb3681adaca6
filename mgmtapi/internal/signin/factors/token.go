package factors

import (
	"context"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// The servers of the vendors of these devices are simulated: every code of the right length is valid, unless all its digits are zeros.

// tokenC returns the kind of factor for devices of VENDOR_C.
func tokenC() *kind {
	check := func(_ context.Context, a *act) error {
		code, err := a.passCode()
		if err == nil && !isCode(code, 6, 10) {
			err = errWrong
		}
		return err
	}
	return simulated(&kind{Provider: model.FactorProviderC, Prefix: "rsa", Org: "vendor_c_token", Verify: check}, check)
}

// tokenD returns the kind of factor for devices of VENDOR_D. The enrollment requires two codes.
func tokenD() *kind {
	check := func(_ context.Context, a *act) error {
		code, err := a.passCode()
		if err == nil && !isCode(code, 6, 6) {
			err = errWrong
		}
		return err
	}
	both := func(ctx context.Context, a *act) error {
		if err := check(ctx, a); err != nil {
			return err
		}
		next := a.proof.NextPassCode
		switch {
		case next == "":
			var causes rest.Causes
			causes.Blank("verify.nextPassCode")
			return causes.Err()
		case !isCode(next, 6, 6) || next == a.proof.PassCode:
			return errWrong
		}
		return nil
	}
	return simulated(&kind{Provider: model.FactorProviderD, Prefix: "ufv", Org: "vendor_d_token", Verify: check}, both)
}

// simulated sets the members that kinds of simulated vendors share. Its parameter enrolls is the function that checks the codes of an
// enrollment.
func simulated(k *kind, enrolls func(context.Context, *act) error) *kind {
	k.Type, k.ActiveAtEnrollment, k.Guessable, k.RequiredMember = model.FactorToken, true, true, "passCode"
	k.Enroll = func(ctx context.Context, a *act) error {
		var causes rest.Causes
		if a.profile.CredentialID == "" {
			causes.Blank("profile.credentialId")
		}
		if a.proof.PassCode == "" {
			causes.Blank("verify.passCode")
		}
		if err := causes.Err(); err != nil {
			return err
		}
		a.factor.Profile = map[string]string{"credentialId": a.profile.CredentialID}
		return enrolls(ctx, a)
	}
	return k
}

// isCode reports whether a string has least to most digits that are not all zeros.
func isCode(text string, least, most int) bool {
	if len(text) < least || len(text) > most || strings.Trim(text, "0") == "" {
		return false
	}
	return strings.Trim(text, "0123456789") == ""
}
