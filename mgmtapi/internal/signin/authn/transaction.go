package authn

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/mfa"
)

// Transaction is the response to a step of a sign-in.
type Transaction struct {
	StateToken   string     `json:"stateToken,omitempty" doc:"Token of the next step."`
	SessionToken string     `json:"sessionToken,omitempty" doc:"Token of a complete sign-in, valid for five minutes."`
	ExpiresAt    *rest.Time `json:"expiresAt,omitempty" doc:"When the token expires."`
	Status       string     `json:"status" readOnly:"true" doc:"Status of the sign-in."`
	FactorResult string     `json:"factorResult,omitempty" readOnly:"true" doc:"Result of the verification or enrollment of the factor."`
	RelayState   string     `json:"relayState,omitempty" doc:"Value that the caller sent."`
	Embedded     *Embedded  `json:"_embedded,omitempty" doc:"User who signs in, and factors."`
	Links        rest.Links `json:"_links,omitempty" doc:"Links to the next step and to the cancellation."`
}

// MoreTags implements rest.Described.
func (Transaction) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"status": `enum:"SUCCESS,PASSWORD_EXPIRED,PASSWORD_RESET,RECOVERY,LOCKED_OUT,MFA_REQUIRED,MFA_CHALLENGE,MFA_ENROLL,` +
			`MFA_ENROLL_ACTIVATE"`,
		"factorResult": `enum:"CHALLENGE,WAITING,REJECTED,CANCELLED,TIMEOUT,FAILED,ERROR"`,
	}
}

// Embedded holds the user and the factors of a sign-in.
type Embedded struct {
	User    Person             `json:"user" doc:"User who signs in, and factors."`
	Factors []mfa.SignInFactor `json:"factors,omitempty" doc:"Factors, one of which must be verified or enrolled."`
	Factor  *mfa.SignInFactor  `json:"factor,omitempty" doc:"The factor that is verified or enrolled."`
}

// Person is the user as shown before the sign-in is complete.
type Person struct {
	ID              string     `json:"id" doc:"Id of the user."`
	PasswordChanged *rest.Time `json:"passwordChanged" doc:"When the password last changed."`
	Profile         Profile    `json:"profile" doc:"Subset of the profile attributes."`
	Recovery        *Question  `json:"recovery_question,omitempty" doc:"Recovery question to answer."`
}

// Profile is the part of a profile that is shown during a sign-in.
type Profile struct {
	Login     string `json:"login" doc:"Login."`
	FirstName string `json:"firstName" doc:"First name."`
	LastName  string `json:"lastName" doc:"Last name."`
	Locale    string `json:"locale" doc:"Locale."`
	TimeZone  string `json:"timeZone" doc:"Time zone."`
}

// Question is a recovery question.
type Question struct {
	Question string `json:"question" doc:"The question."`
}

// defaultZone is the time zone of a user whose profile has none.
const defaultZone = "UTC"

// Tokens of sign-ins.
const (
	stateToken      = 42 // characters
	stateLifetime   = time.Hour
	sessionToken    = 42
	sessionLifetime = 5 * time.Minute
)

// next maps the status of a sign-in to the name and the path of the next step.
var next = map[model.SignInStatus][2]string{
	model.SignInPasswordExpired: {"changePassword", "credentials/change_password"},
	model.SignInPasswordReset:   {"resetPassword", "credentials/reset_password"},
	model.SignInRecovery:        {"answer", "recovery/answer"},
}

// store stores a sign-in under a new token, deletes the expired sign-ins of the user, and returns the token.
func (s *Slice) store(ctx context.Context, tx *docstore.Tx, in model.SignIn) (string, model.SignIn, error) {
	now := s.Now()
	err := model.Each(ctx, tx, s.SignIns, docstore.Eq(model.SignInByUser, in.UserID), func(old docstore.Doc[model.SignIn]) error {
		if now.Before(old.Value.Expires) {
			return nil
		}
		return s.SignIns.Delete(ctx, tx, old.ID)
	})
	if err != nil {
		return "", in, err
	}
	length, lifetime := stateToken, stateLifetime
	if in.Status == model.SignInSuccess {
		length, lifetime = sessionToken, sessionLifetime
	}
	token := model.NewSecret(length)
	in.Expires = now.Add(lifetime)
	_, err = s.SignIns.Insert(ctx, tx, model.SecretHash(token), in)
	return token, in, err
}

// show returns the response for a sign-in.
func show(ctx context.Context, token string, in model.SignIn, user docstore.Doc[model.User]) Transaction {
	u := user.Value
	out := Transaction{
		ExpiresAt: rest.TimePtr(in.Expires), Status: string(in.Status), RelayState: in.RelayState,
		Embedded: &Embedded{User: Person{ID: user.ID, PasswordChanged: rest.TimePtr(u.PasswordChanged), Profile: Profile{
			Login: u.Login(), FirstName: u.Text("firstName"), LastName: u.Text("lastName"),
			Locale: u.Text("locale"), TimeZone: cmp.Or(u.Text("timezone"), defaultZone),
		}}},
	}
	if in.Status == model.SignInSuccess {
		out.SessionToken = token
		return out
	}
	out.StateToken = token
	if in.Status == model.SignInRecovery && u.Recovery != nil {
		out.Embedded.User.Recovery = &Question{Question: u.Recovery.Question}
	}
	out.Links = rest.Links{"cancel": rest.To(authnURL(ctx, "cancel"), "POST")}
	if step, known := next[in.Status]; known {
		link := rest.To(authnURL(ctx, strings.Split(step[1], "/")...), "POST")
		link.Name = step[0]
		out.Links["next"] = link
	}
	return out
}

// authnURL returns the URL of a step.
func authnURL(ctx context.Context, segments ...string) string {
	return rest.URL(ctx, append([]string{"api", "v1", "authn"}, segments...)...)
}

// pending reads a sign-in and its user by the state token. If statuses are given, the sign-in must be in one of them.
func (s *Slice) pending(
	ctx context.Context, q docstore.Reader, token string, statuses ...model.SignInStatus,
) (in docstore.Doc[model.SignIn], user docstore.Doc[model.User], err error) {
	in, err = s.SignIns.Get(ctx, q, model.SecretHash(token))
	if err == nil {
		user, err = s.Users.Get(ctx, q, in.Value.UserID)
	}
	switch {
	case errors.Is(err, docstore.ErrNotFound):
		return in, user, rest.Fail(rest.CodeToken)
	case err != nil:
		return in, user, err
	case !s.Now().Before(in.Value.Expires) || in.Value.Status == model.SignInSuccess:
		return in, user, rest.Fail(rest.CodeToken)
	case len(statuses) > 0 && !slices.Contains(statuses, in.Value.Status):
		return in, user, rest.Fail(rest.CodeStateToken)
	}
	return in, user, nil
}
