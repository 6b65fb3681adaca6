package webhooks

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/signature"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Limits of the fields of an Endpoint.
const (
	MaxURL         = 2048 // bytes
	MaxScope       = 256  // bytes of App and Prefix
	MaxDescription = 1024 // characters
	MaxPage        = 1000 // objects in a page of a list
	// MaxOverlap is the maximum time for which a replaced secret continues to sign.
	MaxOverlap = 30 * 24 * time.Hour
)

// maxSecrets is the maximum number of secrets of an endpoint.
const maxSecrets = 4

// Endpoint receives events. The caller sets the fields down to Disabled, the Service the others.
type Endpoint struct {
	ID string // assigned by Create
	// App is the app whose events the endpoint receives. If it is empty, the endpoint receives the events of all apps whose ids begin with
	// Prefix; an empty Prefix selects all apps. App and Prefix cannot be changed.
	App, Prefix string
	URL         string
	Types       []engine.EventType // Default: all types
	Description string
	// Disabled endpoints receive nothing. Their events wait in the Source. The Service sets Disabled after a response 410, and as
	// Options.DisableAfter describes.
	Disabled bool

	Reason                      string // why the endpoint is disabled
	Version                     int64  // number of changes by callers
	Created, Changed, Delivered time.Time
	// Failures is the number of failed messages since the last success, FailingSince the time of the first, LastError the reason of the last.
	Failures     int
	FailingSince time.Time
	LastError    string
	HeldUntil    time.Time // no message is sent before
	Parked, Dead int       // messages that wait for a retry, and dead letters
	Dropped      int       // dead letters that were removed because of Options.MaxDead
}

// CreateOptions are optional arguments of Create.
type CreateOptions struct {
	// Secret is the first secret: "whsec_" and 24 to 64 bytes as base64. Default: a random one.
	Secret string
	// FromStart delivers the stored events, too. Default: only events after Create.
	FromStart bool
	// Within and MaxWithin limit the number of endpoints whose App or Prefix begins with Within, for example those of a tenant. Default: no
	// limit other than those of Options.
	Within    string
	MaxWithin int
	// Key identifies the request within Within: a repetition after a lost response returns the same endpoint and secret, until the endpoint is
	// changed. Default: each call creates an endpoint.
	Key string
}

// secret is a stored secret.
type secret struct {
	Secret string `json:"secret"`
	Until  int64  `json:"until,omitempty"` // end of the validity, 0 for none
}

func binding(id string) string { return "webhook_endpoint/" + id }

func (s *Service) seal(id string, secrets []secret) (string, error) {
	plain, err := json.Marshal(secrets)
	if err != nil {
		return "", fmt.Errorf("webhooks: %w", err)
	}
	sealed, err := s.o.Seal.Seal(string(plain), binding(id))
	if err != nil {
		return "", fmt.Errorf("webhooks: %w", err)
	}
	return sealed, nil
}

// unseal returns the secrets that are valid now, the newest first.
func (s *Service) unseal(id, sealed string) ([]secret, error) {
	plain, err := s.o.Seal.Open(sealed, binding(id))
	if err != nil {
		return nil, fmt.Errorf("webhooks: the secrets of the endpoint %s: %w", id, err)
	}
	var all []secret
	if err := json.Unmarshal([]byte(plain), &all); err != nil {
		return nil, fmt.Errorf("webhooks: the secrets of the endpoint %s: %w", id, err)
	}
	now := s.o.Now().UnixMilli()
	return slices.DeleteFunc(all, func(x secret) bool { return x.Until != 0 && x.Until <= now }), nil
}

// keysOf returns the keys that sign the messages of an endpoint.
func (s *Service) keysOf(id, sealed string) ([][]byte, error) {
	secrets, err := s.unseal(id, sealed)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(secrets))
	for i, x := range secrets {
		texts[i] = x.Secret
	}
	keys, err := signature.Keys(texts...)
	if err != nil {
		return nil, fmt.Errorf("webhooks: the secrets of the endpoint %s: %w", id, err)
	}
	return keys, nil
}

// secretOr returns a given secret, or a new one.
func secretOr(given string) (string, error) {
	if given == "" {
		return signature.NewSecret(), nil
	}
	if _, err := signature.Key(given); err != nil {
		return "", &InputError{"Secret", err.Error()}
	}
	return given, nil
}

