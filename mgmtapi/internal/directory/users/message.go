package users

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// The templates of messages.
const (
	activationMessage  = "user.activation"
	welcomeMessage     = "user.welcome"
	resetMessage       = "user.reset_password"
	forgotMessage      = "user.forgot_password"
	deactivatedMessage = "user.deactivated"
)

// mail is a message to a user; nothing is sent to somebody without an address.
func (s *Slice) mail(ctx context.Context, tx *docstore.Tx, to docstore.Doc[model.User], m outbox.Message) error {
	m.Channel, m.To, m.UserID = outbox.Email, to.Value.Text("email"), to.ID
	if m.To == "" {
		return nil
	}
	return s.outbox.Send(ctx, tx, m)
}

// mailActivation tells somebody of the activation: with the token, when that is yet to be used.
func (s *Slice) mailActivation(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User], out Activation) error {
	if user.Value.Status != model.UserProvisioned {
		return s.mail(ctx, tx, user, outbox.Message{
			Template: welcomeMessage, Subject: "Your account is active", Text: fmt.Sprintf("You can sign in as %s.", user.Value.Login()),
		})
	}
	return s.mail(ctx, tx, user, outbox.Message{
		Template: activationMessage, Subject: "Activate your account", Token: out.Token, Link: out.URL,
		Text: fmt.Sprintf("An account was made for you as %s. Choose a password at %s within seven days.", user.Value.Login(), out.URL),
	})
}

// mailReset sends the address where a new password is chosen. Its last segment is the token.
func (s *Slice) mailReset(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User], template, url, token string) error {
	return s.mail(ctx, tx, user, outbox.Message{
		Template: template, Subject: "Choose a new password", Token: token, Link: url,
		Text: fmt.Sprintf("Choose a new password for %s at %s.", user.Value.Login(), url),
	})
}

// mailDeactivated tells the administrator with the id, who has deactivated somebody.
func (s *Slice) mailDeactivated(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User], by string) error {
	administrator, err := model.Optional(ctx, tx, s.Users, by)
	if err != nil || administrator == nil { // gone meanwhile
		return err
	}
	return s.mail(ctx, tx, *administrator, outbox.Message{
		Template: deactivatedMessage, Subject: "A user was deactivated", Text: fmt.Sprintf("The user %s was deactivated.", user.Value.Login()),
	})
}
