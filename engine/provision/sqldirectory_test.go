package provision_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// sqlDirectory is a directory in the engine's database. A change commits together with its marks, and several processes see the same state.
type sqlDirectory struct {
	db     *sqldb.DB
	target engine.Target
}

const embedderTables = `
CREATE TABLE embedder_user (app KEY NOT NULL, id KEY NOT NULL, want KEY NOT NULL, name KEY NOT NULL, title KEY NOT NULL,
	bare BIGINT NOT NULL,
	PRIMARY KEY (app, id));
CREATE TABLE embedder_group (app KEY NOT NULL, id KEY NOT NULL, want KEY NOT NULL, name KEY NOT NULL, remove BIGINT NOT NULL,
	PRIMARY KEY (app, id));
CREATE TABLE embedder_member (app KEY NOT NULL, group_id KEY NOT NULL, user_id KEY NOT NULL, PRIMARY KEY (app, group_id, user_id));
`

func migrateDirectory(t testing.TB, db *sqldb.DB) {
	t.Helper()
	typed := strings.NewReplacer("PRIMARY KEY", "PRIMARY KEY", " KEY", " "+db.Dialect().TextType())
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error { return tx.Apply(t.Context(), typed.Replace(embedderTables)) }))
}

// Target implements engine.Directory.
func (d sqlDirectory) Target(context.Context, string) (engine.Target, error) { return d.target, nil }

// User implements engine.Directory.
func (d sqlDirectory) User(ctx context.Context, app, id string) (engine.UserState, error) {
	var want engine.Want
	var name, title string
	var bare int
	err := d.db.Reader().QueryRow(ctx, `SELECT want, name, title, bare FROM embedder_user WHERE app = ? AND id = ?`, app, id).
		Scan(&want, &name, &title, &bare)
	if errors.Is(err, sql.ErrNoRows) {
		return engine.UserState{Want: engine.Absent}, nil
	}
	u := user(id, name)
	if bare == 1 {
		u.Resource.Delete("externalId")
	}
	u.Want = want
	u.Resource.Set("title", title)
	return u, err
}

// Group implements engine.Directory.
func (d sqlDirectory) Group(ctx context.Context, app, id string) (g engine.GroupState, err error) {
	var remove int
	err = d.db.Reader().QueryRow(ctx, `SELECT want, name, remove FROM embedder_group WHERE app = ? AND id = ?`, app, id).Scan(&g.Want,
		&g.DisplayName, &remove)
	if errors.Is(err, sql.ErrNoRows) {
		return engine.GroupState{Want: engine.Absent}, nil
	}
	g.DeleteRemote = remove == 1
	return g, err
}

// Members implements engine.Directory.
func (d sqlDirectory) Members(ctx context.Context, app, group, after string, limit int) ([]string, error) {
	return d.texts(ctx, `SELECT user_id FROM embedder_member WHERE app = ? AND group_id = ? AND user_id > ? ORDER BY user_id LIMIT ?`, app,
		group, after, limit)
}

// IsMember implements engine.Directory.
func (d sqlDirectory) IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error) {
	all, err := d.Members(ctx, app, group, "", 1000)
	in := map[string]bool{}
	for _, id := range all {
		in[id] = true
	}
	return in, err
}

func (d sqlDirectory) texts(ctx context.Context, query string, args ...any) (out []string, err error) {
	rows, err := d.db.Reader().Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// directoryTx changes the directory within a transaction and collects the marks.
type directoryTx struct {
	ctx   context.Context
	tx    *sqldb.Tx
	app   string
	marks []engine.Mark
	err   error
}

// change commits the changes of fn and their marks.
func (d sqlDirectory) change(ctx context.Context, app string, mark func(context.Context, engine.Execer, ...engine.Mark) error,
	fn func(*directoryTx)) error {
	return d.db.Update(ctx, func(tx *sqldb.Tx) error {
		k := &directoryTx{ctx: ctx, tx: tx, app: app}
		fn(k)
		if k.err != nil {
			return k.err
		}
		return mark(ctx, tx.Execer(), k.marks...)
	})
}

func (k *directoryTx) exec(query string, args ...any) {
	if k.err == nil {
		_, k.err = k.tx.Exec(k.ctx, query, args...)
	}
}

const upsertUser = `INSERT INTO embedder_user (app, id, want, name, title, bare) VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (app, id) DO UPDATE SET want = excluded.want, name = excluded.name, title = excluded.title`

func (k *directoryTx) put(id string, want engine.Want, name, title string, bare int) {
	k.exec(upsertUser, k.app, id, string(want), name, title, bare)
	k.marks = append(k.marks, engine.Mark{App: k.app, Kind: engine.User, ID: id})
}

// user assigns or changes a user.
func (k *directoryTx) user(id, name, title string) { k.put(id, engine.Active, name, title, 0) }

// bare does the same as user, but the account has no externalId.
func (k *directoryTx) bare(id, name, title string) { k.put(id, engine.Active, name, title, 1) }

// off unassigns a user with the given Want.
func (k *directoryTx) off(id, name string, want engine.Want) { k.put(id, want, name, "", 0) }

const upsertGroup = `INSERT INTO embedder_group (app, id, want, name, remove) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (app, id) DO UPDATE SET want = excluded.want, name = excluded.name, remove = excluded.remove`

// group pushes or changes a group. With remove, an Absent group is deleted on the target.
func (k *directoryTx) group(id, name string, want engine.Want, remove bool) {
	k.exec(upsertGroup, k.app, id, string(want), name, map[bool]int{true: 1}[remove])
	k.marks = append(k.marks, engine.Mark{App: k.app, Kind: engine.Group, ID: id})
}

func (k *directoryTx) join(group string, users ...string) {
	for _, u := range users {
		k.exec(`INSERT INTO embedder_member (app, group_id, user_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, k.app, group, u)
	}
	k.marks = append(k.marks, engine.Mark{App: k.app, Kind: engine.Group, ID: group, Members: users})
}

func (k *directoryTx) leave(group string, users ...string) {
	for _, u := range users {
		k.exec(`DELETE FROM embedder_member WHERE app = ? AND group_id = ? AND user_id = ?`, k.app, group, u)
	}
	k.marks = append(k.marks, engine.Mark{App: k.app, Kind: engine.Group, ID: group, Members: users})
}

// staff assigns u-1, u-2, ... and returns their ids.
func (k *directoryTx) staff(n int) (ids []string) {
	for i := range n {
		id := fmt.Sprint("u-", i+1)
		ids = append(ids, id)
		k.user(id, fmt.Sprint("name", i+1), "")
	}
	return ids
}

var _ engine.Directory = sqlDirectory{}
