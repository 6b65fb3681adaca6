package desired

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// key identifies a user or group in an app.
type key struct {
	kind engine.Kind
	id   string
}

// present is the state of a principal during a transaction: as stored, then as written by earlier changes of the transaction.
type present struct {
	principal
	known    bool   // stored, or written by an earlier change
	hidden   string // the encrypted password, if opened is false
	opened   bool   // principal.password is set
	written  bool   // to be stored
	changed  bool   // to be marked
	replaces bool   // a stored row
	aliases  bool   // rows of desired_alias may exist
}

// principals writes the changes of users and groups. The last change of an object in the transaction is stored once.
func (w *writing) principals(ctx context.Context, changes []Change, outcomes []Outcome) error {
	wanted := make([]*principal, len(changes))
	states := map[key]*present{}
	var seen []key
	for i, c := range changes {
		var err error
		switch c := c.(type) {
		case User:
			wanted[i], err = c.stored(w.rules)
		case prepared:
			wanted[i], err = c.stored(w.rules)
		case Group:
			wanted[i], err = c.stored()
		case Present:
			if err = w.checkPresent(c); err == nil && states[key{c.Kind, c.ID}] == nil {
				states[key{c.Kind, c.ID}] = &present{}
			}
		case unreadable:
			err = c.err
		}
		if outcomes[i].Err = shortened(err); err != nil {
			seen = append(seen, w.listed(c)...)
		}
		if wanted[i] != nil {
			states[key{wanted[i].kind, wanted[i].id}] = &present{}
		}
	}
	if err := w.load(ctx, states); err != nil {
		return err
	}
	for i, p := range wanted {
		if c, ok := changes[i].(Present); ok && outcomes[i].Err == nil {
			at := key{c.Kind, c.ID}
			if !states[at].known {
				outcomes[i].Err = &InputError{"id", "no object with this id is stored: write it"}
				continue
			}
			outcomes[i].Result = Unchanged
			if !states[at].written {
				seen = append(seen, at)
			}
		}
		if p == nil {
			continue
		}
		at := key{p.kind, p.id}
		var result Result
		var err error
		if p.password != "" {
			err = secretsAllowed(ctx)
		}
		if err == nil {
			result, err = w.put(states[at], p)
		}
		if err != nil && !rejected(err) {
			return err
		}
		outcomes[i] = Outcome{Result: result, Err: err}
		if w.snapshot != 0 && w.open[p.kind] == w.snapshot && states[at].known && !states[at].written {
			seen = append(seen, at)
		}
	}
	if err := w.store(ctx, states); err != nil {
		return err
	}
	return w.see(ctx, seen)
}

// listed returns the user or group of a rejected change in the upload of a snapshot: it exists, although its content is invalid.
func (w *writing) listed(c Change) []key {
	var k key
	switch c := c.(type) {
	case User:
		k = key{engine.User, c.ID}
	case prepared:
		k = key{engine.User, c.ID}
	case Group:
		k = key{engine.Group, c.ID}
	case unreadable:
		k = c.key
	}
	if w.snapshot == 0 || w.open[k.kind] != w.snapshot || checkID("id", k.id) != nil {
		return nil
	}
	return []key{k}
}

// put compares a change with the present state, and replaces the state if the version is higher.
func (w *writing) put(at *present, p *principal) (Result, error) {
	if at.known && at.version > p.version {
		return Stale, &StaleError{Current: at.version}
	}
	if p.password != "" && w.s.seal == nil {
		return "", ErrNoSeal
	}
	same := at.known && at.want == p.want && at.doc.equal(&p.doc)
	if same {
		// A stored password that cannot be decrypted differs from every password, so that a new version can replace it.
		stored, err := w.password(at)
		same = stored == p.password && (err == nil || at.hidden == "")
	}
	if at.known && at.version == p.version {
		if !same {
			return "", &ContentError{Version: at.version}
		}
		return Unchanged, nil
	}
	at.principal, at.known, at.opened, at.written = *p, true, true, true
	at.aliases = at.aliases || len(p.keys.more) > 0
	if same {
		return Unchanged, nil
	}
	at.changed = true
	return Applied, nil
}

func (w *writing) password(at *present) (string, error) {
	if at.opened {
		return at.principal.password, nil
	}
	return w.s.reveal(at.hidden, passwordBinding(w.app, at.id))
}

