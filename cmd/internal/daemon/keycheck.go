package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/counted"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// keyText is the text that each key encrypts for its row in daemon_key.
const keyText = "scimwright serve engine"

func keyBinding(id string) string { return "daemon_key/" + id }

// errOtherKey is returned if a key is missing that may have encrypted secrets in the database.
var errOtherKey = errors.New("the keys are not those that encrypted the secrets in this database: start with the previous key, or with " +
	"both keys until \"scimwright engine reseal\" has completed. If the key is lost, start once with --accept-lost-key, and write the " +
	"secrets again")

// checkKeys returns errOtherKey unless the keys decrypt the text of each key that may have encrypted secrets, or all secrets. It stores the
// text of the first key, and removes those that no key decrypts. If lost is set, it does this without a check of the secrets. A database of
// an earlier version has no texts.
func (d *Daemon) checkKeys(ctx context.Context, seal desired.Seal, lost bool) error {
	rows, err := d.db.keys(ctx)
	if err != nil {
		return err
	}
	current, others := false, []string{}
	ring, _ := seal.(interface {
		Current(sealed, binding string) bool
	})
	for id, sealed := range rows {
		if _, err := seal.Open(sealed, keyBinding(id)); err != nil {
			others = append(others, id)
		}
		current = current || ring != nil && ring.Current(sealed, keyBinding(id))
	}
	if len(others) == 0 && current {
		return nil
	}
	if !lost && (len(rows) == 0 || len(others) > 0) {
		if page, _, _, err := unreadablePage(ctx, d.store, d.hooks, "", desired.Unreadable{}, 1); err != nil {
			return err
		} else if len(page) > 0 {
			return errOtherKey
		}
	}
	id := rand.Text()
	sealed, err := seal.Seal(keyText, keyBinding(id))
	if err != nil {
		return err
	}
	return d.db.update(ctx, func(tx *sqldb.Tx) error {
		for _, other := range others {
			if _, err := tx.Exec(ctx, `DELETE FROM {daemon_key} WHERE id = ?`, other); err != nil {
				return err
			}
		}
		if current {
			return nil
		}
		_, err := tx.Exec(ctx, `INSERT INTO {daemon_key} (id, sealed, created) VALUES (?, ?, ?)`, id, sealed, millis(time.Now()))
		return err
	})
}

// keys returns keyText as each key has encrypted it, by the id of the row.
func (d *database) keys(ctx context.Context) (map[string]string, error) {
	rows, err := d.reader().Query(ctx, `SELECT id, sealed FROM {daemon_key}`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var id, sealed string
		if err := rows.Scan(&id, &sealed); err != nil {
			return nil, err
		}
		all[id] = sealed
	}
	return all, rows.Err()
}

// retireKeys removes the texts of all keys but the first one, after all secrets were encrypted with it.
func (d *database) retireKeys(ctx context.Context, seal desired.Seal) error {
	ring, ok := seal.(interface {
		Current(sealed, binding string) bool
	})
	rows, err := d.keys(ctx)
	if err != nil || !ok {
		return err
	}
	return d.update(ctx, func(tx *sqldb.Tx) error {
		for id, sealed := range rows {
			if ring.Current(sealed, keyBinding(id)) {
				continue
			}
			if _, err := tx.Exec(ctx, `DELETE FROM {daemon_key} WHERE id = ?`, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxUnreadable is the maximum number of unreadable secrets that the daemon counts.
const maxUnreadable = 100_000

// unreadable returns the numbers of the apps and the webhooks whose secrets no key decrypts.
func (d *Daemon) unreadable(ctx context.Context) (apps, hooks int, err error) {
	lost, err := d.store.Unreadable(ctx, desired.UnreadableQuery{Apps: true, Limit: maxUnreadable})
	if err != nil {
		return 0, 0, err
	}
	ids, err := d.hooks.Unreadable(ctx, "")
	return len(lost), len(ids), err
}

// unreadableText returns the numbers of unreadable secrets for the operator, "" if there are none.
func (d *Daemon) unreadableText(ctx context.Context) (text string, err error) {
	apps, hooks, err := d.unreadable(ctx)
	if err != nil || apps+hooks == 0 {
		return "", err
	}
	return fmt.Sprintf("no key decrypts the credentials of %s and the secrets of %s: GET /engine/v1/unreadable lists them",
		counted.Of(apps, "app"), counted.Of(hooks, "webhook")), nil
}

// Unreadable is a secret that no key decrypts.
type Unreadable struct {
	Kind string `json:"kind" readOnly:"true" enum:"app,user,webhook" doc:"app: credentials of the target; user: password; webhook: secrets"`
	App  string `json:"app" readOnly:"true" doc:"id of the app; empty for a webhook"`
	ID   string `json:"id" readOnly:"true" doc:"id of the app, the user or the webhook"`
}

// unreadablePage returns a page of the unreadable secrets of a tenant: those of apps, of users, and then, on the last page, of webhooks.
func unreadablePage(
	ctx context.Context, store *desired.Store, hooks *webhooks.Service, prefix string, after desired.Unreadable, limit int,
) (out []Unreadable, last desired.Unreadable, more bool, err error) {
	found, err := store.Unreadable(ctx, desired.UnreadableQuery{Prefix: prefix, After: after, Limit: limit})
	if err != nil {
		return nil, last, false, err
	}
	for _, u := range found {
		item := Unreadable{Kind: "user", App: withoutTenant(u.App), ID: u.User}
		if u.User == "" {
			item.Kind, item.ID = "app", item.App
		}
		out, last = append(out, item), u
	}
	if len(found) == limit {
		return out, last, true, nil
	}
	ids, err := hooks.Unreadable(ctx, prefix)
	for _, id := range ids {
		out = append(out, Unreadable{Kind: "webhook", ID: id})
	}
	return out, last, false, err
}
