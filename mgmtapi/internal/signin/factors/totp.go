package factors

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

// issuer is the name of the service that authenticator apps and browsers show.
const issuer = "scimwright"

// A passcode is valid in its step and in the adjacent steps. A passcode up to aroundTime steps away is reported as a passcode for another
// time.
const (
	aroundGood = 1
	aroundTime = 10
)

// deviceState is the encrypted state of a TOTP device.
type deviceState struct {
	Secret otp.Secret `json:"secret"`
	// Last is the step of the last accepted passcode. Passcodes of this and earlier steps are rejected.
	Last int64 `json:"last,omitempty"`
	// QR is the token of the QR code until the enrollment is complete.
	QR string `json:"qr,omitempty"`
}

// TOTPActivation is the configuration of a device that generates passcodes. The secret and the link to its QR code are shown once, in the
// response to the enrollment.
type TOTPActivation struct {
	Step      int        `json:"timeStep"`
	Secret    otp.Secret `json:"sharedSecret,omitempty"`
	Encoding  string     `json:"encoding"`
	KeyLength int        `json:"keyLength"`
	Links     rest.Links `json:"_links,omitempty"`
}

// totp returns the kind of factor for authenticator apps with time-based passcodes (RFC 6238). provider is one of two providers.
func totp(provider model.FactorProvider, org string) *kind {
	return &kind{
		Type: model.FactorTOTP, Provider: provider, Prefix: "ost", Org: org,
		Guessable: true, RequiredMember: "passCode",
		Enroll: enrollDevice, Pending: showSecret, QR: deviceURI, Activate: activatedBy(compareDevice), Verify: compareDevice,
	}
}

func enrollDevice(_ context.Context, a *act) error {
	a.factor.Profile = map[string]string{"credentialId": a.user.Value.Login()}
	return a.seal(deviceState{Secret: otp.NewSecret(), QR: a.newQR()})
}

// device is the configuration with which authenticator apps compute passcodes. It has the default values, which all apps use.
var device = otp.Device{}.WithDefaults()

func showSecret(ctx context.Context, a *act) (any, error) {
	out := TOTPActivation{Step: int(device.Step / time.Second), Encoding: "base32", KeyLength: device.Digits}
	if !a.fresh {
		return out, nil
	}
	var state deviceState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	out.Secret, out.Links = state.Secret, rest.Links{"qrcode": a.qrLink(ctx, state.QR)}
	return out, nil
}

func deviceURI(_ context.Context, a *act) (string, error) {
	var state deviceState
	err := a.open(&state)
	return device.URI(issuer, a.factor.Profile["credentialId"], state.Secret), err
}

// compareDevice accepts a current passcode, once.
func compareDevice(_ context.Context, a *act) error {
	code, err := a.passCode()
	if err != nil {
		return err
	}
	var state deviceState
	if err := a.open(&state); err != nil {
		return err
	}
	step, found, err := device.Find(state.Secret, code, a.now, aroundGood)
	switch {
	case err != nil:
		return err
	case !found:
		return lateOrWrong(state.Secret, code, a.now)
	case step <= state.Last:
		return errReplayed
	}
	state.Last, state.QR = step, ""
	return a.seal(state)
}

// lateOrWrong returns errOutside for a passcode that is valid at most aroundTime steps away, otherwise errWrong.
func lateOrWrong(secret otp.Secret, code string, now time.Time) error {
	_, near, err := device.Find(secret, code, now, aroundTime)
	switch {
	case err != nil:
		return err
	case near:
		return errOutside
	}
	return errWrong
}
