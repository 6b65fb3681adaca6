package tokens

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// Keys are the signing keys of the authorization servers. A key is generated when it is first read; decrypted keys are cached.
type Keys struct {
	model.Deps
	secrets seal.Secrets
	source  signkey.Source

	making sync.Mutex // only one key is generated at a time, because the generation occupies a whole processor
	mu     sync.Mutex
	opened map[string]opened // by kid
}

// opened is a decrypted key.
type opened struct {
	server string
	key    signkey.Key
	public *rsa.PublicKey
	signer jose.Signer
}

// maxOpened is the maximum number of cached decrypted keys.
const maxOpened = 1000

// NewKeys returns Keys whose private keys are encrypted with the secrets. Nil source means the default source of package signkey.
func NewKeys(d model.Deps, secrets seal.Secrets, source signkey.Source) *Keys {
	return &Keys{Deps: d, secrets: secrets, source: source, opened: map[string]opened{}}
}

// Ring returns the keys of a server. manual disables automatic rotation; otherwise Ring first rotates a key whose period is over. server is
// the id of the server, or model.OrgRing.
func (k *Keys) Ring(ctx context.Context, server string, manual bool) (model.KeyRing, error) {
	doc, err := k.KeyRings.Get(ctx, k.Store.Reader(), server)
	if err != nil {
		return model.KeyRing{}, fmt.Errorf("keys of the authorization server %s: %w", server, err)
	}
	ring := doc.Value
	if manual || !ring.RotateIfDue(k.Now()) {
		return doc.Value, nil
	}
	// The rotation must not stop if the client of the request disconnects.
	err = k.Update(context.WithoutCancel(ctx), func(tx *docstore.Tx) error {
		doc, err := k.KeyRings.Get(ctx, tx, server)
		if err != nil {
			return err
		}
		as, err := model.Optional(ctx, tx, k.AuthServers, server)
		if err != nil {
			return err
		}
		ring = doc.Value
		// Another request may have rotated the keys, or disabled the rotation.
		if as != nil && as.Value.ManualRotation || !ring.RotateIfDue(k.Now()) {
			return nil
		}
		return k.store(audit.AsJob(ctx), tx, doc, ring)
	})
	return ring, err
}

// Extend makes an access token valid until another time if that is later than its exp claim. It is for the token of a client that moves
// the clock of a sandbox.
func (k *Keys) Extend(ctx context.Context, tx *docstore.Tx, jti string, until time.Time) error {
	if _, err := k.UsedTokens.DeleteWhere(ctx, tx, docstore.IDs(model.ExtendedID(jti))); err != nil {
		return err
	}
	_, err := k.UsedTokens.Insert(ctx, tx, model.ExtendedID(jti), model.UsedToken{Expires: until})
	return err
}

// expired reports whether an access token has expired.
func (k *Keys) expired(ctx context.Context, t *AccessToken) (bool, error) {
	now := k.Now().Unix()
	if now < t.Expires {
		return false, nil
	}
	extended, err := model.Optional(ctx, k.Store.Reader(), k.UsedTokens, model.ExtendedID(t.ID))
	return extended == nil || now >= extended.Value.Expires.Unix(), err
}

// StartPeriod starts the period of the active key of a server whose automatic rotation was enabled. The key stays the same.
func (k *Keys) StartPeriod(ctx context.Context, tx *docstore.Tx, server string) error {
	doc, err := k.KeyRings.Get(ctx, tx, server)
	if err != nil {
		return err
	}
	doc.Value.Since = k.Now()
	_, err = k.KeyRings.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
	return err
}

// Rotate makes the next key of a server the active one immediately.
func (k *Keys) Rotate(ctx context.Context, tx *docstore.Tx, server string) (model.KeyRing, error) {
	doc, err := k.KeyRings.Get(ctx, tx, server)
	if err != nil {
		return model.KeyRing{}, err
	}
	ring := doc.Value
	ring.Rotate(k.Now())
	return ring, k.store(ctx, tx, doc, ring)
}