func checkText(field, text string, limit int) error {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return &InputError{field, "the value must not contain control characters or invalid UTF-8"}
	case utf8.RuneCountInString(text) > limit:
		return &InputError{field, fmt.Sprintf("the value must have at most %d characters", limit)}
	}
	return nil
}

// check returns an error for an invalid field of the caller.
func (s *Service) check(e *Endpoint) error {
	switch {
	case e.App != "" && e.Prefix != "":
		return &InputError{"Prefix", "set App or Prefix, not both"}
	case len(e.App) > MaxScope || len(e.Prefix) > MaxScope:
		return &InputError{"App", fmt.Sprintf("App and Prefix have at most %d bytes each", MaxScope)}
	case len(e.URL) > MaxURL:
		return &InputError{"URL", fmt.Sprintf("the URL has at most %d bytes", MaxURL)}
	}
	for field, text := range map[string]string{"App": e.App, "Prefix": e.Prefix, "URL": e.URL, "Description": e.Description} {
		if err := checkText(field, text, max(MaxURL, MaxDescription)); err != nil {
			return err
		}
	}
	if err := checkText("Description", e.Description, MaxDescription); err != nil {
		return err
	}
	for _, t := range e.Types {
		if !slices.Contains(Types(), t) {
			return &InputError{"Types", fmt.Sprintf("%.64q is not a type of events", t)}
		}
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil:
		return &InputError{"URL", "the value is not a URL"} // the cause would quote it
	case u.Scheme != "https" && (u.Scheme != "http" || !s.o.AllowHTTP):
		return &InputError{"URL", "the URL must begin with https://"}
	case u.Hostname() == "" || u.Opaque != "":
		return &InputError{"URL", "the URL has no host"}
	case u.User != nil || u.Fragment != "":
		return &InputError{"URL", "the URL must not contain credentials or a fragment"}
	}
	return nil
}

func (e *Endpoint) scope() string { return e.App + e.Prefix } // one of them is empty

// covers reports whether the endpoint receives the events of an app.
func (e *Endpoint) covers(app string) bool {
	if e.App != "" {
		return e.App == app
	}
	return strings.HasPrefix(app, e.Prefix)
}

// part returns the part of a list, ordered by app, that has the apps of the endpoint.
func (e *Endpoint) part(heads []engine.EventHead) []engine.EventHead {
	from, _ := slices.BinarySearchFunc(heads, e.scope(), func(h engine.EventHead, scope string) int { return strings.Compare(h.App, scope) })
	heads = heads[from:]
	return heads[:sort.Search(len(heads), func(i int) bool { return !e.covers(heads[i].App) })]
}

