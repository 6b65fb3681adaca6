package factors

import (
	"context"
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// pushRoutes lists the operations that send the activation link of a push factor to the user, in addition to the QR code.
func (s *Slice) pushRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[target, Activation]{
			ID: "sendPushActivationEmail", Route: "POST " + one + "/lifecycle/activate/email", Tag: tag, Scopes: writeScope,
			Summary: "Sends the link that completes the enrollment of a push factor by email", Find: lookup.In(s.Store, s.find, (*target).self),
			Do: s.sendPushEmail,
		},
		rest.Op[pushSMSRequest, Activation]{
			ID: "sendPushActivationSms", Route: "POST " + one + "/lifecycle/activate/sms", Tag: tag, Scopes: writeScope,
			Summary: "Sends the link that completes the enrollment of a push factor by text message",
			Find:    lookup.In(s.Store, s.find, (*pushSMSRequest).self), Do: s.sendPushSMS,
		},
	}
}

// pushMessage describes how sendPush sends the activation link: by email or by text message.
type pushMessage struct {
	channel outbox.Channel
	limit   limit
	event   audit.Type
	to      func(ctx context.Context, a *act) (string, error)
}

func (s *Slice) sendPushEmail(ctx context.Context, t *target) (Activation, error) {
	return s.sendPush(ctx, t,
		pushMessage{channel: outbox.Email, limit: emailsToOne, event: audit.FactorEmail, to: func(_ context.Context, a *act) (string, error) {
			return a.user.Value.Text("email"), nil
		}})
}

type pushSMSRequest struct {
	target
	Body *struct {
		Profile struct {
			PhoneNumber string `json:"phoneNumber" max:"100" doc:"Phone number. Default: the number of an SMS or call factor, else mobilePhone."`
		} `json:"profile" doc:"Destination of the message."`
	} `body:"optional"`
}

func (s *Slice) sendPushSMS(ctx context.Context, r *pushSMSRequest) (Activation, error) {
	return s.sendPush(ctx, &r.target,
		pushMessage{channel: outbox.SMS, limit: textsToOne, event: audit.FactorSMS, to: func(ctx context.Context, a *act) (string, error) {
			if r.Body != nil {
				a.profile.PhoneNumber = r.Body.Profile.PhoneNumber
			}
			if err := a.loadFactors(ctx); err != nil {
				return "", err
			}
			number, err := a.phone()
			if own := a.user.Value.Text("mobilePhone"); err != nil && a.profile.PhoneNumber == "" && own != "" {
				return parsePhone(own)
			}
			return number, err
		}})
}

// sendPush sends the activation link of a pending enrollment to the user. If the link has expired, sendPush sends no message and returns
// the state TIMEOUT.
func (s *Slice) sendPush(ctx context.Context, t *target, how pushMessage) (out Activation, err error) {
	a := s.actOn(t)
	if a.kind.Type != model.FactorPush {
		return out, rest.Invalid("factorType", "The enrollment of a factor of the type %s cannot be completed by a link", a.factor.Type)
	}
	err = a.change(ctx, func(tx *docstore.Tx) error {
		if err := a.reload(ctx, tx, t); err != nil {
			return err
		}
		if err := a.mayActivate(ctx); err != nil {
			return err
		}
		var state pushState
		if err := a.open(&state); err != nil {
			return err
		}
		out = *a.waiting(ctx, &state)
		if out.Result != model.FactorWaiting {
			return nil
		}
		to, err := how.to(ctx, a)
		if err != nil {
			return err
		}
		return a.sendLink(ctx, how, to, &state)
	})
	return out, err
}

func (a *act) sendLink(ctx context.Context, how pushMessage, to string, state *pushState) error {
	if err := a.countEvent(ctx, how.limit, strings.ToLower(to)); err != nil {
		return err
	}
	link := a.pushLink(ctx, state)
	m := message{expires: state.Expires, event: how.event, Message: outbox.Message{
		Channel: how.channel, To: to, UserID: a.user.ID, Template: "factor.push", Link: link,
		Text: fmt.Sprintf("Open this link on your phone to set up the phone for verification: %s", link),
	}}
	if how.channel == outbox.Email {
		m.Subject = "Set up your phone"
	}
	return a.deliver(ctx, m)
}
