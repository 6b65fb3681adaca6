package hookkeys

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// MaxKeys is the maximum number of hook keys.
const MaxKeys = 50

// HookKeyInput is the body of a hook key. Read-only members are ignored, so that a key can be sent back as it was read.
type HookKeyInput struct {
	Name string `json:"name" required:"true" max:"255" doc:"Name of the key."`
}

type createRequest struct {
	Body HookKeyInput `body:"required"`
}

func (s *Slice) create(ctx context.Context, r *createRequest) (out HookKey, err error) {
	// checks the limits before the key is generated, which is slow
	if err := s.checkCapacity(ctx, s.Store.Reader(), r.Body.Name); err != nil {
		return HookKey{}, err
	}
	id, keyID := model.NewID(model.KindHookKey), model.NewUUID()
	key, err := signkey.New(s.secrets, signkey.Options{Name: keyID, Now: s.Now(), Source: s.source})
	if err != nil {
		return HookKey{}, err
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.checkCapacity(ctx, tx, r.Body.Name); err != nil {
			return err
		}
		doc, err := s.HookKeys.Insert(ctx, tx, id, model.HookKey{Name: r.Body.Name, KeyID: keyID, Key: key})
		if err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.HookKeyCreate, doc); err != nil {
			return err
		}
		out, err = s.renderWhole(ctx, tx, doc)
		return err
	})
	return out, err
}

// checkCapacity returns an error if another key with the name cannot be created.
func (s *Slice) checkCapacity(ctx context.Context, q docstore.Reader, name string) error {
	n, err := s.HookKeys.Count(ctx, q, nil)
	if err != nil {
		return err
	}
	if n >= MaxKeys {
		return rest.Invalid("hookKeys", "There can be at most %d hook keys", MaxKeys)
	}
	n, err = s.HookKeys.Count(ctx, q, model.HookKeyNamed(name))
	if err == nil && n > 0 {
		return rest.NotUnique("name")
	}
	return err
}

type replaceRequest struct {
	target
	Body HookKeyInput `body:"required"`
}

func (s *Slice) replace(ctx context.Context, r *replaceRequest) (out HookKey, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, &r.target); err != nil {
			return err
		}
		key := r.found.Value
		key.Name = r.Body.Name
		doc, err := s.HookKeys.Update(ctx, tx, r.found.ID, r.found.Rev, key)
		if err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.HookKeyUpdate, doc); err != nil {
			return err
		}
		out, err = s.renderWhole(ctx, tx, doc)
		return err
	})
	return out, err
}

func (s *Slice) delete(ctx context.Context, t *target) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		used, err := s.HookKeyUsed(ctx, tx, t.found.ID)
		if err != nil {
			return err
		}
		if used {
			return rest.Invalid("isUsed", "The key is used by an inline hook and cannot be deleted")
		}
		if err := s.HookKeys.Delete(ctx, tx, t.found.ID); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.HookKeyDelete, t.found)
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.HookKeyDelete, Targets: []model.LogParty{audit.HookKey(t.found)}}, err)
}

func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, doc docstore.Doc[model.HookKey]) error {
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.HookKey(doc)}})
}
