package main

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scimserver"
)

//go:embed schema.sql
var schema string

// store is a scimserver.Store on the tables of the application. Every change of a resource also writes the columns that the application
// uses (login, active, display). The column scim holds the resource as SCIM clients sent it.
type store struct{ db *sql.DB }

var _ scimserver.Store = (*store)(nil)

// newStore creates the tables.
func newStore(ctx context.Context, db *sql.DB) (*store, error) {
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("create the tables: %w", err)
	}
	return &store{db}, nil
}

// querier is a database or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// selects are the queries that read the resources of a type.
var selects = map[string]string{
	"User":  "SELECT seq, id, display, password_hash, version, created, modified, scim FROM users",
	"Group": "SELECT seq, id, display, '', version, created, modified, scim FROM teams",
}

// tables maps each type to its table.
var tables = map[string]string{"User": "users", "Group": "teams"}

func (s *store) Get(ctx context.Context, typ, id string) (*scimserver.Record, error) {
	return get(ctx, s.db, typ, id)
}

func get(ctx context.Context, q querier, typ, id string) (*scimserver.Record, error) {
	rec, err := scan(q.QueryRowContext(ctx, selects[typ]+" WHERE id = ?", id), typ)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, scimserver.ErrNotFound
	}
	return rec, err
}

func scan(row interface{ Scan(dest ...any) error }, typ string) (*scimserver.Record, error) {
	rec := &scimserver.Record{Type: typ}
	var created, modified int64
	var document []byte
	err := row.Scan(&rec.Order, &rec.ID, &rec.Display, &rec.PasswordHash, &rec.Version, &created, &modified, &document)
	if err != nil {
		return nil, err
	}
	rec.Created, rec.LastModified = time.UnixMilli(created), time.UnixMilli(modified)
	rec.Resource, err = scim.DecodeResource(document)
	return rec, err
}

// page is the number of resources that Scan reads at a time.
const page = 200

// Scan returns all resources of the type and ignores the filter, because the server filters the result itself. Scan reads page by page, so
// that no query is open while the server processes a resource.
func (s *store) Scan(ctx context.Context, typ string, _ filter.Expr, after int64) iter.Seq2[*scimserver.Record, error] {
	return func(yield func(*scimserver.Record, error) bool) {
		for {
			found, err := s.page(ctx, typ, after)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, rec := range found {
				after = rec.Order
				if !yield(rec, nil) {
					return
				}
			}
			if len(found) < page {
				return
			}
		}
	}
}

func (s *store) page(ctx context.Context, typ string, after int64) (all []*scimserver.Record, err error) {
	rows, err := s.db.QueryContext(ctx, selects[typ]+" WHERE seq > ? ORDER BY seq LIMIT ?", after, page)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		rec, err := scan(rows, typ)
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, rows.Err()
}

