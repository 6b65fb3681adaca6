package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// PhoneMessage is a message to a phone that a hook may deliver.
type PhoneMessage struct {
	// Number is the phone number in E.164 format, and Extension the digits dialed after the connection, for calls.
	Number, Extension string
	// Voice means that a call delivers the message. Other messages are text messages.
	Voice bool
	// Text is the whole message. Code is the one-time passcode in it, and Link the URL in it, each empty if absent.
	Text, Code, Link string
	// Language is the tag of the language of Text. Default: en.
	Language string
	// Expires is the time at which the code or the link expires.
	Expires time.Time
}

// telephonyAction is the command with the delivery status of a message.
const telephonyAction = "com.svc.telephony.action"

// The delivery statuses.
const (
	deliverySuccessful = "SUCCESSFUL"
	deliveryPending    = "PENDING"
	deliveryFailed     = "FAILED"
)

// locale is the default language of messages.
const locale = "en"

// DeliverMessage calls the active telephony hook to deliver a message to a phone of a user. It reports whether the hook has delivered the
// message or will deliver it. If it reports false, for example without an active hook, the caller must deliver the message. Errors of the
// hook are only logged; a returned error is an internal error.
func (c *Caller) DeliverMessage(ctx context.Context, user docstore.Doc[model.User], m PhoneMessage) (bool, error) {
	hook, err := c.ActiveHook(ctx, c.Store.Reader(), model.HookTelephony)
	if err != nil || hook == nil {
		return false, err
	}
	delivered := false
	asked := c.callHook(ctx, hookCall{
		hook: *hook, secrets: []string{m.Text, m.Link, m.Code}, about: []model.LogParty{audit.User(user)}, data: messageData(ctx, user, m),
		apply: func(commands []Command) (err error) {
			delivered, err = deliveredBy(commands)
			return err
		},
	})
	return asked == nil && delivered, nil
}

func messageData(ctx context.Context, user docstore.Doc[model.User], m PhoneMessage) map[string]any {
	message := map[string]any{
		"msgTemplate": m.Text, "phoneNumber": m.Number, "otpExpires": rest.TimeOf(m.Expires), "deliveryChannel": "SMS",
		"locale": cmp.Or(m.Language, locale),
	}
	if m.Voice {
		message["deliveryChannel"] = "VOICE"
	}
	if m.Code != "" {
		message["otpCode"] = m.Code
	}
	if m.Extension != "" {
		message["phoneExtension"] = m.Extension
	}
	return map[string]any{
		"context": map[string]any{"request": requestContext(ctx, http.MethodPost)},
		"userProfile": map[string]any{
			"firstName": user.Value.Text("firstName"), "lastName": user.Value.Text("lastName"), "login": user.Value.Login(), "userId": user.ID,
		},
		"messageProfile": message,
	}
}

// deliveredBy reports whether one of the providers in the response has accepted the message.
func deliveredBy(commands []Command) (bool, error) {
	delivered := false
	for _, command := range commands {
		if command.Type != telephonyAction {
			return false, refuse("%s is not a command for telephony", quoted(command.Type))
		}
		var tried []struct {
			Status string `json:"status"`
		}
		if json.Unmarshal(command.Value, &tried) != nil || len(tried) == 0 {
			return false, refuse("the value of %s must be a list of provider results", telephonyAction)
		}
		for _, provider := range tried {
			switch provider.Status {
			case deliverySuccessful, deliveryPending:
				delivered = true
			case deliveryFailed:
			default:
				return false, refuse("a status must be %s, %s or %s", deliverySuccessful, deliveryPending, deliveryFailed)
			}
		}
	}
	return delivered, nil
}