// Create stores an endpoint and returns it with its secret, which no other method returns. It returns ErrChanged for a key of another
// endpoint.
func (s *Service) Create(ctx context.Context, e Endpoint, o CreateOptions) (Endpoint, string, error) {
	if err := s.check(&e); err != nil {
		return Endpoint{}, "", err
	}
	first, err := secretOr(o.Secret)
	if err != nil {
		return Endpoint{}, "", err
	}
	e.ID = "ep_" + strings.ToLower(rand.Text())
	if o.Key != "" {
		if len(o.Key) > maxKey {
			return Endpoint{}, "", &InputError{"Key", fmt.Sprintf("the key must have at most %d bytes", maxKey)}
		}
		e.ID = keyedID(o.Within, o.Key)
		stored, secret, err := s.repeated(ctx, e, o.Secret)
		if !errors.Is(err, ErrNotFound) {
			return stored, secret, err
		}
	}
	sealed, err := s.seal(e.ID, []secret{{Secret: first}})
	if err != nil {
		return Endpoint{}, "", err
	}
	types, err := json.Marshal(e.Types)
	if err != nil {
		return Endpoint{}, "", fmt.Errorf("webhooks: %w", err)
	}
	var cursors []engine.EventHead
	if !o.FromStart {
		heads, err := s.heads(ctx)
		if err != nil {
			return Endpoint{}, "", err
		}
		cursors = e.part(heads)
	}
	now := s.o.Now().UnixMilli()
	var repeated bool
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		if err := tx.Lock(ctx, "webhooks/create"); err != nil {
			return err
		}
		var existing int // created by a concurrent request with the key; the commit of this transaction follows the one of that request
		err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM {webhook_endpoint} WHERE endpoint_id = ?`, e.ID).Scan(&existing)
		if repeated = existing > 0; err != nil || repeated {
			return err
		}
		var all, same, within int
		err = tx.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN scope = ? AND exact = ? THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN substr(scope, 1, ?) = ? THEN 1 ELSE 0 END), 0) FROM {webhook_endpoint}`,
			e.scope(), bit(e.App != ""), utf8.RuneCountInString(o.Within), o.Within).Scan(&all, &same, &within)
		switch {
		case err != nil:
			return err
		case all >= s.o.MaxEndpoints:
			return &LimitError{Limit: s.o.MaxEndpoints}
		case o.MaxWithin > 0 && within >= o.MaxWithin:
			return &LimitError{Limit: o.MaxWithin, Within: true}
		case same >= s.o.MaxPerScope:
			return &LimitError{Limit: s.o.MaxPerScope, Scope: true}
		}
		_, err = tx.Exec(ctx, `INSERT INTO {webhook_endpoint} (endpoint_id, scope, exact, url, types, secrets, description, version, disabled,
			reason, failures, failing_since, hold_until, last_error, delivered_at, dropped, owner, epoch, lease_until, created_at, changed_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, '', 0, 0, 0, '', 0, 0, '', 0, 0, ?, ?)`,
			e.ID, e.scope(), bit(e.App != ""), e.URL, string(types), sealed, e.Description, bit(e.Disabled), now, now)
		if err != nil {
			return err
		}
		for _, h := range cursors {
			if err := setCursor(ctx, tx, e.ID, h.App, h.Seq, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Endpoint{}, "", wrapped(err, "create an endpoint")
	}
	if repeated {
		return s.repeated(ctx, e, o.Secret)
	}
	s.refresh()
	stored, err := s.Get(ctx, e.ID)
	return stored, first, err
}

// maxKey is the maximum length of CreateOptions.Key, in bytes.
const maxKey = 200

// keyedID returns the id of the endpoint that a request with a key creates.
func keyedID(within, key string) string {
	sum := sha256.Sum256([]byte(within + "\x00" + key))
	return "ep_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// repeated returns the result of an earlier Create of the same endpoint, ErrNotFound if there was none, and ErrChanged if the endpoint
// differs.
func (s *Service) repeated(ctx context.Context, e Endpoint, given string) (Endpoint, string, error) {
	stored, err := s.Get(ctx, e.ID)
	if err != nil {
		return Endpoint{}, "", err
	}
	var sealed string
	if err := s.db.Reader().QueryRow(ctx, `SELECT secrets FROM {webhook_endpoint} WHERE endpoint_id = ?`, e.ID).Scan(&sealed); err != nil {
		return Endpoint{}, "", wrapped(err, "read the secret of the endpoint "+e.ID)
	}
	secrets, err := s.unseal(e.ID, sealed)
	if err != nil {
		return Endpoint{}, "", err
	}
	same := stored.Version == 1 && stored.App == e.App && stored.Prefix == e.Prefix && stored.URL == e.URL &&
		slices.Equal(stored.Types, e.Types) && stored.Description == e.Description && stored.Disabled == e.Disabled
	if !same || len(secrets) != 1 || given != "" && given != secrets[0].Secret {
		return Endpoint{}, "", fmt.Errorf("%w: %s", ErrChanged, e.ID)
	}
	return stored, secrets[0].Secret, nil
}

// wrapped adds the operation to an error of the database.
func wrapped(err error, operation string) error {
	_, limit := errors.AsType[*LimitError](err)
	_, input := errors.AsType[*InputError](err)
	if err == nil || limit || input || errors.Is(err, ErrNotFound) || errors.Is(err, errLost) {
		return err
	}
	return fmt.Errorf("webhooks: %s: %w", operation, err)
}

// Update changes the URL, the types, the description and Disabled of an endpoint. If it enables a disabled endpoint or changes the URL, it
// also resets the failures, and the waiting messages are sent immediately.
func (s *Service) Update(ctx context.Context, e Endpoint) (Endpoint, error) {
	before, err := s.Get(ctx, e.ID)
	if err != nil {
		return Endpoint{}, err
	}
	if e.App != before.App || e.Prefix != before.Prefix {
		return Endpoint{}, &InputError{"App", "App and Prefix cannot be changed: create another endpoint"}
	}
	if err := s.check(&e); err != nil {
		return Endpoint{}, err
	}
	types, err := json.Marshal(e.Types)
	if err != nil {
		return Endpoint{}, fmt.Errorf("webhooks: %w", err)
	}
	now := s.o.Now().UnixMilli()
	fresh := before.Disabled && !e.Disabled || before.URL != e.URL
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		if err := found(tx.Exec(ctx, `UPDATE {webhook_endpoint} SET url = ?, types = ?, description = ?, disabled = ?,
			reason = CASE WHEN ? = 1 THEN reason ELSE '' END, version = version + 1, changed_at = ? WHERE endpoint_id = ?`,
			e.URL, string(types), e.Description, bit(e.Disabled), bit(e.Disabled), now, e.ID)); err != nil || !fresh {
			return err
		}
		return restart(ctx, tx, e.ID, now)
	})
	if err != nil {
		return Endpoint{}, wrapped(err, "update the endpoint "+e.ID)
	}
	s.refresh()
	return s.Get(ctx, e.ID)
}