func (s *store) Create(ctx context.Context, rec *scimserver.Record, members []string) (*scimserver.Record, error) {
	out := *rec
	err := s.update(ctx, func(tx *sql.Tx) error {
		if err := free(ctx, tx, &out); err != nil {
			return err
		}
		now := time.Now().UnixMilli()
		out.Version, out.Created, out.LastModified = 1, time.UnixMilli(now), time.UnixMilli(now)
		insert := "INSERT INTO teams (display, version, modified, scim, created, id) VALUES (?, ?, ?, ?, ?, ?)"
		if out.Type == "User" {
			insert = `INSERT INTO users (display, version, modified, scim, login, login_key, active, password_hash, created, id)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
		}
		values, err := columns(&out)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, insert, append(values, now, out.ID)...)
		if err != nil {
			return err
		}
		if out.Order, err = result.LastInsertId(); err != nil {
			return err
		}
		return join(ctx, tx, out.ID, scimserver.MemberChange{Add: members})
	})
	return &out, err
}

func (s *store) Replace(ctx context.Context, rec *scimserver.Record, change scimserver.MemberChange) (*scimserver.Record, error) {
	out := *rec
	out.Previous = nil // this store reads the previous state in its transaction
	err := s.update(ctx, func(tx *sql.Tx) error {
		old, err := get(ctx, tx, rec.Type, rec.ID)
		if err != nil {
			return err
		}
		if old.Version != rec.Version {
			return scimserver.ErrConflict
		}
		if err := free(ctx, tx, rec); err != nil {
			return err
		}
		out.Order, out.Created, out.Version = old.Order, old.Created, old.Version+1
		out.LastModified = time.UnixMilli(time.Now().UnixMilli())
		set := "UPDATE teams SET display = ?, version = ?, modified = ?, scim = ? WHERE id = ?"
		if rec.Type == "User" {
			set = `UPDATE users SET display = ?, version = ?, modified = ?, scim = ?, login = ?, login_key = ?, active = ?, password_hash = ?
				WHERE id = ?`
		}
		values, err := columns(&out)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, set, append(values, rec.ID)...); err != nil {
			return err
		}
		return join(ctx, tx, rec.ID, change)
	})
	return &out, err
}

// columns returns the column values that a change writes.
func columns(rec *scimserver.Record) ([]any, error) {
	document, err := json.Marshal(rec.Resource)
	if err != nil {
		return nil, err
	}
	values := []any{rec.Display, rec.Version, rec.LastModified.UnixMilli(), document}
	if rec.Type != "User" {
		return values, nil
	}
	login := rec.Resource.Text("userName")
	active, said := rec.Resource.Bool("active")
	return append(values, login, filter.Fold(login), active || !said, rec.PasswordHash), nil
}

// free returns an error if another user already has the login.
func free(ctx context.Context, tx *sql.Tx, rec *scimserver.Record) error {
	if rec.Type != "User" {
		return nil
	}
	var n int
	key := filter.Fold(rec.Resource.Text("userName"))
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM users WHERE login_key = ? AND id <> ?", key, rec.ID).Scan(&n)
	if err == nil && n > 0 {
		return &scimserver.UniqueError{Attribute: "userName"}
	}
	return err
}

// join changes the members of a team.
func join(ctx context.Context, tx *sql.Tx, team string, change scimserver.MemberChange) error {
	for _, id := range change.Remove {
		if _, err := tx.ExecContext(ctx, "DELETE FROM team_members WHERE team = ? AND member = ?", team, id); err != nil {
			return err
		}
	}
	var unknown []string
	for _, id := range change.Add {
		result, err := tx.ExecContext(ctx, `INSERT INTO team_members (team, member)
			SELECT ?, id FROM (SELECT id FROM users UNION ALL SELECT id FROM teams) WHERE id = ? ON CONFLICT DO NOTHING`, team, id)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			continue
		}
		var member int
		err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM team_members WHERE team = ? AND member = ?", team, id).Scan(&member)
		if err != nil {
			return err
		}
		if member == 0 {
			unknown = append(unknown, id)
		}
	}
	if unknown != nil {
		return &scimserver.UnknownMemberError{IDs: unknown}
	}
	return nil
}

func (s *store) Delete(ctx context.Context, typ, id string, version int64) error {
	return s.update(ctx, func(tx *sql.Tx) error {
		old, err := get(ctx, tx, typ, id)
		if err != nil {
			return err
		}
		if version != 0 && version != old.Version {
			return scimserver.ErrConflict
		}
		for _, statement := range []string{
			"DELETE FROM " + tables[typ] + " WHERE id = ?",
			fmt.Sprintf("UPDATE teams SET version = version + 1, modified = %d WHERE id IN (SELECT team FROM team_members WHERE member = ?)",
				time.Now().UnixMilli()),
			"DELETE FROM team_members WHERE member = ?",
			"DELETE FROM team_members WHERE team = ?",
		} {
			if _, err := tx.ExecContext(ctx, statement, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *store) Members(ctx context.Context, group string, only []string) (all []scimserver.Member, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT member, type, display FROM team_members m
		JOIN (SELECT id, 'User' AS type, display FROM users UNION ALL SELECT id, 'Group', display FROM teams) r ON r.id = m.member
		WHERE m.team = ? ORDER BY m.seq`, group)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m scimserver.Member
		if err := rows.Scan(&m.ID, &m.Type, &m.Display); err != nil {
			return nil, err
		}
		if only == nil || slices.Contains(only, m.ID) {
			all = append(all, m)
		}
	}
	return all, rows.Err()
}

func (s *store) MemberOf(ctx context.Context, ids []string) (map[string][]scimserver.Membership, error) {
	all := map[string][]scimserver.Membership{}
	for _, id := range ids {
		found, err := s.memberOf(ctx, id)
		if err != nil {
			return nil, err
		}
		if found != nil {
			all[id] = found
		}
	}
	return all, nil
}

func (s *store) memberOf(ctx context.Context, id string) (all []scimserver.Membership, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT t.id, t.display FROM team_members m JOIN teams t ON t.id = m.team
		WHERE m.member = ? ORDER BY t.seq`, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m scimserver.Membership
		if err := rows.Scan(&m.Group, &m.Display); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

// update runs fn in a transaction.
func (s *store) update(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after the commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}
