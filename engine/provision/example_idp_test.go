package provision_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/scim"
)

// idp is a small identity provider: a table of people, and a table of the applications that they may use.
type idp struct {
	db  *sql.DB
	crm engine.Target
}

const idpTables = `
CREATE TABLE person (id TEXT PRIMARY KEY, login TEXT NOT NULL, name TEXT NOT NULL, team TEXT NOT NULL);
CREATE TABLE assignment (app TEXT NOT NULL, person TEXT NOT NULL REFERENCES person, PRIMARY KEY (app, person));`

// Target returns the connection of an application.
func (p *idp) Target(_ context.Context, app string) (engine.Target, error) {
	if app != "crm" {
		return engine.Target{}, engine.ErrUnknownApp
	}
	return p.crm, nil
}

// User returns the desired state of a person. A person that is not assigned or was removed has no access. An error would mean that the
// state is currently unavailable, and would leave the account unchanged.
func (p *idp) User(ctx context.Context, app, id string) (engine.UserState, error) {
	var login, name string
	var assigned bool
	err := p.db.QueryRowContext(ctx,
		`SELECT login, name, EXISTS (SELECT 1 FROM assignment WHERE app = ? AND person = id) FROM person WHERE id = ?`,
		app, id).Scan(&login, &name, &assigned)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return engine.UserState{Want: engine.Absent}, nil
	case err != nil:
		return engine.UserState{}, err
	case !assigned:
		return engine.UserState{Want: engine.Inactive, UserName: login}, nil
	}
	r := &scim.Resource{}
	r.Set("userName", login)
	r.Set("externalId", id)
	r.Set("displayName", name)
	return engine.UserState{Want: engine.Active, UserName: login, Resource: r}, nil
}

// Group returns the desired state of a group. Every team is pushed.
func (p *idp) Group(_ context.Context, _, team string) (engine.GroupState, error) {
	return engine.GroupState{Want: engine.Active, DisplayName: team}, nil
}

// Members returns a page of the members of a team.
func (p *idp) Members(ctx context.Context, app, team, after string, limit int) ([]string, error) {
	return p.ids(ctx, `SELECT id FROM person JOIN assignment ON person = id WHERE app = ? AND team = ? AND id > ? ORDER BY id LIMIT ?`, app,
		team, after, limit)
}

// IsMember returns which people belong to a team.
func (p *idp) IsMember(ctx context.Context, app, team string, people []string) (map[string]bool, error) {
	in := map[string]bool{}
	for _, id := range people {
		found, err := p.ids(ctx, `SELECT id FROM person JOIN assignment ON person = id WHERE app = ? AND team = ? AND id = ?`, app, team, id)
		if err != nil {
			return nil, err
		}
		in[id] = len(found) > 0
	}
	return in, nil
}

func (p *idp) ids(ctx context.Context, query string, args ...any) (ids []string, err error) {
	rows, err := p.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		ids = append(ids, "")
		if err := rows.Scan(&ids[len(ids)-1]); err != nil {
			return nil, err
		}
	}
	return ids, rows.Err()
}

// change runs a statement and marks the affected principals in the same transaction.
func (p *idp) change(ctx context.Context, e *provision.Engine, statement string, marks ...engine.Mark) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, statement); err != nil {
		return err
	}
	if err := e.Mark(ctx, tx, marks...); err != nil {
		return err
	}
	err = tx.Commit()
	e.Wake("crm")
	return err
}

// An identity provider on database/sql, complete except for its user interface.
func Example_identityProvider() {
	ctx := context.Background()
	fake := enginetest.NewTarget() // the application
	server := httptest.NewServer(fake)
	defer server.Close()
	dir, err := os.MkdirTemp("", "idp")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "idp.db")+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, idpTables); err != nil {
		log.Fatal(err)
	}
	store, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	p := &idp{db: db, crm: engine.Target{BaseURL: server.URL, CreateUsers: true, UpdateUsers: true, DeactivateUsers: true, PushGroups: true}}
	e, err := provision.New(provision.Options{Store: store, Directory: p})
	if err != nil {
		log.Fatal(err)
	}
	_ = e.Start(ctx)
	defer e.Stop(ctx)

	ann := engine.Mark{App: "crm", Kind: engine.User, ID: "p1"}
	team := engine.Mark{App: "crm", Kind: engine.Group, ID: "Sales", Members: []string{"p1"}}
	for _, step := range []string{
		`INSERT INTO person VALUES ('p1', 'ann@example.com', 'Ann', 'Sales')`,
		`INSERT INTO assignment VALUES ('crm', 'p1')`,
		`UPDATE person SET name = 'Ann B.'`,
		`DELETE FROM assignment`,
		`DELETE FROM person`,
	} {
		if err := p.change(ctx, e, step, ann, team); err != nil {
			log.Fatal(err)
		}
		_ = e.Wait(ctx, "crm")
		for _, u := range fake.Users() {
			active, _ := u.Bool("active")
			fmt.Println(u.Text("userName"), u.Text("displayName"), active)
		}
		for _, g := range fake.Groups() {
			fmt.Println(" ", g.Text("displayName"), len(g.Array("members")))
		}
	}
	// Output:
	// Sales 0
	// ann@example.com Ann true
	//   Sales 1
	// ann@example.com Ann B. true
	//   Sales 1
	// ann@example.com Ann B. false
	//   Sales 0
	// ann@example.com Ann B. false
	//   Sales 0
}