// restart resets the failures of an endpoint, and ends the delays of its waiting messages.
func restart(ctx context.Context, tx *sqldb.Tx, id string, now int64) error {
	_, err := tx.Exec(ctx, `UPDATE {webhook_endpoint} SET failures = 0, failing_since = 0, hold_until = 0 WHERE endpoint_id = ?`, id)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE {webhook_letter} SET next_at = ? WHERE endpoint_id = ? AND dead = 0 AND next_at > ?`, now, id, now)
	}
	return err
}

// Enable enables an endpoint, resets its failures, and sends its waiting messages immediately. It has the same effect on an endpoint that
// is not disabled.
func (s *Service) Enable(ctx context.Context, id string) (Endpoint, error) {
	now := s.o.Now().UnixMilli()
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		err := found(tx.Exec(ctx, `UPDATE {webhook_endpoint} SET disabled = 0, reason = '', version = version + 1, changed_at = ?
			WHERE endpoint_id = ?`, now, id))
		if err != nil {
			return err
		}
		return restart(ctx, tx, id, now)
	})
	if err != nil {
		return Endpoint{}, wrapped(err, "enable the endpoint "+id)
	}
	s.refresh()
	return s.Get(ctx, id)
}

// found returns ErrNotFound if a statement changed no row.
func found(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return ErrNotFound
}

// Rotate adds a secret to an endpoint, a random one if it is empty, and returns it. Messages are also signed with the previous secret for
// the time overlap, which is 0 if the previous secret has become known to others.
func (s *Service) Rotate(ctx context.Context, id, next string, overlap time.Duration) (string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return "", &InputError{"overlap", fmt.Sprintf("the time must be between 0 and %s", MaxOverlap)}
	}
	next, err := secretOr(next)
	if err != nil {
		return "", err
	}
	now := s.o.Now()
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		if err := tx.Lock(ctx, "webhooks/rotate/"+id); err != nil {
			return err
		}
		var sealed string
		err := tx.QueryRow(ctx, `SELECT secrets FROM {webhook_endpoint} WHERE endpoint_id = ?`, id).Scan(&sealed)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		have, _ := s.unseal(id, sealed) // secrets that no key decrypts are replaced
		all := []secret{{Secret: next}}
		until := now.Add(overlap).UnixMilli()
		for _, x := range have {
			if x.Secret == next || overlap == 0 || len(all) == maxSecrets {
				continue
			}
			if x.Until == 0 || x.Until > until {
				x.Until = until
			}
			all = append(all, x)
		}
		if sealed, err = s.seal(id, all); err != nil {
			return err
		}
		return found(tx.Exec(ctx, `UPDATE {webhook_endpoint} SET secrets = ?, version = version + 1, changed_at = ? WHERE endpoint_id = ?`,
			sealed, now.UnixMilli(), id))
	})
	if err != nil {
		return "", wrapped(err, "rotate the secret of the endpoint "+id)
	}
	return next, nil
}

// Delete removes an endpoint with its letters.
func (s *Service) Delete(ctx context.Context, id string) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		if err := found(tx.Exec(ctx, `DELETE FROM {webhook_endpoint} WHERE endpoint_id = ?`, id)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM {webhook_cursor} WHERE endpoint_id = ?`, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM {webhook_letter} WHERE endpoint_id = ?`, id)
		return err
	})
	if err != nil {
		return wrapped(err, "delete the endpoint "+id)
	}
	s.refresh()
	return nil
}

// Query selects endpoints.
type Query struct {
	// Within selects the endpoints whose App or Prefix begins with it, for example those of a tenant. Default: all endpoints.
	Within string
	After  string // ID of the last endpoint of the previous page
	Limit  int    // Default: 100. Maximum: MaxPage
}

const selectEndpoint = `SELECT e.endpoint_id, e.scope, e.exact, e.url, e.types, e.description, e.version, e.disabled, e.reason, e.failures,
	e.failing_since, e.hold_until, e.last_error, e.delivered_at, e.dropped, e.created_at, e.changed_at,
	(SELECT COUNT(*) FROM {webhook_letter} l WHERE l.endpoint_id = e.endpoint_id AND l.dead = 0),
	(SELECT COUNT(*) FROM {webhook_letter} l WHERE l.endpoint_id = e.endpoint_id AND l.dead = 1) FROM {webhook_endpoint} e`

func scanEndpoint(scan func(...any) error) (e Endpoint, err error) {
	var scope, types string
	var exact, disabled, failing, held, delivered, created, changed int64
	err = scan(&e.ID, &scope, &exact, &e.URL, &types, &e.Description, &e.Version, &disabled, &e.Reason, &e.Failures, &failing, &held,
		&e.LastError, &delivered, &e.Dropped, &created, &changed, &e.Parked, &e.Dead)
	if err != nil {
		return Endpoint{}, err
	}
	if exact == 1 {
		e.App = scope
	} else {
		e.Prefix = scope
	}
	e.Disabled, e.FailingSince, e.HeldUntil = disabled == 1, timeOf(failing), timeOf(held)
	e.Delivered, e.Created, e.Changed = timeOf(delivered), timeOf(created), timeOf(changed)
	return e, json.Unmarshal([]byte(types), &e.Types)
}

// Get returns an endpoint, or ErrNotFound.
func (s *Service) Get(ctx context.Context, id string) (Endpoint, error) {
	e, err := scanEndpoint(s.db.Reader().QueryRow(ctx, selectEndpoint+` WHERE e.endpoint_id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Endpoint{}, ErrNotFound
	}
	return e, wrapped(err, "read the endpoint "+id)
}

