package password

import (
	"time"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Set sets the hash of the user's password and invalidates the tokens for choosing a password. It stores as many previous passwords as the
// policy compares.
func Set(p *model.PasswordSettings, u *model.User, hash string, now time.Time) {
	if u.PasswordHash != "" {
		past := append([]string{u.PasswordHash}, u.PasswordHistory...)
		u.PasswordHistory = past[:min(len(past), max(p.History-1, 0))]
	}
	TakeOver(u, hash)
	u.NewPassword(now)
}

// TakeOver stores a hash of this service for the user's password and removes an imported hash.
func TakeOver(u *model.User, hash string) {
	u.PasswordHash, u.Imported = hash, nil
	if u.Provider == model.ProviderImport {
		u.Provider = model.ProviderService
	}
}

// Import sets the password of the user to a hash from another system.
func Import(u *model.User, imported *model.ImportedHash, now time.Time) {
	u.PasswordHash, u.Imported, u.Provider = "", imported, model.ProviderImport
	u.NewPassword(now)
}
