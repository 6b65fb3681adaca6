package directory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// UserIntent returns the intent for a user, which the store records before the first request.
func UserIntent(id string, u engine.UserState) store.Intent {
	i := store.Intent{Kind: engine.User, ID: id, Want: u.Want, Name: u.UserName}
	if u.Want == engine.Active {
		i.Manager = u.Manager
	}
	return i
}

// GroupIntent returns the intent for a group, which the store records before the first request.
func GroupIntent(id string, g engine.GroupState) store.Intent {
	return store.Intent{Kind: engine.Group, ID: id, Want: g.Want, Name: g.DisplayName}
}

// Intent queries the directory for the desired state of a principal.
func Intent(ctx context.Context, d engine.Directory, app string, p engine.Principal) (store.Intent, error) {
	if p.Kind == engine.User {
		u, err := d.User(ctx, app, p.ID)
		return UserIntent(p.ID, u), err
	}
	g, err := d.Group(ctx, app, p.ID)
	return GroupIntent(p.ID, g), err
}

// HasChanges reports whether an intent has changes for Store.Begin to record.
func HasChanges(s engine.State, i store.Intent) bool {
	return s.Want != i.Want || i.Want == engine.Active && !s.MayExist || i.Manager != "" && i.Manager != s.Manager
}

// Unavailable returns the error for a principal whose desired state is unavailable.
func Unavailable(p engine.Principal, err error) error {
	return fmt.Errorf("the desired state of the %s %s is unavailable: %w", p.Kind, p.ID, err)
}

// Digest identifies the desired state of a principal without revealing it. The digest does not cover the password.
func Digest(ctx context.Context, d engine.Directory, app string, p engine.Principal) (string, error) {
	sum := sha256.New()
	if p.Kind == engine.User {
		u, err := d.User(ctx, app, p.ID)
		if err != nil {
			return "", err
		}
		u.Password = ""
		if err := json.NewEncoder(sum).Encode(u); err != nil {
			return "", err
		}
		return hex.EncodeToString(sum.Sum(nil)), nil
	}
	g, err := d.Group(ctx, app, p.ID)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(sum).Encode(g); err != nil {
		return "", err
	}
	if g.Want == engine.Active {
		for page, err := range Members(ctx, d, app, p.ID) {
			if err != nil {
				return "", err
			}
			for _, m := range page {
				_, _ = io.WriteString(sum, m+"\x00") // a hash returns no error
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
