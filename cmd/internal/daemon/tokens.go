package daemon

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/webhooks/webhooksapi"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// The permissions of tokens in addition to those of package engine.
const (
	scopeSecrets = webhooksapi.AccessSecrets // write credentials and passwords, which no operation returns; create secrets of webhooks
	scopeAdmin   = "admin"                   // create and revoke tokens of the tenant, read its audit log
)

// scopes are all permissions. A token with engine.AccessFleet has every permission for every tenant.
var scopes = []string{
	engine.AccessRead, engine.AccessWrite, engine.AccessApps, engine.AccessApprove, scopeSecrets, scopeAdmin, engine.AccessFleet,
}

// DefaultTenant is the tenant of tokens without another one.
const DefaultTenant = "default"

// bootstrap is the id of the token that Options.AdminToken sets, or that the first start creates.
const bootstrap = "bootstrap"

// minToken is the minimum length of a token that an operator chooses.
const minToken = 20

var tenantName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)

// token is a stored token, without its value.
type token struct {
	ID       string
	Tenant   string
	Name     string
	Scopes   []string
	Created  time.Time
	Expires  time.Time // zero: never
	LastUsed time.Time // zero: never
}

// has reports whether the token has a permission.
func (t *token) has(scope string) bool {
	return slices.Contains(t.Scopes, scope) || slices.Contains(t.Scopes, engine.AccessFleet)
}

// lacks returns the first of several permissions that the token does not have.
func (t *token) lacks(scopes ...string) (scope string, lacking bool) {
	for _, scope := range scopes {
		if !t.has(scope) {
			return scope, true
		}
	}
	return "", false
}

// newToken returns a random token.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return "swe_" + base64.RawURLEncoding.EncodeToString(b[:])
}

func digestOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

const selectTokens = `SELECT id, tenant, name, scopes, created, expires, last_used FROM {daemon_token} `

// scanToken reads a row of selectTokens.
func scanToken(scan func(...any) error) (token, error) {
	var t token
	var granted string
	var created, expires, used int64
	if err := scan(&t.ID, &t.Tenant, &t.Name, &granted, &created, &expires, &used); err != nil {
		return t, err
	}
	t.Scopes = strings.Fields(granted)
	t.Created, t.Expires, t.LastUsed = timeOf(created), timeOf(expires), timeOf(used)
	return t, nil
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

var errNoToken = errors.New("no such token")

// tokenOf returns the token with a value, or errNoToken.
func (d *database) tokenOf(ctx context.Context, value string) (token, error) {
	t, err := scanToken(d.reader().QueryRow(ctx, selectTokens+`WHERE digest = ?`, digestOf(value)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return t, errNoToken
	}
	return t, err
}

// tokens returns up to n tokens of a tenant after an id.
func (d *database) tokens(ctx context.Context, tenant, after string, n int) (all []token, err error) {
	rows, err := d.reader().Query(ctx, selectTokens+`WHERE tenant = ? AND id > ? ORDER BY id`+sqldb.Limit, tenant, after, n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		t, err := scanToken(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

// putToken stores a token, or replaces the one with the same id, except for the times of its creation and last use.
func putToken(ctx context.Context, tx *sqldb.Tx, t token, digest string) error {
	_, err := tx.Exec(ctx, `INSERT INTO {daemon_token} (id, tenant, name, digest, scopes, created, expires, last_used)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0)
		ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, name = excluded.name, digest = excluded.digest, scopes = excluded.scopes,
			expires = excluded.expires`,
		t.ID, t.Tenant, t.Name, digest, strings.Join(t.Scopes, " "), millis(t.Created), millis(t.Expires))
	return err
}

// deleteToken deletes a token of a tenant. It reports whether there was one.
func (d *database) deleteToken(ctx context.Context, tenant, id string) (found bool, err error) {
	err = d.update(ctx, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, `DELETE FROM {daemon_token} WHERE tenant = ? AND id = ?`, tenant, id)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		found = n > 0
		return err
	})
	return found, err
}

// hasAdminToken reports whether the database has an admin token.
func (d *database) hasAdminToken(ctx context.Context) (bool, error) {
	var n int
	err := d.reader().QueryRow(ctx, `SELECT COUNT(*) FROM {daemon_token} WHERE id = ?`, bootstrap).Scan(&n)
	if err != nil {
		err = fmt.Errorf("read the admin token: %w", err)
	}
	return n > 0, err
}

// bootstrapToken stores the admin token. Without one it creates a random token if the database has no token with this id, and returns its
// value, which is not stored.
func (d *database) bootstrapToken(ctx context.Context, given string, now time.Time) (created string, err error) {
	err = d.update(ctx, func(tx *sqldb.Tx) error {
		created = ""
		if err := tx.Lock(ctx, "daemon/bootstrap"); err != nil {
			return err
		}
		var digest string
		err := tx.QueryRow(ctx, `SELECT digest FROM {daemon_token} WHERE id = ?`, bootstrap).Scan(&digest)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		case err == nil && (given == "" || digest == digestOf(given)):
			return nil
		}
		value := given
		if value == "" {
			value = newToken()
			created = value
		}
		return putToken(ctx, tx, token{
			ID: bootstrap, Tenant: DefaultTenant, Name: "admin token", Scopes: []string{engine.AccessFleet}, Created: now,
		}, digestOf(value))
	})
	if err != nil {
		return "", fmt.Errorf("store the admin token: %w", err)
	}
	return created, nil
}
