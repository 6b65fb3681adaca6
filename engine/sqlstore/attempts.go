package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Record implements store.Attempts.
func (s *Store) Record(ctx context.Context, app string, exchanges []engine.Attempt) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error { return storeExchanges(ctx, tx, app, store.Finish{Exchanges: exchanges}) })
	if err != nil {
		return fmt.Errorf("sqlstore: record exchanges of %s: %w", app, err)
	}
	return nil
}

// storeExchanges stores the exchanges of f, with the principal of f, or without a principal if f.ID is empty. If the principal, or the app
// without a principal, then has more than keptExchanges, storeExchanges removes the oldest ones.
func storeExchanges(ctx context.Context, tx *sqldb.Tx, app string, f store.Finish) error {
	if len(f.Exchanges) == 0 {
		return nil
	}
	if tx.Dialect() == sqldb.Postgres {
		return storeExchangesAtOnce(ctx, tx, app, f)
	}
	for _, e := range f.Exchanges {
		_, err := tx.Exec(ctx, `INSERT INTO {sync_attempt} (app_id, kind, principal_id, gen, run_id, at, method, url, request_header,
			request_body, http, response_header, response_body, ms, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			app, string(f.Kind), f.ID, f.Gen, e.Run, ms(e.At), e.Method, text(e.URL), headerText(e.RequestHeader),
			text(e.RequestBody), e.Status, headerText(e.ResponseHeader), text(e.ResponseBody), e.Duration.Milliseconds(), text(e.Error))
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM {sync_attempt} WHERE app_id = ? AND kind = ? AND principal_id = ? AND id <= (
		SELECT id FROM {sync_attempt} WHERE app_id = ? AND kind = ? AND principal_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
		app, string(f.Kind), f.ID, app, string(f.Kind), f.ID, keptExchanges)
	return err
}

// storeExchangesAtOnce is storeExchanges with one statement. Its DELETE does not see the new rows.
func storeExchangesAtOnce(ctx context.Context, tx *sqldb.Tx, app string, f store.Finish) error {
	added, left, err := exchangeRows(f)
	if err == nil {
		_, err = tx.Exec(ctx, `WITH stored AS (`+insertExchanges+`) `+trimExchanges, app, added, app, left, app)
	}
	return err
}

// insertExchanges stores exchanges of principals. Parameters: the app, and a result of exchangeRows.
const insertExchanges = `INSERT INTO {sync_attempt} (app_id, kind, principal_id, gen, run_id, at, method, url,
		request_header, request_body, http, response_header, response_body, ms, error)
	SELECT CAST(? AS TEXT), v.* FROM json_to_recordset(CAST(? AS JSON)) AS v (kind TEXT, id TEXT, gen BIGINT, run TEXT, at BIGINT,
		method TEXT, url TEXT, sent TEXT, body TEXT, http BIGINT, got TEXT, answer TEXT, ms BIGINT, error TEXT)`

// trimExchanges removes the oldest exchanges of principals. Parameters: the app, a result of exchangeRows, and the app. PostgreSQL
// evaluates the array once, and without statistics searches for each of its ids.
const trimExchanges = `DELETE FROM {sync_attempt} WHERE app_id = ? AND id = ANY(ARRAY(
	SELECT old.id FROM json_to_recordset(CAST(? AS JSON)) AS p (kind TEXT, id TEXT, n BIGINT) CROSS JOIN LATERAL (
		SELECT id FROM {sync_attempt} WHERE app_id = ? AND kind = p.kind AND principal_id = p.id ORDER BY id DESC OFFSET p.n) AS old))`

// exchangeRows returns the new exchanges of principals, and the number of earlier exchanges that each of the principals retains.
func exchangeRows(all ...store.Finish) (added, left string, err error) {
	type row struct {
		Kind   string `json:"kind"`
		ID     string `json:"id"`
		Gen    int64  `json:"gen"`
		Run    string `json:"run"`
		At     int64  `json:"at"`
		Method string `json:"method"`
		URL    string `json:"url"`
		Sent   string `json:"sent"`
		Body   string `json:"body"`
		HTTP   int    `json:"http"`
		Got    string `json:"got"`
		Answer string `json:"answer"`
		MS     int64  `json:"ms"`
		Error  string `json:"error"`
	}
	type kept struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
		N    int    `json:"n"`
	}
	rows, keep := []row{}, []kept{}
	for _, f := range all {
		last := f.Exchanges[max(0, len(f.Exchanges)-keptExchanges):]
		for _, e := range last {
			rows = append(rows, row{string(f.Kind), f.ID, f.Gen, e.Run, ms(e.At), e.Method, text(e.URL), headerText(e.RequestHeader),
				text(e.RequestBody), e.Status, headerText(e.ResponseHeader), text(e.ResponseBody), e.Duration.Milliseconds(), text(e.Error)})
		}
		if len(last) > 0 {
			keep = append(keep, kept{string(f.Kind), f.ID, keptExchanges - len(last)})
		}
	}
	if added, err = sqldb.JSON(rows); err == nil {
		left, err = sqldb.JSON(keep)
	}
	return added, left, err
}

func headerText(h http.Header) string {
	b, _ := json.Marshal(h) //nolint:errchkjson // a header always has a JSON form
	return text(string(b))
}

// Attempts implements store.Attempts.
func (s *Store) Attempts(ctx context.Context, q engine.AttemptQuery) ([]engine.Attempt, error) {
	where, args := conditions(map[string]string{"app_id": q.App, "kind": string(q.Kind), "principal_id": q.Principal})
	if q.Before > 0 {
		where += ` AND id < ?`
		args = append(args, q.Before)
	}
	rows, err := s.db.Reader().Query(ctx, `SELECT id, app_id, kind, principal_id, gen, run_id, at, method, url, request_header,
		request_body, http, response_header, response_body, ms, error FROM {sync_attempt} WHERE `+where+` ORDER BY id DESC LIMIT ?`,
		append(args, limitOr(q.Limit))...)
	out, err := collect(rows, err, func(r *sql.Rows, a *engine.Attempt) error {
		var when, took int64
		var request, response string
		err := r.Scan(&a.ID, &a.App, &a.Kind, &a.Principal, &a.Gen, &a.Run, &when, &a.Method, &a.URL, &request,
			&a.RequestBody, &a.Status, &response, &a.ResponseBody, &took, &a.Error)
		if err != nil {
			return err
		}
		a.At, a.Duration = at(when), time.Duration(took)*time.Millisecond
		if err := json.Unmarshal([]byte(request), &a.RequestHeader); err != nil {
			return err
		}
		return json.Unmarshal([]byte(response), &a.ResponseHeader)
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: attempts: %w", err)
	}
	return out, nil
}

// conditions returns a WHERE condition for the columns with a nonempty value, and its arguments.
func conditions(values map[string]string) (string, []any) {
	parts, args := []string{"1 = 1"}, []any{}
	for _, column := range slices.Sorted(maps.Keys(values)) {
		if values[column] != "" {
			parts = append(parts, column+" = ?")
			args = append(args, values[column])
		}
	}
	return strings.Join(parts, " AND "), args
}

// defaultLimit is the page size of queries without a limit.
const defaultLimit = 100

func limitOr(n int) int {
	if n <= 0 {
		return defaultLimit
	}
	return n
}
