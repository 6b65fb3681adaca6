package factors

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

// codeLife is the default validity of a code.
const codeLife = 5 * time.Minute

// codeState is the encrypted state of factors that send codes: the hash of the last code, empty if no code is pending.
type codeState struct {
	Hash    string    `json:"hash,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// Life is the validity of the last code. A resent code has the same validity.
	Life time.Duration `json:"life,omitempty"`
}

// sending configures how a kind sends its codes.
type sending struct {
	channel outbox.Channel
	to      string // name of the profile member with the address or phone number
	digits  int
	life    time.Duration // validity of the code; 0 means that of the previous code
	limit   limit
	event   audit.Type
}

// send sends a new code, which invalidates the previous one.
func (a *act) send(ctx context.Context, how sending) error {
	to := a.factor.Profile[how.to]
	if err := a.countEvent(ctx, how.limit, strings.ToLower(to)); err != nil {
		return err
	}
	var before codeState
	if err := a.open(&before); err != nil {
		return err
	}
	life := cmp.Or(how.life, before.Life, codeLife)
	code, expires := otp.Random(how.digits), a.now.Add(life)
	if err := a.seal(codeState{Hash: a.hashCode(code), Expires: expires, Life: life}); err != nil {
		return err
	}
	m := message{extension: a.factor.Profile["phoneExtension"], expires: expires, event: how.event, Message: outbox.Message{
		Channel: how.channel, To: to, UserID: a.user.ID, Template: "factor." + string(how.channel), OTP: code,
		Text: fmt.Sprintf("Your verification code is %s. It is valid for %s.", code, formatDuration(life)),
	}}
	if how.channel == outbox.SMS {
		if err := a.useTemplate(ctx, &m); err != nil {
			return err
		}
	}
	if how.channel == outbox.Email {
		m.Subject = "Your verification code"
	}
	if m.extension != "" {
		m.Text += " The code is for the extension " + m.extension + "."
	}
	return a.deliver(ctx, m)
}

// useTemplate sets the text of the message from the template of the request, in a language of the user. An unknown template id selects the
// built-in text.
func (a *act) useTemplate(ctx context.Context, m *message) error {
	if a.query.TemplateID == "" {
		return nil
	}
	doc, err := model.Optional(ctx, a.tx, a.SMSTemplates, a.query.TemplateID)
	if err != nil || doc == nil {
		return err
	}
	m.Template = doc.ID
	m.Text, m.language = doc.Value.For(&a.user.Value)
	m.Text = strings.NewReplacer(model.SMSMacroCode, m.OTP, model.SMSMacroOrg, issuer).Replace(m.Text)
	return nil
}

// checkTemplate rejects a template for a factor of a type other than sms.
func (a *act) checkTemplate() error {
	if a.query.TemplateID != "" && a.kind.Type != model.FactorSMS {
		return rest.Invalid("templateId", "Only factors of the type %s have templates", model.FactorSMS)
	}
	return nil
}

// hashCode returns the hash of a code, which is stored instead of the code.
func (a *act) hashCode(code string) string { return model.SecretHash(a.id + ":" + code) }

// compareCode compares the passcode with the code that was sent. A code can be used once.
func compareCode(_ context.Context, a *act) error {
	code, err := a.passCode()
	if err != nil {
		return err
	}
	var state codeState
	if err := a.open(&state); err != nil {
		return err
	}
	switch {
	case state.Hash == "" || !a.now.Before(state.Expires):
		return errExpired
	case subtle.ConstantTimeCompare([]byte(state.Hash), []byte(a.hashCode(code))) != 1:
		return errWrong
	}
	return a.seal(codeState{})
}

// passCode returns the passcode of the proof, or an error if it is blank.
func (a *act) passCode() (string, error) {
	if a.proof.PassCode == "" {
		var causes rest.Causes
		causes.Blank("passCode")
		return "", causes.Err()
	}
	return a.proof.PassCode, nil
}

// activatedBy returns an Activate function that completes an enrollment if check accepts the proof.
func activatedBy(check func(context.Context, *act) error) func(context.Context, *act) (*Activation, error) {
	return func(ctx context.Context, a *act) (*Activation, error) { return nil, check(ctx, a) }
}

// sendAgain starts a verification by sending a new code.
func sendAgain(ctx context.Context, a *act) (*Verification, error) {
	if err := a.kind.Send(ctx, a); err != nil {
		return nil, err
	}
	return a.challenged(ctx), nil
}

// messaging sets the members of kind that are the same for all factors that send codes.
func messaging(k *kind) *kind {
	k.MaySkipActivation, k.Guessable, k.RequiredMember = true, true, "passCode"
	k.Activate, k.Challenge, k.Verify = activatedBy(compareCode), sendAgain, compareCode
	return k
}
