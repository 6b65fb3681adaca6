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

// mail sends an email to a user, or nothing if the user has no address.
func (s *Slice) mail(ctx context.Context, tx *docstore.Tx, to docstore.Doc[model.User], m outbox.Message) error {
	m.Channel, m.To, m.UserID = outbox.Email, to.Value.Text("email"), to.ID
	if m.To == "" {
		return nil
	}
	return s.outbox.Send(ctx, tx, m)
}

// mailActivation notifies a user of the activation: with the token if the user still has to choose a password.
func (s *Slice) mailActivation(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User], out Activation) error {
	if user.Value.Status != model.UserProvisioned {
		return s.mail(ctx, tx, user, outbox.Message{
			Template: welcomeMessage, Subject: "Your account is active", Text: fmt.Sprintf("You can sign in as %s.", user.Value.Login()),
		})
	}
	return s.mail(ctx, tx, user, outbox.Message{
		Template: activationMessage, Subject: "Activate your account", Token: out.Token, Link: out.URL,
		Text: fmt.Sprintf("An account was created for you as %s. Choose a password at %s within seven days.", user.Value.Login(), out.URL),
	})
}

// mailReset sends the URL at which the user chooses a new password. The last path segment is the token.
func (s *Slice) mailReset(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User], template, url, token string) error {
	return s.mail(ctx, tx, user, outbox.Message{
		Template: template, Subject: "Choose a new password", Token: token, Link: url,
		Text: fmt.Sprintf("Choose a new password for %s at %s.", user.Value.Login(), url),
	})
}

// mailDeactivated sends a message to the administrator who has deactivated a user. by is the id of the administrator.
func (s *Slice) mailDeactivated(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User], by string) error {
	administrator, err := model.Optional(ctx, tx, s.Users, by)
	if err != nil || administrator == nil { // if the administrator was deleted, no message is sent
		return err
	}
	return s.mail(ctx, tx, *administrator, outbox.Message{
		Template: deactivatedMessage, Subject: "A user was deactivated", Text: fmt.Sprintf("The user %s was deactivated.", user.Value.Login()),
	})
}
