// Package session stores the sessions of the console and its one-time login codes, in the database of the host, so that processes that
// share a database share them.
//
// The cookie of a session is a random value, and the database has only its digest. The credential of the session is encrypted with a key
// that is derived from the cookie, so that the database alone gives access to no credential.
package session

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console/tables"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// The lifetimes. A session ends at the latest Lifetime after the login, and Idle after its last request.
const (
	Lifetime     = 12 * time.Hour
	Idle         = 2 * time.Hour
	CodeLifetime = time.Hour
)

// Max is the maximum number of sessions in a database. A further login removes the session that has not been used for the longest time.
const Max = 200

// usedStep is the accuracy of the time of the last use, so that not every request is a write.
const usedStep = time.Minute

// ErrNone is the error for a cookie without a valid session.
var ErrNone = errors.New("session: not logged in")

var steps = []string{`
CREATE TABLE {console_session} (
	digest     KEY PRIMARY KEY,             -- SHA-256 of the cookie, in hexadecimal
	host       TEXT NOT NULL,               -- the host name of the login
	credential TEXT NOT NULL,               -- encrypted with a key that is derived from the cookie
	granted    BIGINT NOT NULL,             -- 1: the credential was created for the session
	created    BIGINT NOT NULL,             -- times are milliseconds since 1970
	used       BIGINT NOT NULL
);
CREATE INDEX {.console_session_used} ON {console_session} (used);

CREATE TABLE {console_code} (
	digest  KEY PRIMARY KEY,                -- SHA-256 of the code, in hexadecimal
	expires BIGINT NOT NULL
);`}

// Store stores sessions and codes. It may be used by several goroutines.
type Store struct {
	tables *tables.Tables
	now    func() time.Time
}

// Open creates or upgrades the tables in a database. The clock is not that of the host, which an operator may move. Default: time.Now.
func Open(ctx context.Context, db *sqldb.DB, now func() time.Time) (*Store, error) {
	if now == nil {
		now = time.Now
	}
	named, err := tables.Open(ctx, db, sqldb.Steps{Name: "console", Texts: steps, First: "console_session"})
	return &Store{named, now}, err
}

// Session is a valid session.
type Session struct {
	Credential string // of the API
	Granted    bool   // the credential was created for this session
	CSRF       string // token of the forms
	Created    time.Time
	Expires    time.Time
}

// Create stores a session for a host name and returns its cookie.
func (s *Store) Create(ctx context.Context, host, credential string, granted bool) (cookie string, err error) {
	cookie = random()
	sealed, err := sealed(cookie, credential)
	if err != nil {
		return "", err
	}
	now := s.now()
	err = s.tables.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM {console_session} WHERE created <= ? OR used <= ?`,
			now.Add(-Lifetime).UnixMilli(), now.Add(-Idle).UnixMilli())
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM {console_session} WHERE digest IN (
			SELECT digest FROM {console_session} ORDER BY used DESC, digest LIMIT 1000000 OFFSET ?)`, Max-1)
		if err != nil {
			return err
		}
		flag := 0
		if granted {
			flag = 1
		}
		_, err = tx.Exec(ctx, `INSERT INTO {console_session} (digest, host, credential, granted, created, used) VALUES (?, ?, ?, ?, ?, ?)`,
			digest(cookie), host, sealed, flag, now.UnixMilli(), now.UnixMilli())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store the session: %w", err)
	}
	return cookie, nil
}

// Get returns the session of a cookie for a host name, or ErrNone.
func (s *Store) Get(ctx context.Context, host, cookie string) (Session, error) {
	var stored, text string
	var granted, created, used int64
	err := s.tables.Reader().QueryRow(ctx, `SELECT host, credential, granted, created, used FROM {console_session} WHERE digest = ?`,
		digest(cookie)).Scan(&stored, &text, &granted, &created, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, ErrNone
	}
	if err != nil {
		return Session{}, fmt.Errorf("read the session: %w", err)
	}
	now, begun, last := s.now(), time.UnixMilli(created), time.UnixMilli(used)
	if stored != host || !now.Before(begun.Add(Lifetime)) || !now.Before(last.Add(Idle)) {
		return Session{}, ErrNone
	}
	credential, err := opened(cookie, text)
	if err != nil {
		return Session{}, ErrNone
	}
	if now.Sub(last) >= usedStep {
		err := s.tables.Update(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE {console_session} SET used = ? WHERE digest = ?`, now.UnixMilli(), digest(cookie))
			return err
		})
		if err != nil {
			return Session{}, fmt.Errorf("update the session: %w", err)
		}
	}
	return Session{
		Credential: credential, Granted: granted != 0, CSRF: derived(cookie, "form"), Created: begun, Expires: begun.Add(Lifetime),
	}, nil
}

// Delete ends the session of a cookie.
func (s *Store) Delete(ctx context.Context, cookie string) error {
	err := s.tables.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM {console_session} WHERE digest = ?`, digest(cookie))
		return err
	})
	if err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return nil
}

// NewCode stores and returns a one-time code.
func (s *Store) NewCode(ctx context.Context) (string, error) {
	code := random()
	now := s.now()
	err := s.tables.Update(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM {console_code} WHERE expires <= ?`, now.UnixMilli()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO {console_code} (digest, expires) VALUES (?, ?)`, digest(code), now.Add(CodeLifetime).UnixMilli())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store the login code: %w", err)
	}
	return code, nil
}

// UseCode removes a code and reports whether it was valid. Of several callers with one code, one gets true.
func (s *Store) UseCode(ctx context.Context, code string) (valid bool, err error) {
	err = s.tables.Update(ctx, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, `DELETE FROM {console_code} WHERE digest = ? AND expires > ?`, digest(code), s.now().UnixMilli())
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		valid = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("use the login code: %w", err)
	}
	return valid, nil
}

// Equal compares two tokens in constant time.
func Equal(a, b string) bool { return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func random() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// derived returns a value that depends on the cookie and a purpose, from which the cookie cannot be computed.
func derived(cookie, purpose string) string {
	return base64.RawURLEncoding.EncodeToString(keyOf(cookie, purpose))
}

func keyOf(cookie, purpose string) []byte {
	h := hmac.New(sha256.New, []byte(cookie))
	h.Write([]byte("scimwright console " + purpose))
	return h.Sum(nil)
}

func sealed(cookie, credential string) (string, error) {
	key, err := seal.New(keyOf(cookie, "credential"))
	if err != nil {
		return "", err
	}
	return key.Seal(credential, digest(cookie))
}

func opened(cookie, text string) (string, error) {
	key, err := seal.New(keyOf(cookie, "credential"))
	if err != nil {
		return "", err
	}
	return key.Open(text, digest(cookie))
}
