package desired

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/drift"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// matchKeys are the values by which Match finds a principal.
type matchKeys struct {
	name, externalID, email string
	more                    []string // further addresses
}

// maxKey is the maximum size of such a value, in bytes. Longer values are not found: databases limit the size of index entries.
const maxKey = 512

// maxAliases is the maximum number of further addresses.
const maxAliases = 10

// keysOf returns the keys of a principal. A value that equals its id or its name is omitted, because Match compares these, too: most
// identity providers use the id as externalId and an address as userName, and each key is an index entry.
func keysOf(id string, o drift.Object) matchKeys {
	short := func(text string) string {
		if len(text) > maxKey {
			return ""
		}
		return text
	}
	k := matchKeys{name: short(strings.ToLower(o.UserName)), externalID: short(o.ExternalID)}
	if k.externalID == id {
		k.externalID = ""
	}
	var all []string
	for _, e := range o.Emails {
		if e = short(strings.ToLower(e)); e != "" && e != k.name && !slices.Contains(all, e) && len(all) <= maxAliases {
			all = append(all, e)
		}
	}
	if len(all) > 0 {
		k.email, k.more = all[0], all[1:]
	}
	return k
}

// storeAliases replaces the further addresses of written users, whose ids ascend.
func storeAliases(ctx context.Context, tx *sqldb.Tx, app string, written []*present) error {
	var known []string
	var args []any
	for _, p := range written {
		if p.kind != engine.User {
			continue
		}
		if p.replaces {
			known = append(known, p.id)
		}
		for _, email := range p.keys.more {
			args = append(args, app, p.id, email)
		}
	}
	if len(known) > 0 {
		where, args := amongIDs("principal_id", known, app)
		if _, err := tx.Exec(ctx, `DELETE FROM {desired_alias} WHERE app_id = ? AND `+where, args...); err != nil {
			return err
		}
	}
	if len(args) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO {desired_alias} (app_id, principal_id, email) VALUES (?, ?, ?)`+
		strings.Repeat(`, (?, ?, ?)`, len(args)/3-1), args...)
	return err
}

// maxSimilar is the maximum number of principals with the same part before the @ that Match returns for one value.
const maxSimilar = 20

// Match implements engine.Matcher. It returns the principals with the same externalId, userName (displayName) or email address, and those
// whose userName or first address has the same part before the @. Principals with the same full name are not returned.
func (s *Store) Match(ctx context.Context, app string, kind engine.Kind, objects []engine.RemoteObject) ([][]engine.Candidate, error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	out, err := s.match(ctx, app, kind, objects)
	if err != nil && !errors.Is(err, engine.ErrUnknownApp) && !errors.Is(err, engine.ErrNoMatcher) {
		err = fmt.Errorf("desired: match the %ss of %s: %w", kind, app, err)
	}
	return out, err
}

func (s *Store) match(ctx context.Context, app string, kind engine.Kind, objects []engine.RemoteObject) ([][]engine.Candidate, error) {
	row, err := existing(ctx, s.db.Reader(), app)
	if err != nil {
		return nil, err
	}
	if notPulled(&row) != nil {
		return nil, fmt.Errorf("desired: the users and groups of %s are not stored (pull), so that none can be searched for: %w", app,
			engine.ErrNoMatcher)
	}
	for kind == engine.User && row.matched != row.version {
		if row, err = s.rematch(ctx, app); err != nil {
			return nil, err
		}
	}
	c, err := s.compiled(ctx, app, row.version)
	if err != nil {
		return nil, err
	}
	f := &finder{s: s, app: app, kind: kind, compiled: c, byID: map[string]*engine.Candidate{}}
	out := make([][]engine.Candidate, len(objects))
	for i := range objects {
		if out[i], err = f.find(ctx, &objects[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// finder finds the candidates of a page of objects.
type finder struct {
	s        *Store
	app      string
	kind     engine.Kind
	compiled compiled
	byID     map[string]*engine.Candidate
}

func (f *finder) find(ctx context.Context, o *engine.RemoteObject) ([]engine.Candidate, error) {
	k := matchKeys{name: strings.ToLower(o.UserName), externalID: o.ExternalID}
	values := []string{k.name}
	if f.kind == engine.User {
		emails := []string{o.Email}
		if o.Resource != nil {
			emails = append(emails, drift.ObjectOf(o.Resource).Emails...)
		}
		for _, e := range emails {
			if e = strings.ToLower(e); e != "" && !slices.Contains(k.more, e) {
				k.more = append(k.more, e)
			}
		}
		values = append(values, k.more...)
	}
	ids := map[string]bool{}
	collect := func(where string, args ...any) error {
		found, err := texts(ctx, f.s.db.Reader(), `SELECT principal_id FROM {desired_principal} WHERE app_id = ? AND kind = ? AND `+where,
			append([]any{f.app, string(f.kind)}, args...)...)
		for _, id := range found {
			ids[id] = true
		}
		return err
	}
	if k.externalID != "" {
		for _, where := range []string{`external_id = ? AND external_id <> ''`, `principal_id = ?`} {
			if err := collect(where, k.externalID); err != nil {
				return nil, err
			}
		}
	}
	for _, value := range slices.Compact(slices.Sorted(slices.Values(values))) {
		if err := f.similar(ctx, collect, ids, value); err != nil {
			return nil, err
		}
	}
	var out []engine.Candidate
	for _, id := range sortedKeys(ids) {
		c, err := f.candidate(ctx, id)
		if err != nil {
			return nil, err
		}
		if c != nil {
			out = append(out, *c)
		}
	}
	return out, nil
}

// similar collects the principals with a name or an address that equals the value or has the same part before the @.
func (f *finder) similar(ctx context.Context, collect func(where string, args ...any) error, ids map[string]bool, value string) error {
	if value == "" {
		return nil
	}
	if err := collect(`name = ? AND name <> ''`, value); err != nil || f.kind == engine.Group {
		return err
	}
	if err := collect(`email = ? AND email <> ''`, value); err != nil {
		return err
	}
	aliases, err := texts(ctx, f.s.db.Reader(), `SELECT principal_id FROM {desired_alias} WHERE app_id = ? AND email = ?`, f.app, value)
	if err != nil {
		return err
	}
	for _, id := range aliases {
		ids[id] = true
	}
	local, _, _ := strings.Cut(value, "@")
	if local == "" {
		return nil
	}
	if err := collect(`name = ? AND name <> ''`, local); err != nil {
		return err
	}
	for _, column := range []string{"name", "email"} { // all values that start with local and @: the character after @ is A
		err := collect(column+` >= ? AND `+column+` < ? AND `+column+` <> '' ORDER BY `+column+sqldb.Limit, local+"@", local+"A", maxSimilar)
		if err != nil {
			return err
		}
	}
	return nil
}

// candidate returns the present values of a principal, or nil if it was removed.
func (f *finder) candidate(ctx context.Context, id string) (*engine.Candidate, error) {
	if c, ok := f.byID[id]; ok {
		return c, nil
	}
	a, err := f.s.ask(ctx, f.app, f.kind, id)
	if err != nil {
		return nil, err
	}
	f.byID[id] = nil
	if !a.found || a.record.want == engine.Absent {
		return nil, nil
	}
	c := &engine.Candidate{ID: id, UserName: a.record.doc.DisplayName, DisplayName: a.record.doc.DisplayName}
	if f.kind == engine.User {
		made, err := f.compiled.resources(&a.record.doc)
		if err != nil || made.Resource == nil {
			return nil, nil //nolint:nilerr // a user without a resource has no values to compare
		}
		o := drift.ObjectOf(made.Resource)
		c.UserName, c.ExternalID, c.Emails, c.DisplayName = o.UserName, o.ExternalID, o.Emails, o.DisplayName
	}
	f.byID[id] = c
	return c, nil
}

func sortedKeys(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// rematchPage is the number of users whose match keys are derived in one transaction.
const rematchPage = 500

// rematch derives the match keys of some users again, after the mapping of the app was changed. It returns the app, whose column matched
// equals its version when all users are done.
func (s *Store) rematch(ctx context.Context, app string) (row appRow, err error) {
	err = s.transact(ctx, sqldb.DefaultWait, func(tx *sqldb.Tx) error {
		if err := lock(ctx, tx, app); err != nil {
			return err
		}
		if row, err = existing(ctx, tx, app); err != nil || row.matched == row.version {
			return err
		}
		c, err := s.compiledRow(app, &row)
		if err != nil {
			return err
		}
		last, full, err := rematchUsers(ctx, tx, app, &c, row.matchedTo)
		if err != nil {
			return err
		}
		if row.matchedTo = last; !full {
			row.matched, row.matchedTo = row.version, ""
		}
		return writeApp(ctx, tx, app, row)
	})
	return row, err
}

// rematchUsers derives the match keys of one page. It returns the last id, and whether users may follow.
func rematchUsers(ctx context.Context, tx *sqldb.Tx, app string, c *compiled, after string) (last string, full bool, err error) {
	type user struct {
		id  string
		doc principalDoc
	}
	var page []user
	rows, err := tx.Query(ctx, `SELECT principal_id, doc FROM {desired_principal} WHERE app_id = ? AND kind = 'user' AND principal_id > ?
		ORDER BY principal_id`+sqldb.Limit, app, after, rematchPage)
	if err != nil {
		return "", false, err
	}
	defer rows.Close()
	for rows.Next() {
		var u user
		var doc string
		if err := rows.Scan(&u.id, &doc); err != nil {
			return "", false, err
		}
		if u.doc, err = decodePrincipal(doc); err != nil {
			return "", false, err
		}
		page, last = append(page, u), u.id
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return "", false, err
	}
	for i := range page {
		u := &page[i]
		if u.doc.Profile == nil {
			continue
		}
		var k matchKeys
		if made, err := c.resources(&u.doc); err == nil && made.Resource != nil {
			k = keysOf(u.id, drift.ObjectOf(made.Resource))
		}
		_, err := tx.Exec(ctx, `UPDATE {desired_principal} SET name = ?, external_id = ?, email = ?
			WHERE app_id = ? AND kind = 'user' AND principal_id = ?`, k.name, k.externalID, k.email, app, u.id)
		if err != nil {
			return "", false, err
		}
		p := &present{principal: principal{kind: engine.User, id: u.id, keys: k}, replaces: true}
		if err := storeAliases(ctx, tx, app, []*present{p}); err != nil {
			return "", false, err
		}
	}
	return last, len(page) == rematchPage, nil
}
