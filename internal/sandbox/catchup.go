package sandbox

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// settled says whether nothing more is sent by itself after a status that a sequence has led to. What the target has accepted is not sent
// again either.
func settled(s engine.Status) bool { return s.Outcome() != "" && s.Outcome() != engine.Transient }

// catchUp reports what the engine reached before the process was killed and could not tell any more: it stores its
// results first and tells of them afterwards. It runs before the engine starts.
func catchUp(ctx context.Context, eng *provision.Engine, b *bridge, m *model.Model, store *docstore.Store) error {
	err := statePages(ctx, eng, "", func(states []engine.State) error {
		untold, err := notTold(ctx, m, store, states)
		if err != nil {
			return err
		}
		for _, s := range untold {
			b.Result(ctx, engine.Result{App: s.App, Kind: s.Kind, ID: s.ID, Want: s.Want, Outcome: s.Status.Outcome(), Status: s.Status, RemoteID: s.RemoteID, Error: s.LastError, PasswordVersion: s.PasswordVersion})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	return nil
}

// notTold picks the settled principals whose documents still wait for a result.
func notTold(ctx context.Context, m *model.Model, store *docstore.Store, states []engine.State) ([]engine.State, error) {
	var ids []string
	for _, s := range states {
		if s.Kind == engine.User {
			ids = append(ids, model.AppUserID(s.App, s.ID))
		}
	}
	docs, err := m.AppUsers.GetMany(ctx, store.Reader(), ids)
	if err != nil {
		return nil, err
	}
	known := map[string]model.AppUser{}
	for _, d := range docs {
		known[d.ID] = d.Value
	}
	mappings, err := pushed(ctx, m, store, states)
	if err != nil {
		return nil, err
	}
	var untold []engine.State
	for _, s := range states {
		if !settled(s.Status) {
			continue // a mark makes it dirty, and then a result will follow
		}
		if s.Kind == engine.Group {
			mapping, ok := mappings[docstore.JoinID(s.App, s.ID)]
			if ok && !groupTold(mapping, s) {
				untold = append(untold, s)
			}
			continue
		}
		if u, ok := known[model.AppUserID(s.App, s.ID)]; ok && !told(u, s) {
			untold = append(untold, s)
		}
	}
	return untold, nil
}

// told says whether the document of an assignment says what the engine knows.
func told(u model.AppUser, s engine.State) bool {
	wrong := u.SyncState == model.SyncError
	waits := u.SyncState == model.SyncOutOfSync || u.SyncState == model.SyncSyncing
	return !waits && wrong == (s.LastError != "" && s.Status != engine.StatusSkipped) && (s.RemoteID == "" || u.ExternalID == s.RemoteID)
}

// pushed reads the push mappings of the groups among the states, tombstones too, by application and source group.
func pushed(ctx context.Context, m *model.Model, store *docstore.Store, states []engine.State) (map[string]model.PushMapping, error) {
	var pairs []any
	for _, s := range states {
		if s.Kind == engine.Group {
			pairs = append(pairs, docstore.JoinID(s.App, s.ID))
		}
	}
	found := map[string]model.PushMapping{}
	if len(pairs) == 0 {
		return found, nil
	}
	err := model.Each(ctx, store.Reader(), m.PushMappings, docstore.In(model.PushMappingByPair, pairs...), func(d docstore.Doc[model.PushMapping]) error {
		found[docstore.JoinID(d.Value.AppID, d.Value.SourceGroupID)] = d.Value
		return nil
	})
	return found, err
}

// groupTold says whether a push mapping says what the engine knows. A tombstone waits to be told that the target was.
func groupTold(m model.PushMapping, s engine.State) bool {
	failed := s.LastError != "" && s.Status != engine.StatusSkipped
	return !m.Deleted && failed == (m.ErrorSummary != "") && (s.RemoteID == "" || m.RemoteID == s.RemoteID)
}
