package authservers

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// Key is a signing key in JSON.
type Key struct {
	signkey.JWK
	Status string     `json:"status" readOnly:"true" enum:"ACTIVE,NEXT,EXPIRED" doc:"NEXT becomes ACTIVE, ACTIVE becomes EXPIRED."`
	Links  rest.Links `json:"_links" readOnly:"true" doc:"Links to the operations on the key."`
}

// statuses returns the keys of a ring with their statuses, in the order in which lists show them.
func statuses(ring model.KeyRing) [][2]string {
	out := [][2]string{{"ACTIVE", ring.Active}, {"NEXT", ring.Next}}
	if ring.Expired != "" {
		out = append(out, [2]string{"EXPIRED", ring.Expired})
	}
	return out
}

func (s *Slice) showKey(ctx context.Context, server, status, kid string) (Key, error) {
	key, err := s.keys.Key(ctx, server, kid)
	if err != nil {
		return Key{}, err
	}
	jwk, err := key.JWK()
	jwk.Alg = "RS256"
	return Key{JWK: jwk, Status: status, Links: rest.Links{
		"self": rest.To(rest.URL(ctx, "api", "v1", "authorizationServers", server, "credentials", "keys", kid), get),
	}}, err
}

func (s *Slice) showKeys(ctx context.Context, server string, ring model.KeyRing) ([]Key, error) {
	var out []Key
	for _, k := range statuses(ring) {
		key, err := s.showKey(ctx, server, k[0], k[1])
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}

func (s *Slice) listKeys(ctx context.Context, t *target) ([]Key, error) {
	ring, err := s.keys.Ring(ctx, t.found.ID, t.found.Value.ManualRotation)
	if err != nil {
		return nil, err
	}
	return s.showKeys(ctx, t.found.ID, ring)
}

// keyTarget is the key in a path.
type keyTarget struct {
	target
	KID string `path:"kid" doc:"Id of the key."`

	status string
}

func (t *keyTarget) self() *keyTarget { return t }

func (s *Slice) findKey(ctx context.Context, q docstore.Reader, t *keyTarget) error {
	if err := s.find(ctx, q, &t.target); err != nil {
		return err
	}
	ring, err := s.keys.Ring(ctx, t.found.ID, t.found.Value.ManualRotation)
	if err != nil {
		return err
	}
	all := statuses(ring)
	i := slices.IndexFunc(all, func(k [2]string) bool { return k[1] == t.KID })
	if i < 0 {
		return rest.NotFound("OAuth2Key", t.KID)
	}
	t.status = all[i][0]
	return nil
}

func (s *Slice) getKey(ctx context.Context, t *keyTarget) (Key, error) {
	return s.showKey(ctx, t.found.ID, t.status, t.KID)
}

type rotateRequest struct {
	target
	Body struct {
		Use string `json:"use" doc:"Use of the key: sig."`
	} `body:"required"`
}

func (s *Slice) rotate(ctx context.Context, r *rotateRequest) ([]Key, error) {
	if r.Body.Use != "sig" {
		e := rest.Invalid("use", "The value must be one of: sig")
		e.Summary = "Api validation failed: rotateKeys"
		return nil, e
	}
	// If an automatic rotation is pending, this rotation replaces it, and the next period starts now.
	var ring model.KeyRing
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if err := s.find(ctx, tx, &r.target); err != nil {
			return err
		}
		ring, err = s.keys.Rotate(ctx, tx, r.found.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.showKeys(ctx, r.found.ID, ring)
}
