package password

import (
	"time"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Set gives the user a password by its hash, and voids what was handed out to choose one with. Of former passwords it keeps as many
// as the policy compares.
func Set(p *model.PasswordSettings, u *model.User, hash string, now time.Time) {
	if u.PasswordHash != "" {
		past := append([]string{u.PasswordHash}, u.PasswordHistory...)
		u.PasswordHistory = past[:min(len(past), max(p.History-1, 0))]
	}
	TakeOver(u, hash)
	u.NewPassword(now)
}

// TakeOver stores our own hash of the password that the user has.
func TakeOver(u *model.User, hash string) {
	u.PasswordHash, u.Imported = hash, nil
	if u.Provider == model.ProviderImport {
		u.Provider = model.ProviderService
	}
}

// Import gives the user a password that another system has hashed.
func Import(u *model.User, imported *model.ImportedHash, now time.Time) {
	u.PasswordHash, u.Imported, u.Provider = "", imported, model.ProviderImport
	u.NewPassword(now)
}
