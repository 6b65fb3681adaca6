package desired

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/engine/pull"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scim"
)

// appRow is a stored app.
type appRow struct {
	version   int64
	deleted   bool
	doc       string
	secrets   string
	matched   int64
	matchedTo string
	changedAt int64
}

const selectApp = `SELECT version, deleted, doc, secrets, matched, matched_to, changed_at FROM {desired_app} WHERE app_id = ?`

// readApp returns an app, or sql.ErrNoRows. A deleted app is returned, too.
func readApp(ctx context.Context, q sqldb.Queryer, app string) (r appRow, err error) {
	err = q.QueryRow(ctx, selectApp, app).Scan(&r.version, &r.deleted, &r.doc, &r.secrets, &r.matched, &r.matchedTo, &r.changedAt)
	return r, err
}

// existing returns an app, or an error that wraps engine.ErrUnknownApp.
func existing(ctx context.Context, q sqldb.Queryer, app string) (appRow, error) {
	if checkAppID(app) != nil { // PostgreSQL would report an error for invalid UTF-8
		return appRow{}, fmt.Errorf("%w: %s", engine.ErrUnknownApp, app)
	}
	r, err := readApp(ctx, q, app)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && r.deleted:
		return r, fmt.Errorf("%w: %s", engine.ErrUnknownApp, app)
	case err != nil:
		return r, fmt.Errorf("desired: read the app %s: %w", app, err)
	}
	return r, nil
}

// lock makes the writes of an app run one at a time.
func lock(ctx context.Context, tx *sqldb.Tx, app string) error { return tx.Lock(ctx, "desired/"+app) }

// PutApp creates or replaces an app. It reports whether the content changed: if the stored content is the same, whether under the same
// version or a lower one, changed is false. If the change of the target or of the mapping may affect users and groups, the engine gets
// marks for all users and groups of the app. After other changes, such as credentials or the end of a pause, the engine continues with the
// pending work of the app.
func (s *Store) PutApp(ctx context.Context, a App) (changed bool, err error) {
	if err := cmp.Or(a.check(), s.checkPull(&a)); err != nil {
		return false, err
	}
	doc, secrets, err := a.split()
	if err != nil {
		return false, err
	}
	if secrets != "" {
		if err := secretsAllowed(ctx); err != nil {
			return false, err
		}
	}
	hidden, err := s.hide(secrets, appBinding(a.ID))
	if err != nil {
		return false, err
	}
	err = s.change(ctx, a.ID, func(tx *sqldb.Tx, e Engine) error {
		changed = false
		if err := lock(ctx, tx, a.ID); err != nil {
			return err
		}
		old, err := readApp(ctx, tx, a.ID)
		found := !errors.Is(err, sql.ErrNoRows)
		if found && err != nil {
			return err
		}
		if found && old.version >= a.Version {
			return s.repeatedApp(old, &a, doc, secrets)
		}
		row := appRow{version: a.Version, doc: doc, secrets: hidden, matched: a.Version, changedAt: s.stamp()}
		if !found || old.deleted {
			changed = true
			return writeApp(ctx, tx, a.ID, row)
		}
		changed, err = s.replaceApp(ctx, tx, e, a.ID, old, row, secrets)
		return err
	})
	return changed, err
}

// repeatedApp returns the result of a write whose version is not higher than the stored one.
func (s *Store) repeatedApp(old appRow, a *App, doc, secrets string) error {
	if old.version > a.Version {
		return &StaleError{Current: old.version}
	}
	if old.deleted || old.doc != doc {
		return &ContentError{Version: old.version}
	}
	stored, err := s.reveal(old.secrets, appBinding(a.ID))
	if err == nil && stored != secrets {
		err = &ContentError{Version: old.version}
	}
	return err
}

