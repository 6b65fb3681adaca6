package sandbox

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
)

// settings is what a sandbox remembers from one run to the next beside the organisation itself.
type settings struct {
	// Seeded says that the question of a seed was settled, with or without one.
	Seeded bool        `json:"seeded"`
	Apps   []seededApp `json:"apps,omitempty"`
	// BaseURL is where the last run answered: the seeded apps point there.
	BaseURL string `json:"baseUrl,omitempty"`
	// The tokens, sealed: a later run without tokens of its own goes on with them.
	APIToken  string `json:"apiToken"`
	SCIMToken string `json:"scimToken"`
}

// settingsID is the id of the one document.
const settingsID = "sandbox"

func settingsCollection() docstore.Collection[settings] {
	return docstore.NewCollection[settings]("sandbox_settings")
}

type tokens struct{ api, scim string }

// loadSettings reads the settings, or makes those of a first run, and settles the tokens: the given ones, else
// those of the last run, else random ones.
func loadSettings(ctx context.Context, store *docstore.Store, c docstore.Collection[settings], secrets seal.Secrets,
	given tokens) (settings, tokens, error) {
	doc, err := c.Get(ctx, store.Reader(), settingsID)
	fresh := errors.Is(err, docstore.ErrNotFound)
	if err != nil && !fresh {
		return settings{}, tokens{}, err
	}
	s, t := doc.Value, given
	if t.api, s.APIToken, err = settle(secrets, "api", given.api, s.APIToken); err != nil {
		return settings{}, tokens{}, err
	}
	if t.scim, s.SCIMToken, err = settle(secrets, "scim", given.scim, s.SCIMToken); err != nil {
		return settings{}, tokens{}, err
	}
	return s, t, saveSettings(ctx, store, c, s)
}

// settle picks one token and seals it again when it is not the one that was kept.
func settle(secrets seal.Secrets, name, given, kept string) (token, sealed string, err error) {
	binding := "sandbox-token:" + name
	if kept != "" {
		if token, err = secrets.Open(kept, binding); err != nil {
			return "", "", errors.New("the secret key does not fit this database: its secrets cannot be opened")
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

// newToken has the form of the API's tokens: 00 and 40 url-safe characters.
func newToken() string { return "00" + (rand.Text() + rand.Text())[:40] }

func saveSettings(ctx context.Context, store *docstore.Store, c docstore.Collection[settings], s settings) error {
	return store.Update(ctx, func(tx *docstore.Tx) error {
		_, err := c.Update(ctx, tx, settingsID, 0, s)
		if errors.Is(err, docstore.ErrNotFound) {
			_, err = c.Insert(ctx, tx, settingsID, s)
		}
		return err
	})
}
