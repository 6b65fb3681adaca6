package desired

import (
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

var (
	_ engine.Directory = (*Store)(nil)
	_ engine.Lister    = (*Store)(nil)
	_ engine.Matcher   = (*Store)(nil)
	_ engine.Explainer = (*Store)(nil)
)

// Target implements engine.Directory.
func (s *Store) Target(ctx context.Context, app string) (engine.Target, error) {
	r, err := existing(ctx, s.db.Reader(), app)
	if err != nil {
		return engine.Target{}, err
	}
	d, err := decodeDoc(r.doc)
	if err != nil {
		return engine.Target{}, err
	}
	hidden, err := s.credentials(app, r.secrets)
	if err != nil {
		return engine.Target{}, err
	}
	t := d.target()
	t.Auth.Secret, t.TLS.Key = hidden.Secret, hidden.Key
	return t, nil
}

// credentials decrypts the stored credentials of an app.
func (s *Store) credentials(app, hidden string) (c credentials, err error) {
	text, err := s.reveal(hidden, appBinding(app))
	if err != nil || text == "" {
		return c, err
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, errors.New("desired: the stored credentials are not valid JSON") // the cause could contain them
	}
	return c, nil
}

// answer is a stored principal with the version of its app.
type answer struct {
	found   bool
	version int64 // of the app
	record  principalRecord
}

// selectAnswer returns no row for an unknown app, and NULL for an unknown principal. An app that is unknown must not result in the state
// Absent, because the engine would deactivate the accounts of an app that was deleted while it works on it.
const selectAnswer = `SELECT a.version, a.deleted, p.version, p.want, p.doc, p.password, p.changed_at FROM {desired_app} a
	LEFT JOIN {desired_principal} p ON p.app_id = a.app_id AND p.kind = ? AND p.principal_id = ? WHERE a.app_id = ?`

// ask returns a principal, or an error that wraps engine.ErrUnknownApp.
func (s *Store) ask(ctx context.Context, app string, kind engine.Kind, id string) (out answer, err error) {
	var deleted bool
	var version, changed sql.NullInt64
	var want, doc, hidden sql.NullString
	err = s.db.Reader().QueryRow(ctx, selectAnswer, string(kind), id, app).
		Scan(&out.version, &deleted, &version, &want, &doc, &hidden, &changed)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && deleted:
		return out, fmt.Errorf("%w: %s", engine.ErrUnknownApp, app)
	case err != nil:
		return out, fmt.Errorf("desired: read the %s %s of %s: %w", kind, id, app, err)
	case !version.Valid:
		return out, nil
	}
	out.found = true
	out.record = principalRecord{
		id: id, version: version.Int64, want: engine.Want(want.String), hidden: hidden.String, changedAt: changed.Int64,
	}
	out.record.doc, err = decodePrincipal(doc.String)
	return out, err
}

// compiled returns the mapping of the app of an answer.
func (s *Store) compiled(ctx context.Context, app string, version int64) (compiled, error) {
	return s.compiledOf(app, version, func() (appRow, error) {
		r, err := existing(ctx, s.db.Reader(), app)
		if err == nil && r.version != version {
			err = fmt.Errorf("desired: the app %s was changed: %w", app, engine.ErrStale) // the engine repeats the query
		}
		return r, err
	})
}

// User implements engine.Directory.
func (s *Store) User(ctx context.Context, app, user string) (engine.UserState, error) {
	a, err := s.ask(ctx, app, engine.User, user)
	if err != nil {
		return engine.UserState{}, err
	}
	c, err := s.compiled(ctx, app, a.version)
	switch {
	case err != nil:
		return engine.UserState{}, err
	case c.pull != nil:
		return s.pulledUser(ctx, &c, app, user)
	case !a.found:
		return engine.UserState{Want: engine.Absent}, nil
	}
	d := &a.record.doc
	made, err := c.resources(d)
	if err != nil && a.record.want == engine.Active {
		return engine.UserState{}, fmt.Errorf("desired: the user %s of %s: %w", user, app, err)
	}
	out := engine.UserState{
		Want: a.record.want, Resource: made.Resource, OnCreate: made.OnCreate, UserName: textAt(made.Resource, c.userName),
		Manager: d.Manager, RemoteID: d.RemoteID, PasswordVersion: d.PasswordVersion,
	}
	if out.Want == engine.Active {
		out.Password, err = s.reveal(a.record.hidden, passwordBinding(app, user))
	} else {
		err = nil // a deactivation needs neither a resource nor a password
	}
	return out, err
}

// resources returns the resources of a user: as written, or derived from the profile.
func (c *compiled) resources(d *principalDoc) (mapping.Result, error) {
	switch {
	case d.Profile == nil:
		return mapping.Result{Resource: d.Resource, OnCreate: d.OnCreate}, nil
	case c.rules == nil:
		return mapping.Result{}, errors.New("the user has a profile, but the app has no mapping rules")
	}
	return derive(c.rules, d.Profile)
}

// textAt returns the string at a path of a resource, or "".
func textAt(r *scim.Resource, at scim.AttrPath) string {
	if r == nil {
		return ""
	}
	o := &r.Object
	if at.URN != "" && at.URN != scim.UserSchema {
		o = o.Complex(at.URN)
	}
	if at.Sub != "" {
		return o.Complex(at.Name).Text(at.Sub)
	}
	return o.Text(at.Name)
}