// List lists endpoints, ascending by ID. Fewer than the limit end the list.
func (s *Service) List(ctx context.Context, q Query) ([]Endpoint, error) {
	where, args := ` WHERE e.endpoint_id > ?`, []any{q.After}
	if q.Within != "" {
		where += ` AND substr(e.scope, 1, ?) = ?`
		args = append(args, utf8.RuneCountInString(q.Within), q.Within)
	}
	rows, err := s.db.Reader().Query(ctx, selectEndpoint+where+` ORDER BY e.endpoint_id LIMIT ?`, append(args, limitOf(q.Limit))...)
	if err != nil {
		return nil, wrapped(err, "list endpoints")
	}
	defer rows.Close()
	var out []Endpoint
	for rows.Next() {
		e, err := scanEndpoint(rows.Scan)
		if err != nil {
			return nil, wrapped(err, "list endpoints")
		}
		out = append(out, e)
	}
	return out, wrapped(rows.Err(), "list endpoints")
}

func limitOf(n int) int {
	if n <= 0 {
		return 100
	}
	return min(n, MaxPage)
}

// headsPage is the number of apps whose last events are read at a time.
const headsPage = 10_000

// heads returns the numbers of the last events of all apps, by app.
func (s *Service) heads(ctx context.Context) (out []engine.EventHead, err error) {
	after := ""
	for {
		page, err := s.o.Source.EventHeads(ctx, after, headsPage)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) < headsPage {
			return out, nil
		}
		after = page[len(page)-1].App
	}
}

// setCursor stores the last event of an app that is delivered to an endpoint or has a letter.
func setCursor(ctx context.Context, tx *sqldb.Tx, id, app string, seq, at int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO {webhook_cursor} (endpoint_id, app_id, seq, at) VALUES (?, ?, ?, ?)
		ON CONFLICT (endpoint_id, app_id) DO UPDATE SET seq = excluded.seq, at = excluded.at`, id, app, seq, at)
	return err
}