// replaceApp stores a higher version of an app. It reports whether the content differs from the stored one.
func (s *Store) replaceApp(ctx context.Context, tx *sqldb.Tx, e Engine, app string, old, row appRow, secrets string) (bool, error) {
	before, err := decodeDoc(old.doc)
	if err != nil {
		return false, err
	}
	after, err := decodeDoc(row.doc)
	if err != nil {
		return false, err
	}
	// Credentials that cannot be decrypted differ from all others, so that a new version can replace or remove them.
	if before.Pull != "" && after.Pull == "" {
		return false, ErrPullEnd
	}
	stored, lost := s.reveal(old.secrets, appBinding(app))
	required, err := effectOf(before, after, lost != nil || stored != secrets)
	if err != nil {
		return false, err
	}
	if old.matched != old.version {
		row.matched, row.matchedTo = old.matched, old.matchedTo
	}
	rules, err := json.Marshal(before.Mapping)
	if err != nil {
		return false, fmt.Errorf("desired: %w", err)
	}
	newRules, err := json.Marshal(after.Mapping)
	if err != nil {
		return false, fmt.Errorf("desired: %w", err)
	}
	if string(rules) != string(newRules) {
		row.matched, row.matchedTo = 0, ""
	}
	if err := writeApp(ctx, tx, app, row); err != nil {
		return false, err
	}
	moved := before.Pull == "" && after.Pull != ""
	if moved {
		if err := removeStored(ctx, tx, app); err != nil {
			return false, err
		}
	}
	switch required {
	case allMarked:
		_, err = e.MarkAll(ctx, tx.Execer(), engine.MarkAll{
			App: app, Retry: true, AllMembers: before.BaseURL != after.BaseURL || after.Groups && !before.Groups || moved,
		})
	case laneOnly:
		err = wakeLane(ctx, tx, e, app)
	case noEffect:
	}
	return required != noEffect, err
}

// wakeLane makes the engine read the target of an app again, by a mark of one principal. Without principals the engine has nothing to do.
func wakeLane(ctx context.Context, tx *sqldb.Tx, e Engine, app string) error {
	m := engine.Mark{App: app, Retry: true}
	err := tx.QueryRow(ctx, `SELECT kind, principal_id FROM {desired_principal} WHERE app_id = ?
		ORDER BY kind DESC, principal_id LIMIT 1`, app).Scan(&m.Kind, &m.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return e.Mark(ctx, tx.Execer(), m)
}

func writeApp(ctx context.Context, tx *sqldb.Tx, app string, r appRow) error {
	_, err := tx.Exec(ctx, `INSERT INTO {desired_app} (app_id, version, deleted, doc, secrets, matched, matched_to, changed_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (app_id) DO UPDATE SET version = excluded.version, deleted = excluded.deleted, doc = excluded.doc,
			secrets = excluded.secrets, matched = excluded.matched, matched_to = excluded.matched_to, changed_at = excluded.changed_at`,
		app, r.version, bit(r.deleted), r.doc, r.secrets, r.matched, r.matchedTo, r.changedAt)
	return err
}

// DeleteApp deletes an app with its users, groups and members, and makes the engine forget it. Nothing is sent to the target: to
// deactivate its accounts, write the users as inactive first. The version of the deletion stays stored. A deletion of an app that was
// never written is stored, too, so that a late creation has no effect.
func (s *Store) DeleteApp(ctx context.Context, app string, version int64) (changed bool, err error) {
	if err := checkAppID(app); err != nil {
		return false, err
	}
	if err := checkVersion("version", version); err != nil {
		return false, err
	}
	err = s.change(ctx, app, func(tx *sqldb.Tx, e Engine) error {
		changed = false
		if err := lock(ctx, tx, app); err != nil {
			return err
		}
		old, err := readApp(ctx, tx, app)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case old.version > version:
			return &StaleError{Current: old.version}
		case old.version == version && !old.deleted:
			return &ContentError{Version: version}
		case old.version == version:
			return nil
		}
		changed = true
		if err := writeApp(ctx, tx, app, appRow{version: version, deleted: true, changedAt: s.stamp()}); err != nil {
			return err
		}
		if err := removeStored(ctx, tx, app); err != nil {
			return err
		}
		return e.Forget(ctx, tx.Execer(), app)
	})
	return changed, err
}

