package model_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model/modeltest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

func TestLoginKey_IgnoresCaseAndMarks(t *testing.T) {
	for _, same := range [][2]string{{"Zoë@x.org", "zoe@X.ORG"}, {"Jose\u0301", "JOSÉ"}, {"STRASSE", "straße"}, {"ÅNGSTRÖM", "angstrom"}} {
		require.Equal(t, model.LoginKey(same[0]), model.LoginKey(same[1]), "%v", same)
	}
	require.NotEqual(t, model.LoginKey("lukasz"), model.LoginKey("łukasz"), "ł is not l with a diacritical mark")
	rapid.Check(t, func(t *rapid.T) {
		key := model.LoginKey(rapid.String().Draw(t, "login"))
		require.Equal(t, key, model.LoginKey(key), "LoginKey is idempotent")
	})
}

// TestNewID_Format verifies that an id starts with its kind, has 20 characters and is unique.
func TestNewID_Format(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := model.NewID(model.KindUser)
		require.Regexp(t, `^00u[0-9A-Za-z]{17}$`, id)
		require.False(t, seen[id])
		seen[id] = true
		require.Len(t, model.NewSecret(40), 40)
	}
}

func TestNewID_OrderedByTime(t *testing.T) {
	const timed = 11 // length of the kind and the time
	synctest.Test(t, func(t *testing.T) {
		last := ""
		for range 1000 {
			id := model.NewID(model.KindUser)[:timed]
			require.Less(t, last, id, time.Now())
			require.Equal(t, id, model.NewID(model.KindUser)[:timed], "the same millisecond")
			last = id
			time.Sleep(73 * 24 * time.Hour)
		}
		require.Greater(t, time.Now().Year(), 2190)
	})
}

// TestEventHandler_JoinsTransaction verifies that an event handler is part of the transaction and that its error rolls back the change.
func TestEventHandler_JoinsTransaction(t *testing.T) {
	d := modeltest.Deps(t, sqldbtest.SQLite(t), nil)
	refusal := errors.New("no")
	var reacted []string
	model.On(d.Feed, func(_ context.Context, _ *docstore.Tx, e model.UserChanged) error {
		reacted = append(reacted, e.ID)
		if e.ID == "bad" {
			return refusal
		}
		return nil
	})
	change := func(id string) error {
		return d.Update(t.Context(), func(tx *docstore.Tx) error {
			if _, err := d.Orgs.Insert(t.Context(), tx, id, model.Org{}); err != nil {
				return err
			}
			return d.Feed.Emit(t.Context(), tx, model.UserChanged{ID: id}, model.UserDeleted{ID: id})
		})
	}
	require.NoError(t, change("good"))
	require.ErrorIs(t, change("bad"), refusal)
	require.Equal(t, []string{"good", "bad"}, reacted)
	_, err := d.Orgs.Get(t.Context(), d.Store.Reader(), "bad")
	require.ErrorIs(t, err, docstore.ErrNotFound, "the rejected change is rolled back")
	var topics []string
	_, err = d.Store.Relay(t.Context(), 10, func(_ *docstore.Tx, events []docstore.Event) error {
		for _, e := range events {
			topics = append(topics, e.Topic+" "+string(e.Data))
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{`user.changed {"id":"good"}`, `user.deleted {"id":"good"}`}, topics)
}

func TestUpdate_RetriedOnConflict(t *testing.T) {
	d := modeltest.Deps(t, sqldbtest.SQLite(t), nil)
	attempts := 0
	require.NoError(t, d.Update(t.Context(), func(*docstore.Tx) error {
		if attempts++; attempts < 3 {
			return docstore.ErrConflict
		}
		return nil
	}))
	require.Equal(t, 3, attempts)
	attempts = 0
	require.ErrorIs(t, d.Update(t.Context(), func(*docstore.Tx) error { attempts++; return docstore.ErrConflict }), docstore.ErrConflict)
	require.Equal(t, 10, attempts, "the number of attempts is limited")
	attempts = 0
	require.Error(t, d.Update(t.Context(), func(*docstore.Tx) error { attempts++; return &docstore.UniqueError{Index: "login"} }))
	require.Equal(t, 1, attempts, "a duplicate value is not retried")
}

// TestFindUser_ShortLogin verifies that a short login finds a user only while no other user has the same one.
func TestFindUser_ShortLogin(t *testing.T) {
	d := modeltest.Deps(t, sqldbtest.SQLite(t), nil)
	add := func(id, login string) {
		require.NoError(t, d.Update(t.Context(), func(tx *docstore.Tx) error {
			_, err := d.Users.Insert(t.Context(), tx, id, model.User{Profile: map[string]any{"login": login}})
			return err
		}))
	}
	find := func(ref string) string {
		doc, err := d.FindUser(t.Context(), d.Store.Reader(), ref)
		if err != nil {
			require.ErrorIs(t, err, docstore.ErrNotFound)
		}
		return doc.ID
	}
	add("1", "ann@a.org")
	require.Equal(t, "1", find("ANN"))
	add("2", "ann@b.org")
	require.Empty(t, find("ann"))
	require.Equal(t, "2", find("Änn@b.org"))
	require.Equal(t, "1", find("1"))
	require.Empty(t, find(""))
}