// Group implements engine.Directory.
func (s *Store) Group(ctx context.Context, app, group string) (engine.GroupState, error) {
	a, err := s.ask(ctx, app, engine.Group, group)
	if err != nil {
		return engine.GroupState{}, err
	}
	c, err := s.compiled(ctx, app, a.version)
	switch {
	case err != nil:
		return engine.GroupState{}, err
	case c.pull != nil:
		return c.pull.Group(ctx, s.shown(app), group)
	case !a.found:
		return engine.GroupState{Want: engine.Absent}, nil
	}
	d := &a.record.doc
	return engine.GroupState{Want: a.record.want, DisplayName: d.DisplayName, RemoteID: d.RemoteID, DeleteRemote: d.DeleteRemote}, nil
}

// view calls read, and returns its results if the app exists afterwards and has no Pull. With Pull, it returns the results of ask. If it
// checked the app before the read, a deletion of the app between the two queries would result in an empty list, and the engine would remove
// the members on the target.
func view[T any](
	ctx context.Context, s *Store, app string, read func(q sqldb.Queryer) (T, error), ask func(d *pull.Directory, app string) (T, error),
) (T, error) {
	var none T
	out, err := read(s.db.Reader())
	if err != nil {
		return none, err
	}
	row, err := existing(ctx, s.db.Reader(), app)
	if err != nil {
		return none, err
	}
	c, err := s.compiledRow(app, &row)
	switch {
	case err != nil:
		return none, err
	case c.pull != nil:
		return ask(c.pull, s.shown(app))
	}
	return out, nil
}

// Members implements engine.Directory.
func (s *Store) Members(ctx context.Context, app, group, after string, limit int) ([]string, error) {
	return view(ctx, s, app, func(q sqldb.Queryer) ([]string, error) {
		ids, err := memberPage(ctx, q, app, group, after, limit)
		if err != nil {
			return nil, fmt.Errorf("desired: read the members of %s of %s: %w", group, app, err)
		}
		return ids, nil
	}, func(d *pull.Directory, app string) ([]string, error) { return d.Members(ctx, app, group, after, limit) })
}

// IsMember implements engine.Directory.
func (s *Store) IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error) {
	return view(ctx, s, app, func(q sqldb.Queryer) (map[string]bool, error) {
		in, err := membersAmong(ctx, s.db.Dialect(), q, app, group, users)
		if err != nil {
			return nil, fmt.Errorf("desired: read the members of %s of %s: %w", group, app, err)
		}
		return in, nil
	}, func(d *pull.Directory, app string) (map[string]bool, error) {
		return d.IsMember(ctx, app, group, users)
	})
}

// Principals implements engine.Lister.
func (s *Store) Principals(ctx context.Context, app string, kind engine.Kind, after string, limit int) ([]string, error) {
	return view(ctx, s, app, func(q sqldb.Queryer) ([]string, error) {
		ids, err := texts(ctx, q, `SELECT principal_id FROM {desired_principal} WHERE app_id = ? AND kind = ? AND principal_id > ?
			ORDER BY principal_id`+sqldb.Limit, app, string(kind), after, limit)
		if err != nil {
			return nil, fmt.Errorf("desired: list the %ss of %s: %w", kind, app, err)
		}
		return ids, nil
	}, func(d *pull.Directory, app string) ([]string, error) {
		return d.Principals(ctx, app, kind, after, limit)
	})
}

// Explain implements engine.Explainer.
func (s *Store) Explain(ctx context.Context, app string, kind engine.Kind, id string) (engine.Explanation, error) {
	a, err := s.ask(ctx, app, kind, id)
	if err != nil {
		return engine.Explanation{}, err
	}
	c, err := s.compiled(ctx, app, a.version)
	switch {
	case err != nil:
		return engine.Explanation{}, err
	case c.pull != nil:
		return s.explainPulled(ctx, &c, app, kind, id), nil
	case !a.found:
		return engine.Explanation{Reasons: []string{fmt.Sprintf("no %s with this id was written to the app", kind)}}, nil
	}
	out := engine.Explanation{Reasons: []string{fmt.Sprintf("version %d was written at %s with the state %s", a.record.version,
		timeOf(a.record.changedAt).Format(scim.TimeFormat), a.record.want)}}
	d := &a.record.doc
	if kind == engine.Group {
		out.Values = []engine.Value{{Path: "displayName", Source: "group", Value: d.DisplayName}}
		return out, nil
	}
	if d.Profile != nil && c.rules != nil {
		for _, row := range c.rules.Preview(valuesOf(d.Profile)) {
			value := engine.Value{Path: row.Rule.Target, Source: "profile", Rule: row.Rule.Expression, Value: row.Value, Error: row.Error}
			if row.Rule.Constant != nil {
				value.Source, value.Rule = "mapping", fmt.Sprint(row.Rule.Constant)
			}
			out.Values = append(out.Values, value)
		}
		return out, nil
	}
	if d.Resource != nil {
		for name, value := range d.Resource.All() {
			out.Values = append(out.Values, engine.Value{Path: name, Source: "resource", Value: value})
		}
	}
	return out, nil
}
