package factors

import (
	"context"
	"encoding/base32"
	"encoding/hex"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

// customName is the name of the only custom profile for one-time passcodes. It is built in.
const customName = "Custom OTP"

// The length limits of a secret in requests, in bytes.
const (
	minSecret = 8
	maxSecret = 128
)

// hotp returns the kind of factor for devices with a custom profile of the organization. The built-in profile uses time-based passcodes.
func hotp() *kind {
	return &kind{
		Type: model.FactorHOTP, Provider: model.FactorProviderCustom, Prefix: "chf", Org: "custom_hotp",
		ActiveAtEnrollment: true, Guessable: true, RequiredMember: "passCode",
		Enroll: enrollCustom, Verify: compareDevice,
	}
}

func enrollCustom(_ context.Context, a *act) error {
	var causes rest.Causes
	switch a.ofCustom {
	case "":
		causes.Blank("factorProfileId")
	case model.CustomOTPProfile():
	default:
		causes.Add("factorProfileId", "Unknown profile %s", a.ofCustom)
	}
	if !a.query.Activate {
		causes.Add("activate", "The value must be true for factors of the type %s", a.kind.Type)
	}
	secret, ok := readSecret(a.profile.SharedSecret)
	switch {
	case a.profile.SharedSecret == "":
		causes.Blank("profile.sharedSecret")
	case !ok:
		causes.Add("profile.sharedSecret", "The value must be %d to %d bytes in hexadecimal or Base32", minSecret, maxSecret)
	}
	if err := causes.Err(); err != nil {
		return err
	}
	a.factor.Vendor = customName
	return a.seal(deviceState{Secret: secret})
}

// readSecret reads a secret in hexadecimal or Base32, case-insensitive. Hexadecimal takes precedence.
func readSecret(text string) (otp.Secret, bool) {
	key, err := hex.DecodeString(text)
	if err != nil {
		key, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(strings.TrimRight(text, "=")))
	}
	return otp.SecretOf(key), err == nil && len(key) >= minSecret && len(key) <= maxSecret
}
