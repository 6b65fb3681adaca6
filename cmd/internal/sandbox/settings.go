package sandbox

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
)

// settings are the data that a sandbox stores between runs, in addition to the organization.
type settings struct {
	// Seeded reports whether an earlier run has completed its start, with or without a seed.
	Seeded bool        `json:"seeded"`
	Apps   []seededApp `json:"apps,omitempty"`
	// BaseURL is the address of the last run, which the connections of the seeded apps contain.
	BaseURL string `json:"baseUrl,omitempty"`
	// The encrypted tokens. A later run without configured tokens uses them.
	APIToken  string `json:"apiToken"`
	SCIMToken string `json:"scimToken"`
	// The encrypted key of the cursors of the SCIM servers.
	CursorKey string `json:"cursorKey,omitempty"`
}

// settingsID is the id of the only document.
const settingsID = "sandbox"

func settingsCollection() docstore.Collection[settings] {
	return docstore.NewCollection[settings]("sandbox_settings")
}

type tokens struct{ api, scim, cursors string }

// loadSettings reads the settings, or creates those of a first run, in one transaction. It returns the tokens to use: the given tokens,
// otherwise those of the last run, otherwise random ones.
func loadSettings(ctx context.Context, store *docstore.Store, c docstore.Collection[settings], secrets seal.Secrets,
	given tokens) (s settings, t tokens, err error) {
	err = store.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := c.Get(ctx, tx, settingsID)
		if err != nil && !errors.Is(err, docstore.ErrNotFound) {
			return err
		}
		s, t = doc.Value, given
		if t.api, s.APIToken, err = chooseToken(secrets, "api", given.api, s.APIToken); err != nil {
			return err
		}
		if t.scim, s.SCIMToken, err = chooseToken(secrets, "scim", given.scim, s.SCIMToken); err != nil {
			return err
		}
		if t.cursors, s.CursorKey, err = chooseToken(secrets, "cursors", "", s.CursorKey); err != nil {
			return err
		}
		return s.store(ctx, tx, c)
	})
	return s, t, err
}

// storedSettings reads the settings, which another replica may have changed.
func storedSettings(ctx context.Context, store *docstore.Store, c docstore.Collection[settings]) (settings, error) {
	doc, err := c.Get(ctx, store.Reader(), settingsID)
	return doc.Value, err
}

// chooseToken returns the token to use and its encrypted form, which is new if the token differs from the stored one.
func chooseToken(secrets seal.Secrets, name, given, kept string) (token, sealed string, err error) {
	binding := "sandbox-token:" + name
	if kept != "" {
		if token, err = secrets.Open(kept, binding); err != nil {
			return "", "", errors.New("the secret key does not match this database: its secrets cannot be decrypted")
		}
		if given == "" || given == token {
			return token, kept, nil
		}
	}
	if token = given; token == "" {
		token = newToken()
	}
	sealed, err = secrets.Seal(token, binding)
	return token, sealed, err
}

// newToken returns a token in the format of the API: 00 and 40 URL-safe characters.
func newToken() string { return "00" + (rand.Text() + rand.Text())[:40] }

// saveSettings stores the settings of a holder of the lease.
func saveSettings(ctx context.Context, store *docstore.Store, c docstore.Collection[settings], l *lease, s settings) error {
	return store.Update(ctx, func(tx *docstore.Tx) error {
		if err := l.check(ctx, tx.SQL()); err != nil {
			return err
		}
		return s.store(ctx, tx, c)
	})
}

func (s *settings) store(ctx context.Context, tx *docstore.Tx, c docstore.Collection[settings]) error {
	_, err := c.Update(ctx, tx, settingsID, 0, *s)
	if errors.Is(err, docstore.ErrNotFound) {
		_, err = c.Insert(ctx, tx, settingsID, *s)
	}
	return err
}
