package inlinehooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

func (s *Slice) activate(ctx context.Context, t *target) (InlineHook, error) {
	return s.setStatus(ctx, t, model.HookActive, audit.HookActivate)
}

func (s *Slice) deactivate(ctx context.Context, t *target) (InlineHook, error) {
	return s.setStatus(ctx, t, model.HookInactive, audit.HookDeactivate)
}

// setStatus sets the status. A hook that already has the status is not modified.
func (s *Slice) setStatus(ctx context.Context, t *target, status model.HookStatus, event audit.Type) (out InlineHook, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		if out = render(ctx, t.found); t.found.Value.Status == status {
			return nil
		}
		hook := t.found.Value
		hook.Status = status
		if status == model.HookActive {
			var err error
			if hook.Turn, err = s.NextHookTurn(ctx, tx, hook.Type); err != nil {
				return err
			}
		}
		doc, err := s.InlineHooks.Update(ctx, tx, t.found.ID, t.found.Rev, hook)
		if err != nil {
			return err
		}
		out = render(ctx, doc)
		return s.log(ctx, tx, event, doc)
	})
	return out, err
}

func (s *Slice) delete(ctx context.Context, t *target) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		if t.found.Value.Status != model.HookInactive {
			return rest.Invalid("status", "The hook must be inactive to be deleted")
		}
		if err := s.InlineHooks.Delete(ctx, tx, t.found.ID); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.HookDelete, t.found); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.InlineHookDeleted{ID: t.found.ID})
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.HookDelete, Targets: []model.LogParty{audit.InlineHook(t.found)}}, err)
}

type executeRequest struct {
	target
	Body json.RawMessage `body:"required"`
}

func (s *Slice) execute(ctx context.Context, r *executeRequest) (json.RawMessage, error) {
	if r.found.Value.Status != model.HookActive {
		return nil, rest.Invalid("status", "The hook must be active to be called")
	}
	answer, err := s.caller.Execute(ctx, r.found, r.Body)
	if failure, ok := errors.AsType[*calls.CallError](err); ok {
		return nil, callFailed(failure)
	}
	if err != nil {
		return nil, err
	}
	if answer.Body == nil {
		return json.RawMessage("{}"), nil
	}
	return answer.Body, nil
}

// callFailed returns the API error for an endpoint without a usable response.
func callFailed(f *calls.CallError) error {
	if !f.Answered() {
		return rest.Fail(rest.CodeHookTimeout, fmt.Sprintf("uri: %s %s", f.Where, f.Text), fmt.Sprintf("attempts: %d", f.Attempts))
	}
	return rest.Fail(rest.CodeHookAnswer,
		fmt.Sprintf("uri: %s %s", f.Where, f.Text), fmt.Sprintf("status: %d", f.Status), fmt.Sprintf("attempts: %d", f.Attempts),
		"body: "+f.Excerpt)
}
