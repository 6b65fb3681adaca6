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

// ErrNoHook is the error if no hook of the type is active.
var ErrNoHook = errors.New("hooks: no hook of the type is active")

// The commands of hooks that decide, and the decisions of a password hook.
const (
	actionUpdate = "com.svc.action.update"
	verified     = "VERIFIED"
	unverified   = "UNVERIFIED"
)

// VerifyPassword calls the active password import hook to verify the password of a user in another system. It returns true only if the hook
// confirms the password. The error is ErrNoHook, or the error of a call.
func (c *Caller) VerifyPassword(ctx context.Context, user docstore.Doc[model.User], password string) (bool, error) {
	hook, err := c.ActiveHook(ctx, c.Store.Reader(), model.HookPasswordImport)
	if err != nil {
		return false, err
	}
	if hook == nil {
		return false, ErrNoHook
	}
	decided := unverified
	err = c.callHook(ctx, hookCall{
		hook: *hook, secrets: []string{password}, about: []model.LogParty{audit.User(user)},
		data: map[string]any{
			"context": map[string]any{
				"request":    requestContext(ctx, http.MethodPost),
				"credential": map[string]any{"username": user.Value.Login(), "password": password},
			},
			"action": map[string]any{"credential": unverified},
		},
		apply: func(commands []Command) error {
			for _, command := range commands {
				var value struct {
					Credential string `json:"credential"`
				}
				switch {
				case command.Type != actionUpdate:
					return refuse("%s is not a command for passwords", quoted(command.Type))
				case json.Unmarshal(command.Value, &value) != nil || value.Credential != verified && value.Credential != unverified:
					return refuse("a credential must be %s or %s", verified, unverified)
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

// quoted returns a text of a response for a message: quoted and shortened.
func quoted(text string) string {
	const longest = 100
	return "\"" + excerpt([]byte(text[:min(len(text), longest)]), nil) + "\""
}
