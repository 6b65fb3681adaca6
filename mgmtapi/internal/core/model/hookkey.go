package model

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
	"github.com/scimwright/scimwright/scim/filter"
)

// HookKey is a key pair with which inline hooks prove who they are to the authorization server of an endpoint.
type HookKey struct {
	Name string `json:"name"`
	// KeyID is how others call the public half: a UUID, and the "kid" of what the key signs.
	KeyID string      `json:"keyId"`
	Key   signkey.Key `json:"key"`
}

// The indexes of the hook keys.
const (
	HookKeyByName  = "name"   // folded name, unique
	HookKeyByKeyID = "key_id" // the key id, unique
)

func hookKeyCollection() docstore.Collection[HookKey] {
	return docstore.NewCollection("hook_keys",
		docstore.Index[HookKey]{Name: HookKeyByName, Version: filter.FoldVersion, Unique: true, Values: func(k *HookKey) []any {
			return []any{filter.Fold(k.Name)}
		}},
		docstore.Index[HookKey]{Name: HookKeyByKeyID, Unique: true, Values: func(k *HookKey) []any { return []any{k.KeyID} }},
	)
}

// HookKeyNamed finds the hook key with a name; case does not count.
func HookKeyNamed(name string) docstore.Cond { return docstore.Eq(HookKeyByName, filter.Fold(name)) }

// HookKeyUsed says whether an inline hook of any status names the key.
func (d Deps) HookKeyUsed(ctx context.Context, q docstore.Reader, id string) (bool, error) {
	n, err := d.InlineHooks.Count(ctx, q, docstore.Eq(InlineHookByKey, id))
	return n > 0, err
}
