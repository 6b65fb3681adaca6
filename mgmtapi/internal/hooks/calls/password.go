package calls

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// ErrNoHook says that no hook of the type is active.
var ErrNoHook = errors.New("hooks: no hook of the type is active")

// The commands of hooks that decide, and what a password hook decides.
const (
	actionUpdate = "com.svc.action.update"
	verified     = "VERIFIED"
	unverified   = "UNVERIFIED"
)

// VerifyPassword asks the active hook of password imports whether a password is that of a user, who has given it to another system.
// It is not, unless the hook says so. The error is ErrNoHook, or one of a call.
func (c *Caller) VerifyPassword(ctx context.Context, user docstore.Doc[model.User], password string) (bool, error) {
	hook, err := c.ActiveHook(ctx, c.Store.Reader(), model.HookPasswordImport)
	if err != nil {
		return false, err
	}
	if hook == nil {
		return false, ErrNoHook
	}
	decided := unverified
	err = c.ask(ctx, question{
		hook: *hook, secrets: []string{password}, about: []model.LogParty{audit.User(user)},
		data: map[string]any{
			"context": map[string]any{
				"request":    requestContext(ctx, http.MethodPost),
				"credential": map[string]any{"username": user.Value.Login(), "password": password},
			},
			"action": map[string]any{"credential": unverified},
		},
		follow: func(commands []Command) error {
			for _, command := range commands {
				var value struct {
					Credential string `json:"credential"`
				}
				switch {
				case command.Type != actionUpdate:
					return refuse("%s is no command for passwords", shown(command.Type))
				case json.Unmarshal(command.Value, &value) != nil || value.Credential != verified && value.Credential != unverified:
					return refuse("a credential is %s or %s", verified, unverified)
				}
				decided = value.Credential
			}
			return nil
		},
	})
	if _, denied := errors.AsType[*HookError](err); denied {
		return false, nil
	}
	return err == nil && decided == verified, err
}

// shown is a text of an answer in a message: quoted and short.
func shown(text string) string {
	const longest = 100
	return "\"" + excerpt([]byte(text[:min(len(text), longest)]), nil) + "\""
}