// load reads the stored state of principals.
func (w *writing) load(ctx context.Context, states map[key]*present) error {
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		var ids []string
		for k := range states {
			if k.kind == kind {
				ids = append(ids, k.id)
			}
		}
		slices.Sort(ids)
		for part := range slices.Chunk(ids, rowsPerStatement) {
			if err := w.loadPart(ctx, states, kind, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writing) loadPart(ctx context.Context, states map[key]*present, kind engine.Kind, ids []string) error {
	query, args := selectByID(w.tx.Dialect(), "principal_id, version, want, doc, password", "{desired_principal}", "principal_id",
		"app_id = ? AND kind = ?", []any{w.app, string(kind)}, ids)
	rows, err := w.tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var doc string
		p := present{principal: principal{kind: kind}, known: true, replaces: true, aliases: true}
		if err := rows.Scan(&p.id, &p.version, &p.want, &doc, &p.hidden); err != nil {
			return err
		}
		if p.doc, err = decodePrincipal(doc); err != nil {
			return err
		}
		*states[key{kind, p.id}] = p
	}
	return rows.Err()
}

const (
	insertPrincipal = `INSERT INTO {desired_principal} (app_id, kind, principal_id, version, want, doc, password, seen, name, external_id,
		email, changed_at) VALUES `
	principalRow    = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updatePrincipal = ` ON CONFLICT (app_id, kind, principal_id) DO UPDATE SET version = excluded.version, want = excluded.want,
		doc = excluded.doc, password = excluded.password, seen = excluded.seen, name = excluded.name, external_id = excluded.external_id,
		email = excluded.email, changed_at = excluded.changed_at`
)

// store stores the written states, and collects the marks of the changed ones.
func (w *writing) store(ctx context.Context, states map[key]*present) error {
	var written []*present
	for _, p := range states {
		if p.written {
			written = append(written, p)
		}
	}
	slices.SortFunc(written, func(a, b *present) int {
		if a.kind != b.kind {
			return strings.Compare(string(b.kind), string(a.kind))
		}
		return strings.Compare(a.id, b.id)
	})
	for part := range slices.Chunk(written, rowsPerStatement) {
		args := make([]any, 0, 12*len(part))
		for _, p := range part {
			hidden, err := w.s.hide(p.principal.password, passwordBinding(w.app, p.id))
			if err != nil {
				return err
			}
			args = append(args, w.app, string(p.kind), p.id, p.version, string(p.want), string(p.text), hidden, w.open[p.kind],
				p.keys.name, p.keys.externalID, p.keys.email, w.now)
			if p.changed {
				w.marks = append(w.marks, engine.Mark{App: w.app, Kind: p.kind, ID: p.id})
			}
		}
		_, err := w.tx.Exec(ctx, insertPrincipal+principalRow+strings.Repeat(", "+principalRow, len(part)-1)+updatePrincipal, args...)
		if err != nil {
			return err
		}
		if err := storeAliases(ctx, w.tx, w.app, part); err != nil {
			return err
		}
	}
	return nil
}

// principalRecord is a stored row.
type principalRecord struct {
	id        string
	version   int64
	want      engine.Want
	doc       principalDoc
	hidden    string
	changedAt int64
}

func (r *principalRecord) scan(scan func(dest ...any) error) error {
	var doc string
	if err := scan(&r.id, &r.version, &r.want, &doc, &r.hidden, &r.changedAt); err != nil {
		return err
	}
	var err error
	r.doc, err = decodePrincipal(doc)
	return err
}

const selectRecord = `SELECT principal_id, version, want, doc, password, changed_at FROM {desired_principal} WHERE app_id = ? AND kind = ?`

// record returns a stored principal, or an error that wraps engine.ErrNotFound or engine.ErrUnknownApp.
func (s *Store) record(ctx context.Context, app string, kind engine.Kind, id string) (r principalRecord, err error) {
	if checkAppID(app) != nil {
		return r, fmt.Errorf("%w: %s", engine.ErrUnknownApp, app)
	}
	if err := checkID("id", id); err != nil {
		return r, err
	}
	err = r.scan(s.db.Reader().QueryRow(ctx, selectRecord+` AND principal_id = ?`, app, string(kind), id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		if err := s.storing(ctx, s.db.Reader(), app); err != nil {
			return r, err
		}
		return r, fmt.Errorf("%w: %s %s", engine.ErrNotFound, kind, id)
	}
	if err != nil {
		return r, fmt.Errorf("desired: read the %s %s of %s: %w", kind, id, app, err)
	}
	return r, nil
}

// records returns one page of the stored principals, ascending by id.
func (s *Store) records(ctx context.Context, app string, kind engine.Kind, after string, limit int) (out []principalRecord, err error) {
	fail := func(err error) ([]principalRecord, error) {
		return nil, fmt.Errorf("desired: list the %ss of %s: %w", kind, app, err)
	}
	rows, err := s.db.Reader().Query(ctx, selectRecord+` AND principal_id > ? ORDER BY principal_id`+sqldb.Limit, app, string(kind), after,
		pageSize(limit))
	if err != nil {
		return fail(err)
	}
	defer rows.Close()
	for rows.Next() {
		var r principalRecord
		if err := r.scan(rows.Scan); err != nil {
			return fail(err)
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	return out, nil
}

func (r *principalRecord) user() User {
	u := User{
		ID: r.id, Version: r.version, Want: r.want, Resource: r.doc.Resource, OnCreate: r.doc.OnCreate, Manager: r.doc.Manager,
		RemoteID: r.doc.RemoteID, PasswordVersion: r.doc.PasswordVersion, HasPassword: r.hidden != "", ChangedAt: timeOf(r.changedAt),
	}
	if r.doc.Profile != nil {
		u.Profile, _ = plain(r.doc.Profile).(map[string]any)
	}
	return u
}

func (r *principalRecord) group() Group {
	return Group{
		ID: r.id, Version: r.version, Want: r.want, DisplayName: r.doc.DisplayName, RemoteID: r.doc.RemoteID,
		DeleteRemote: r.doc.DeleteRemote, ChangedAt: timeOf(r.changedAt),
	}
}

// StoredUser returns a user as it was written, without the password, or an error that wraps engine.ErrNotFound or engine.ErrUnknownApp. A
// deleted user has the state engine.Absent.
func (s *Store) StoredUser(ctx context.Context, app, id string) (User, error) {
	r, err := s.record(ctx, app, engine.User, id)
	return r.user(), err
}

// StoredGroup does the same as StoredUser, for a group.
func (s *Store) StoredGroup(ctx context.Context, app, id string) (Group, error) {
	r, err := s.record(ctx, app, engine.Group, id)
	return r.group(), err
}

// StoredUsers returns one page of the users of an app, deleted ones included, ascending by id, after the given id (empty for the first
// page). The maximum limit is MaxPage.
func (s *Store) StoredUsers(ctx context.Context, app, after string, limit int) ([]User, error) {
	return stored(ctx, s, app, engine.User, after, limit, (*principalRecord).user)
}

// StoredGroups does the same as StoredUsers, for groups.
func (s *Store) StoredGroups(ctx context.Context, app, after string, limit int) ([]Group, error) {
	return stored(ctx, s, app, engine.Group, after, limit, (*principalRecord).group)
}

func stored[T any](ctx context.Context, s *Store, app string, kind engine.Kind, after string, limit int, show func(*principalRecord) T) (
	[]T, error) {
	if err := s.storing(ctx, s.db.Reader(), app); err != nil {
		return nil, err
	}
	records, err := s.records(ctx, app, kind, after, limit)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(records))
	for i := range records {
		out[i] = show(&records[i])
	}
	return out, nil
}

// StoredMembers returns the version of the members of a group, and one page of them, ascending by id, after the given id (empty for the
// first page). Fewer than limit users end the list. The maximum limit is MaxPage. Version 0 means that no members were written.
func (s *Store) StoredMembers(ctx context.Context, app, group, after string, limit int) (m Members, err error) {
	if err := checkID("group", group); err != nil {
		return m, err
	}
	if err := s.storing(ctx, s.db.Reader(), app); err != nil {
		return m, err
	}
	m.Group = group
	err = s.db.View(ctx, func(q sqldb.Queryer) error {
		var changed int64
		err := q.QueryRow(ctx, `SELECT version, changed_at FROM {desired_members} WHERE app_id = ? AND group_id = ?`, app, group).
			Scan(&m.Version, &changed)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		m.ChangedAt = timeOf(changed)
		m.Users, err = memberPage(ctx, q, app, group, after, pageSize(limit))
		return err
	})
	if err != nil {
		return m, fmt.Errorf("desired: read the members of %s of %s: %w", group, app, err)
	}
	return m, nil
}
