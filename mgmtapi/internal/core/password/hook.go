package password

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Hook knows the passwords of users that are kept by another system.
type Hook interface {
	// VerifyPassword says whether the password is that of the user. An error says that nobody has answered.
	VerifyPassword(ctx context.Context, user docstore.Doc[model.User], password string) (bool, error)
}

// VerifyOrAsk says whether a text is the password of a user, and whether anybody could tell: a hook that is nil or does not answer is no
// attempt, or its outage would lock its users out.
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
