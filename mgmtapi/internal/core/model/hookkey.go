package model

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
	"github.com/scimwright/scimwright/scim/filter"
)

// HookKey is a key pair with which inline hooks authenticate at the authorization server of an endpoint.
type HookKey struct {
	Name string `json:"name"`
	// KeyID is the public id of the key: a UUID, and the "kid" in the JWTs that the key signs.
	KeyID string      `json:"keyId"`
	Key   signkey.Key `json:"key"`
}

// The indexes of the hook keys.
const (
	HookKeyByName  = "name"   // index by folded name, unique
	HookKeyByKeyID = "key_id" // index by the key id, unique
)

func hookKeyCollection() docstore.Collection[HookKey] {
	return docstore.NewCollection("hook_keys",
		docstore.Index[HookKey]{Name: HookKeyByName, Version: filter.FoldVersion, Unique: true, Values: func(k *HookKey) []any {
			return []any{filter.Fold(k.Name)}
		}},
		docstore.Index[HookKey]{Name: HookKeyByKeyID, Unique: true, Values: func(k *HookKey) []any { return []any{k.KeyID} }},
	)
}

// HookKeyNamed returns the condition for the hook key with a name, ignoring case.
func HookKeyNamed(name string) docstore.Cond { return docstore.Eq(HookKeyByName, filter.Fold(name)) }

// HookKeyUsed reports whether an inline hook of any status refers to the key.
func (d Deps) HookKeyUsed(ctx context.Context, q docstore.Reader, id string) (bool, error) {
	n, err := d.InlineHooks.Count(ctx, q, docstore.Eq(InlineHookByKey, id))
	return n > 0, err
}
