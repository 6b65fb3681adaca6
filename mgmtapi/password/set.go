package password

import (
	"time"

	"github.com/scimwright/scimwright/mgmtapi/model"
)

// Set gives the user a password by its hash, and voids what was handed out to choose one with.
func Set(u *model.User, hash string, now time.Time) {
	if u.PasswordHash != "" {
		past := append([]string{u.PasswordHash}, u.PasswordHistory...)
		u.PasswordHistory = past[:min(len(past), History-1)]
	}
	u.PasswordHash, u.PasswordChanged, u.Activation, u.Reset = hash, now, nil, nil
	u.FailedAttempts = 0
}
