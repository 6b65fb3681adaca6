package model

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
)

// HasInlineHook reports whether an inline hook of the type with the id exists, active or not.
func (d Deps) HasInlineHook(ctx context.Context, q docstore.Reader, id string, kind HookType) (bool, error) {
	hook, err := Optional(ctx, q, d.InlineHooks, id)
	return hook != nil && hook.Value.Type == kind, err
}