// App returns an app without its credentials, or an error that wraps engine.ErrUnknownApp.
func (s *Store) App(ctx context.Context, app string) (App, error) {
	r, err := existing(ctx, s.db.Reader(), app)
	if err != nil {
		return App{}, err
	}
	return r.shown(app)
}

func (r *appRow) shown(app string) (App, error) {
	d, err := decodeDoc(r.doc)
	if err != nil {
		return App{}, err
	}
	a := App{
		ID: app, Version: r.version, Target: d.target(), Pull: Pull{URL: d.Pull}, HasCredentials: r.secrets != "", ChangedAt: timeOf(r.changedAt),
	}
	if d.Mapping != nil {
		a.Mapping = *d.Mapping
	}
	return a, nil
}

// Apps returns one page of the apps without their credentials, ascending by id, after the given id (empty for the first page). The
// maximum limit is MaxPage.
func (s *Store) Apps(ctx context.Context, after string, limit int) (apps []App, err error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT app_id, version, deleted, doc, secrets, matched, matched_to, changed_at FROM {desired_app}
		WHERE app_id > ? AND deleted = 0 ORDER BY app_id`+sqldb.Limit, after, pageSize(limit))
	if err != nil {
		return nil, fmt.Errorf("desired: list the apps: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var r appRow
		if err := rows.Scan(&id, &r.version, &r.deleted, &r.doc, &r.secrets, &r.matched, &r.matchedTo, &r.changedAt); err != nil {
			return nil, fmt.Errorf("desired: list the apps: %w", err)
		}
		a, err := r.shown(id)
		if err != nil {
			return nil, err
		}
		apps = append(apps, a)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("desired: list the apps: %w", err)
	}
	return apps, nil
}

// pageSize returns a limit between 1 and MaxPage.
func pageSize(limit int) int {
	if limit < 1 {
		return MaxPage
	}
	return min(limit, MaxPage)
}

// compiled is what the derivation of the resources of an app needs, for a version of the app.
type compiled struct {
	version  int64
	rules    *mapping.Mapping // nil without rules
	userName scim.AttrPath    // Target.UserNameAttribute
	pull     *pull.Directory  // nil without Pull
}

// maxCompiled is the maximum number of apps whose compiled mapping is cached.
const maxCompiled = 1000

// compiledRow returns what the derivation of the resources of the app of a row needs.
func (s *Store) compiledRow(app string, row *appRow) (compiled, error) {
	return s.compiledOf(app, row.version, func() (appRow, error) { return *row, nil })
}

// compiledOf returns the compiled mapping of a version of an app. read returns the row of the version.
func (s *Store) compiledOf(app string, version int64, read func() (appRow, error)) (compiled, error) {
	s.mu.Lock()
	cached, ok := s.mappings[app]
	s.mu.Unlock()
	if ok && cached.version == version {
		return cached, nil
	}
	row, err := read()
	if err != nil {
		return compiled{}, err
	}
	d, err := decodeDoc(row.doc)
	if err != nil {
		return compiled{}, err
	}
	c := compiled{version: version}
	if c.userName, err = scim.ParseAttrPath(cmp.Or(d.UserName, "userName")); err != nil {
		return c, fmt.Errorf("desired: the userNameAttribute of %s: %w", app, err)
	}
	if d.Mapping != nil {
		if c.rules, err = d.Mapping.compile(); err != nil {
			return c, err
		}
	}
	if c.pull, err = s.endpoint(app, &d, row.secrets); err != nil {
		return c, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mappings) >= maxCompiled {
		clear(s.mappings)
	}
	s.mappings[app] = c
	return c, nil
}
