// Package idp is a small identity provider on database/sql: users, their subscription plans, and the applications that they may use. It
// embeds the provisioning engine, which stores its state in the same database.
package idp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/scim"
)

// CRM is the only application of this provider.
const CRM = "crm"

// tables are the provider's own tables. The engine's tables have a prefix or a schema, so the names of the engine's tables differ from the
// names of these tables.
const tables = `
CREATE TABLE plan (id TEXT PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE person (
	id TEXT PRIMARY KEY, login TEXT NOT NULL UNIQUE, name TEXT NOT NULL, team TEXT NOT NULL, plan TEXT NOT NULL REFERENCES plan
);
CREATE TABLE assignment (app TEXT NOT NULL, person TEXT NOT NULL, PRIMARY KEY (app, person));
INSERT INTO plan VALUES ('free', 'Free of charge'), ('pro', 'Professional');`

// Provider implements engine.Directory on the provider's tables.
type Provider struct {
	db  *sql.DB
	crm engine.Target
}

// New creates the provider's tables in an empty database. target is the connection of the application CRM.
func New(ctx context.Context, db *sql.DB, target engine.Target) (*Provider, error) {
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return nil, fmt.Errorf("create the tables of the identity provider: %w", err)
	}
	return &Provider{db: db, crm: target}, nil
}

// Target returns the connection and the options of an application.
func (p *Provider) Target(_ context.Context, app string) (engine.Target, error) {
	if app != CRM {
		return engine.Target{}, engine.ErrUnknownApp
	}
	return p.crm, nil
}

// User returns the desired state of a user in an application. A user without an assignment is Inactive, and a deleted user is Absent. An
// error means that the state is unavailable, and the engine retries.
func (p *Provider) User(ctx context.Context, app, id string) (engine.UserState, error) {
	var login, name, title string
	var assigned bool
	err := p.db.QueryRowContext(ctx, `
		SELECT login, name, plan.title, EXISTS (SELECT 1 FROM assignment WHERE app = $1 AND assignment.person = person.id)
		FROM person JOIN plan ON plan.id = person.plan WHERE person.id = $2`, app, id).Scan(&login, &name, &title, &assigned)
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
	r.Set("title", title)
	return engine.UserState{Want: engine.Active, UserName: login, Resource: r}, nil
}

// Group returns the desired state of a pushed group. Every team is pushed.
func (p *Provider) Group(_ context.Context, _, team string) (engine.GroupState, error) {
	return engine.GroupState{Want: engine.Active, DisplayName: team}, nil
}

// Members returns up to limit ids of the members of a team, ascending, that follow the id `after`.
func (p *Provider) Members(ctx context.Context, app, team, after string, limit int) (ids []string, err error) {
	rows, err := p.db.QueryContext(ctx, `
		SELECT id FROM person JOIN assignment ON person = id WHERE app = $1 AND team = $2 AND id > $3 ORDER BY id LIMIT $4`,
		app, team, after, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// IsMember reports which of the users belong to a team.
func (p *Provider) IsMember(ctx context.Context, app, team string, users []string) (map[string]bool, error) {
	in := map[string]bool{}
	for _, id := range users {
		var member bool
		err := p.db.QueryRowContext(ctx, `
			SELECT EXISTS (SELECT 1 FROM person JOIN assignment ON person = id WHERE app = $1 AND team = $2 AND id = $3)`,
			app, team, id).Scan(&member)
		if err != nil {
			return nil, err
		}
		in[id] = member
	}
	return in, nil
}

// Change runs a statement and, in the same transaction, marks the user and the team that the statement concerns. The change and the marks
// are stored together or not at all.
func (p *Provider) Change(ctx context.Context, e *provision.Engine, user, team, statement string, args ...any) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
		return err
	}
	marks := []engine.Mark{
		{App: CRM, Kind: engine.User, ID: user},
		{App: CRM, Kind: engine.Group, ID: team, Members: []string{user}},
	}
	if err := e.Mark(ctx, tx, marks...); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	e.Wake(CRM)
	return nil
}