// store stores a rotated ring, deletes the keys that the ring no longer contains, and logs the rotation.
func (k *Keys) store(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.KeyRing], ring model.KeyRing) error {
	if _, err := k.KeyRings.Update(ctx, tx, doc.ID, doc.Rev, ring); err != nil {
		return err
	}
	err := model.Each(ctx, tx, k.AuthKeys, docstore.Eq(model.AuthKeyByServer, doc.ID), func(key docstore.Doc[model.AuthKey]) error {
		if slices.Contains([]string{ring.Active, ring.Next, ring.Expired}, key.ID) {
			return nil
		}
		return k.AuthKeys.Delete(ctx, tx, key.ID)
	})
	if err != nil {
		return err
	}
	target := model.LogParty{ID: doc.ID, Type: audit.TypeAuthServer, AlternateID: doc.ID, DisplayName: doc.ID}
	if server, err := model.Optional(ctx, tx, k.AuthServers, doc.ID); err != nil {
		return err
	} else if server != nil {
		target = audit.AuthServer(server.ID, &server.Value)
	}
	return audit.Write(ctx, tx, k.Deps,
		audit.Entry{Type: audit.KeyRollover, Targets: []model.LogParty{target}, Debug: map[string]string{"kid": ring.Active}})
}

// Key returns a key of a ring. It generates a key that does not exist yet.
func (k *Keys) Key(ctx context.Context, server, kid string) (signkey.Key, error) {
	o, err := k.open(ctx, server, kid)
	return o.key, err
}

func (k *Keys) open(ctx context.Context, server, kid string) (opened, error) {
	if o, ok := k.known(kid); ok {
		return o, nil
	}
	k.making.Lock()
	defer k.making.Unlock()
	if o, ok := k.known(kid); ok {
		return o, nil
	}
	doc, err := k.AuthKeys.Get(ctx, k.Store.Reader(), kid)
	if errors.Is(err, docstore.ErrNotFound) {
		doc, err = k.make(context.WithoutCancel(ctx), server, kid)
	}
	if err != nil {
		return opened{}, fmt.Errorf("key of the authorization server %s: %w", server, err)
	}
	o := opened{server: doc.Value.Server, key: doc.Value.Key}
	if o.public, err = o.key.PublicKey(); err != nil {
		return opened{}, err
	}
	if o.signer, err = o.key.Signer(k.secrets, (&jose.SignerOptions{}).WithType("JWT")); err != nil {
		return opened{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.opened) >= maxOpened {
		clear(k.opened)
	}
	k.opened[kid] = o
	return o, nil
}

func (k *Keys) known(kid string) (opened, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, ok := k.opened[kid]
	return o, ok
}

// make generates and stores a key. If another request has stored the key in the meantime, make returns the stored key.
func (k *Keys) make(ctx context.Context, server, kid string) (doc docstore.Doc[model.AuthKey], err error) {
	key, err := signkey.New(k.secrets, signkey.Options{Name: server, Now: k.Now(), ID: kid, Source: k.source})
	if err != nil {
		return doc, err
	}
	err = k.Update(ctx, func(tx *docstore.Tx) error {
		known, err := model.Optional(ctx, tx, k.AuthKeys, kid)
		if err != nil {
			return err
		}
		if known != nil {
			doc = *known
			return nil
		}
		doc, err = k.AuthKeys.Insert(ctx, tx, kid, model.AuthKey{Server: server, Key: key})
		return err
	})
	return doc, err
}

// sign signs with the active key of a server.
func (k *Keys) sign(ctx context.Context, server string, manual bool, payload []byte) (string, error) {
	ring, err := k.Ring(ctx, server, manual)
	if err != nil {
		return "", err
	}
	o, err := k.open(ctx, server, ring.Active)
	if err != nil {
		return "", err
	}
	signed, err := o.signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return signed.CompactSerialize()
}

// verify returns the payload of a token whose header names a key of the server and that this key has signed, otherwise errToken. An expired
// key still verifies, because tokens signed with it may still be valid.
func (k *Keys) verify(ctx context.Context, server string, manual bool, token string) ([]byte, error) {
	if len(token) > maxToken {
		return nil, errToken
	}
	parsed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return nil, errToken
	}
	ring, err := k.Ring(ctx, server, manual)
	if err != nil {
		return nil, err
	}
	kid := parsed.Signatures[0].Header.KeyID
	if kid == "" || kid != ring.Active && kid != ring.Expired {
		return nil, errToken
	}
	o, err := k.open(ctx, server, kid)
	if err != nil {
		return nil, err
	}
	payload, err := parsed.Verify(o.public)
	if err != nil {
		return nil, errToken
	}
	return payload, nil
}

// maxToken is the maximum length of a token in bytes; longer ones are rejected unread.
const maxToken = 32 << 10

// errToken is the error for a token that this server did not issue.
var errToken = errors.New("the token was not issued by this server")
