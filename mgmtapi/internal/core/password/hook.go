package password

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Hook verifies the passwords of users that another system stores.
type Hook interface {
	// VerifyPassword reports whether the password is that of the user. An error means that the hook did not respond.
	VerifyPassword(ctx context.Context, user docstore.Doc[model.User], password string) (bool, error)
}

// VerifyOrAsk reports whether a string is the password of a user, and whether the string could be verified. If the hook is nil or does not
// respond, the call does not count as a failed attempt: otherwise an outage of the hook would lock its users out.
func VerifyOrAsk(ctx context.Context, hook Hook, user docstore.Doc[model.User], text string) (right, answered bool) {
	if !user.Value.AsksHook() {
		return Verify(&user.Value, text), true
	}
	if hook == nil {
		return false, false
	}
	right, err := hook.VerifyPassword(ctx, user, text)
	return right, err == nil
}
