package mgmtapitest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model/modeltest"
)

// Store writes to the database of a management API, whether or not the API is open. Errors fail the test.
type Store struct {
	t    testing.TB
	deps model.Deps
}

// Open opens the documents of the management API that mgmtapi.Open opens with the same options. It creates the tables that the database
// lacks. Only the options of the database are used: DB, Readers, Dialect, Schema, Prefix, NoPrefix and Updater.
func Open(t testing.TB, o mgmtapi.Options) *Store {
	t.Helper()
	in := sqldb.Options{Dialect: sqldb.Postgres, Writer: o.DB, Readers: o.Readers, Borrowed: true}
	if o.Dialect == mgmtapi.SQLite {
		in.Dialect, in.GroupCommit = sqldb.SQLite, o.Updater == nil
	}
	if o.Updater != nil {
		in.Updater = func(ctx context.Context, fn func(tx sqldb.Execer) error) error {
			return o.Updater(ctx, func(tx mgmtapi.Tx) error { return fn(tx) })
		}
	}
	if !o.NoPrefix || o.Schema != "" {
		names, err := sqldb.Embedded(in.Dialect, o.Schema, o.Prefix)
		require.NoError(t, err)
		in.Names, err = names.Located(t.Context(), o.DB, in.Dialect)
		require.NoError(t, err)
	}
	db, err := sqldb.New(in)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &Store{t: t, deps: modeltest.Deps(t, db, nil)}
}

// AddUsers adds n active users to the group Everyone, without events, and returns the id of that group. The database must have an
// organization.
func (s *Store) AddUsers(n int) (group string) {
	s.t.Helper()
	ctx := s.t.Context()
	s.update(func(tx *docstore.Tx) error {
		org, err := s.deps.Orgs.Get(ctx, tx, model.OrgDocument)
		if err != nil {
			return err
		}
		group = org.Value.Everyone
		for i := range n {
			id, login := model.NewID(model.KindUser), fmt.Sprintf("user%05d@example.com", i)
			user := model.User{Type: org.Value.UserType, Provider: model.ProviderFederation, Profile: map[string]any{
				"login": login, "email": login, "firstName": "First", "lastName": "Last",
			}}
			user.Enter(model.UserActive, time.Now())
			if _, err := s.deps.Users.Insert(ctx, tx, id, user); err != nil {
				return err
			}
			member := model.Membership{Group: group, User: id}
			if _, err := s.deps.Memberships.Insert(ctx, tx, model.MembershipID(group, id), member); err != nil {
				return err
			}
		}
		return nil
	})
	return group
}

// AddStagedAppUser assigns a user to an application without events. The user is out of sync with the target.
func (s *Store) AddStagedAppUser(app, user string) {
	s.t.Helper()
	s.update(func(tx *docstore.Tx) error {
		_, err := s.deps.AppUsers.Insert(s.t.Context(), tx, model.AppUserID(app, user),
			model.AppUser{AppID: app, UserID: user, Status: model.AppUserStaged, SyncState: model.SyncOutOfSync})
		return err
	})
}

// SyncState returns the sync state of an assigned user, as in the JSON of the API, and the last error.
func (s *Store) SyncState(app, user string) (state, errorSummary string) {
	s.t.Helper()
	doc, err := s.deps.AppUsers.Get(s.t.Context(), s.deps.Store.Reader(), model.AppUserID(app, user))
	require.NoError(s.t, err)
	return string(doc.Value.SyncState), doc.Value.ErrorSummary
}

// AddDeletedPushMapping stores the push mapping of a group that was deleted together with its target group, without events. The target
// still has the group, with the id remoteID and the name targetName.
func (s *Store) AddDeletedPushMapping(app, group, remoteID, targetName string) {
	s.t.Helper()
	s.update(func(tx *docstore.Tx) error {
		_, err := s.deps.PushMappings.Insert(s.t.Context(), tx, "m1", model.PushMapping{
			AppID: app, SourceGroupID: group, Status: model.PushInactive, RemoteID: remoteID,
			Deleted: true, DeleteTarget: true, TargetName: targetName,
		})
		return err
	})
}

// EmitGroupChanged emits the event for a pushed group that may have changed.
func (s *Store) EmitGroupChanged(app, group string) {
	s.t.Helper()
	s.emit(model.PushMappingChanged{App: app, Group: group})
}

// EmitUsersChanged emits, in one transaction, one event per user. The event tells the engine that the assigned user may have changed and
// must be provisioned.
func (s *Store) EmitUsersChanged(app string, users ...string) {
	s.t.Helper()
	var events []model.Event
	for _, user := range users {
		events = append(events, model.AppUserChanged{App: app, User: user, Provision: true})
	}
	s.emit(events...)
}

func (s *Store) emit(events ...model.Event) {
	s.t.Helper()
	s.update(func(tx *docstore.Tx) error {
		for _, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				return err
			}
			err = s.deps.Store.Emit(s.t.Context(), tx, docstore.Event{Topic: e.Topic(), Key: e.Key(), Data: data})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) update(fn func(tx *docstore.Tx) error) {
	s.t.Helper()
	require.NoError(s.t, s.deps.Store.Update(s.t.Context(), fn))
}
