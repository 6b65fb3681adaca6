package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Letter is a message that could not be delivered.
type Letter struct {
	Endpoint string
	ID       string // header webhook-id of the message
	App      string
	Seq      int64
	Type     engine.EventType
	Kind     engine.Kind
	// Principal is the id of the user or group, empty for events of an app.
	Principal string
	Body      string
	Dead      bool // not retried
	Attempts  int
	Next      time.Time // of the next attempt; zero for a dead letter
	Created   time.Time
	Failed    time.Time // last failed attempt; zero if the message waits for an earlier one of the same user or group
	Status    int       // of the last response, 0 for none
	Error     string    // why the last attempt failed
}

// LetterQuery selects the letters of one endpoint, ascending by App, Seq and ID.
type LetterQuery struct {
	Endpoint string  // required
	Dead     bool    // dead letters. Default: messages that wait for a retry
	After    *Letter // the last letter of the previous page
	Limit    int     // Default: 100. Maximum: MaxPage
}

const letterColumns = `endpoint_id, message_id, app_id, seq, type, kind, principal_id, body, dead, attempts, next_at, created_at, failed_at,
	status, error`

func scanLetter(scan func(...any) error) (l Letter, err error) {
	var dead, next, created, failed int64
	err = scan(&l.Endpoint, &l.ID, &l.App, &l.Seq, &l.Type, &l.Kind, &l.Principal, &l.Body, &dead, &l.Attempts, &next, &created, &failed,
		&l.Status, &l.Error)
	if l.Dead = dead == 1; !l.Dead {
		l.Next = timeOf(next)
	}
	l.Created, l.Failed = timeOf(created), timeOf(failed)
	return l, err
}

// Letters lists letters. Fewer than the limit end the list. The list of an unknown endpoint is empty.
func (s *Service) Letters(ctx context.Context, q LetterQuery) ([]Letter, error) {
	where, args := ` WHERE endpoint_id = ? AND dead = ?`, []any{q.Endpoint, bit(q.Dead)}
	if q.After != nil {
		where += ` AND (app_id, seq, message_id) > (?, ?, ?)`
		args = append(args, q.After.App, q.After.Seq, q.After.ID)
	}
	rows, err := s.db.Reader().Query(ctx, `SELECT `+letterColumns+` FROM {webhook_letter}`+where+
		` ORDER BY app_id, seq, message_id LIMIT ?`, append(args, limitOf(q.Limit))...)
	if err != nil {
		return nil, wrapped(err, "list letters")
	}
	defer rows.Close()
	var out []Letter
	for rows.Next() {
		l, err := scanLetter(rows.Scan)
		if err != nil {
			return nil, wrapped(err, "list letters")
		}
		out = append(out, l)
	}
	return out, wrapped(rows.Err(), "list letters")
}

// Replay delivers a dead letter again, as soon as possible, or returns ErrNotFound. The endpoint receives its message after messages of
// later events. Further messages of the same user or group wait until it is delivered or a dead letter again.
func (s *Service) Replay(ctx context.Context, endpoint, message string) error {
	n, err := s.replay(ctx, endpoint, ` AND message_id = ?`, message)
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// ReplayAll replays all dead letters of an endpoint, and returns their number.
func (s *Service) ReplayAll(ctx context.Context, endpoint string) (int, error) {
	return s.replay(ctx, endpoint, "")
}

func (s *Service) replay(ctx context.Context, endpoint, where string, args ...any) (int, error) {
	var n int64
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		// The change of the row makes the owner of the endpoint read the letters, even in another process.
		err := found(tx.Exec(ctx, `UPDATE {webhook_endpoint} SET version = version + 1 WHERE endpoint_id = ?`, endpoint))
		if err != nil {
			return err
		}
		res, err := tx.Exec(ctx, `UPDATE {webhook_letter} SET dead = 0, attempts = 0, next_at = ? WHERE endpoint_id = ? AND dead = 1`+where,
			append([]any{s.o.Now().UnixMilli(), endpoint}, args...)...)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	if err != nil {
		return 0, wrapped(err, fmt.Sprintf("replay dead letters of %s", endpoint))
	}
	s.refresh()
	return int(n), nil
}

// Discard removes a dead letter, or returns ErrNotFound.
func (s *Service) Discard(ctx context.Context, endpoint, message string) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		return found(tx.Exec(ctx, `DELETE FROM {webhook_letter} WHERE endpoint_id = ? AND dead = 1 AND message_id = ?`, endpoint, message))
	})
	return wrapped(err, "discard a dead letter of "+endpoint)
}

// Prune removes dead letters older than Options.KeepDead, and returns their number. A running Service calls it every hour.
func (s *Service) Prune(ctx context.Context) (removed int64, err error) {
	before := s.o.Now().Add(-s.o.KeepDead).UnixMilli()
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, `DELETE FROM {webhook_letter} WHERE dead = 1 AND failed_at < ?`, before)
		if err != nil {
			return err
		}
		removed, err = res.RowsAffected()
		return err
	})
	return removed, wrapped(err, "remove old dead letters")
}
