package suite

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console/tables"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Max is the maximum number of stored runs. A further run removes the oldest one.
const Max = 20

// maxReport is the maximum size of a report in bytes, after decompression.
const maxReport = 64 << 20

// State is the state of a run.
type State string

// The states of a run.
const (
	Running  State = "running"
	Done     State = "done"
	Canceled State = "canceled"
	Failed   State = "failed"
	// Aborted is the state of a run whose process ended before the run.
	Aborted State = "aborted"
)

// Run is a run without its report.
type Run struct {
	ID, Target string
	Profiles   string // names, separated by commas
	ReadOnly   bool
	By         string // name of the caller
	Started    time.Time
	Ended      time.Time // zero while the run is active
	State      State

	// These fields have values when the run has ended.

	Verdict                  conformance.Verdict
	Reason                   string // why the run is incomplete
	Failed, Warned           int    // checks
	Checks, Requests, Causes int
	Clients                  []Client
}

// Client is the result of one flow of a provisioning client.
type Client struct {
	Fit         conformance.Compatibility
	Name, Title string
}

// ByClient returns the results by client: the worst one of each, in the order of the report.
func (r Run) ByClient() (all []Client) {
	rank := []conformance.Compatibility{
		conformance.Breaks, conformance.UnknownCompatibility, conformance.WorksWithLimits, conformance.Works,
	}
	for _, c := range r.Clients {
		i := slices.IndexFunc(all, func(o Client) bool { return o.Name == c.Name })
		if i < 0 {
			all = append(all, c)
		} else if slices.Index(rank, c.Fit) < slices.Index(rank, all[i].Fit) {
			all[i] = c
		}
	}
	return all
}

// Took is the duration of a run that has ended.
func (r Run) Took() time.Duration {
	if r.Ended.IsZero() {
		return 0
	}
	return r.Ended.Sub(r.Started)
}

// add adds the numbers of a result.
func (r *Run) add(result *conformance.Result) {
	r.Verdict, r.Reason, r.Requests = result.Verdict, result.Reason, result.Requests
	r.Failed, r.Warned, r.Checks = result.Count(conformance.Fail), result.Count(conformance.Warn), len(result.Checks)
	r.Causes = len(causes.Of(result))
	for _, p := range result.Profiles {
		r.Clients = append(r.Clients, Client{p.Compatibility, p.Client, p.Title})
	}
}

var steps = []string{`
CREATE TABLE {console_run} (
	id        KEY PRIMARY KEY,
	target    TEXT NOT NULL,        -- base URL of the SCIM server
	profiles  TEXT NOT NULL,        -- separated by commas
	read_only BIGINT NOT NULL,      -- 1: the run created nothing
	caller    TEXT NOT NULL,
	started   BIGINT NOT NULL,      -- times are milliseconds since 1970
	ended     BIGINT NOT NULL,      -- 0 while the run is active
	state     TEXT NOT NULL,
	verdict   TEXT NOT NULL,
	reason    TEXT NOT NULL,
	failed    BIGINT NOT NULL,
	warned    BIGINT NOT NULL,
	checks    BIGINT NOT NULL,
	requests  BIGINT NOT NULL,
	causes    BIGINT NOT NULL,
	clients   TEXT NOT NULL,        -- one line for each client: compatibility, name and title, separated by tabs
	report    TEXT NOT NULL         -- the JSON report, compressed with gzip, in base64
);
CREATE INDEX {.console_run_started} ON {console_run} (started);`, `
-- The checks of the report without their findings, as JSON, compressed with gzip, in base64. Empty: the run has no report, or is older.
ALTER TABLE {console_run} ADD COLUMN outline TEXT NOT NULL DEFAULT '';`}

// Store stores runs. It may be used by several goroutines.
type Store struct {
	tables *tables.Tables
	now    func() time.Time
}

// Open creates or upgrades the table in a database. Default of now: time.Now.
func Open(ctx context.Context, db *sqldb.DB, now func() time.Time) (*Store, error) {
	if now == nil {
		now = time.Now
	}
	named, err := tables.Open(ctx, db, sqldb.Steps{Name: "conformance runs", Texts: steps, First: "console_run"})
	return &Store{named, now}, err
}

const columns = `id, target, profiles, read_only, caller, started, ended, state, verdict, reason, failed, warned, checks, requests, causes,
	clients`

// Begin stores a run that begins, and removes the oldest runs.
func (s *Store) Begin(ctx context.Context, r Run) error {
	err := s.tables.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM {console_run} WHERE id IN (
			SELECT id FROM {console_run} ORDER BY started DESC, id LIMIT 1000000 OFFSET ?)`, Max-1)
		if err != nil {
			return err
		}
		readOnly := 0
		if r.ReadOnly {
			readOnly = 1
		}
		_, err = tx.Exec(ctx, `INSERT INTO {console_run} (`+columns+`, report)
			VALUES (?, ?, ?, ?, ?, ?, 0, ?, '', '', 0, 0, 0, 0, 0, '', '')`,
			r.ID, r.Target, r.Profiles, readOnly, r.By, r.Started.UnixMilli(), string(r.State))
		return err
	})
	if err != nil {
		return fmt.Errorf("store the conformance run: %w", err)
	}
	return nil
}

// End stores the result of a run with its JSON report, which may be empty.
func (s *Store) End(ctx context.Context, r Run, document []byte) error {
	text, err := pack(document)
	if err != nil {
		return err
	}
	outline, err := outlineOf(document)
	if err != nil {
		return err
	}
	var clients []string
	for _, c := range r.Clients {
		clients = append(clients, strings.Join([]string{string(c.Fit), c.Name, c.Title}, "\t"))
	}
	err = s.tables.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {console_run} SET ended = ?, state = ?, verdict = ?, reason = ?, failed = ?, warned = ?, checks = ?,
			requests = ?, causes = ?, clients = ?, report = ?, outline = ? WHERE id = ?`,
			r.Ended.UnixMilli(), string(r.State), string(r.Verdict), r.Reason, r.Failed, r.Warned, r.Checks, r.Requests, r.Causes,
			strings.Join(clients, "\n"), text, outline, r.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("store the result of the conformance run: %w", err)
	}
	return nil
}

// List returns all runs, newest first.
func (s *Store) List(ctx context.Context) (all []Run, err error) {
	rows, err := s.tables.Reader().Query(ctx, `SELECT `+columns+` FROM {console_run} ORDER BY started DESC, id`)
	if err != nil {
		return nil, fmt.Errorf("list the conformance runs: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		r, err := s.scan(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("list the conformance runs: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// ErrNone is the error for an unknown run, and for a run without a report.
var ErrNone = errors.New("suite: no such run")

// Get returns a run, or ErrNone.
func (s *Store) Get(ctx context.Context, id string) (Run, error) {
	r, err := s.scan(s.tables.Reader().QueryRow(ctx, `SELECT `+columns+` FROM {console_run} WHERE id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return r, ErrNone
	}
	if err != nil {
		return r, fmt.Errorf("read the conformance run: %w", err)
	}
	return r, nil
}

func (s *Store) scan(scan func(into ...any) error) (r Run, err error) {
	var readOnly, started, ended int64
	var clients string
	err = scan(&r.ID, &r.Target, &r.Profiles, &readOnly, &r.By, &started, &ended, &r.State, &r.Verdict, &r.Reason, &r.Failed, &r.Warned,
		&r.Checks, &r.Requests, &r.Causes, &clients)
	if err != nil {
		return r, err
	}
	r.ReadOnly, r.Started = readOnly == 1, time.UnixMilli(started)
	if ended > 0 {
		r.Ended = time.UnixMilli(ended)
	}
	if r.State == Running && s.now().Sub(r.Started) > Limit+2*endTime {
		r.State, r.Reason = Aborted, "The server stopped during the run. Objects of the run may remain on the target."
	}
	for line := range strings.SplitSeq(clients, "\n") {
		if parts := strings.Split(line, "\t"); len(parts) == 3 {
			r.Clients = append(r.Clients, Client{conformance.Compatibility(parts[0]), parts[1], parts[2]})
		}
	}
	return r, nil
}

// JSON returns the JSON report of a run, or ErrNone.
func (s *Store) JSON(ctx context.Context, id string) ([]byte, error) {
	var text string
	err := s.tables.Reader().QueryRow(ctx, `SELECT report FROM {console_run} WHERE id = ?`, id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) || err == nil && text == "" {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("read the report of the conformance run: %w", err)
	}
	return unpack(text)
}

// outlineOf returns the checks of a report without their findings, in the form of the column outline.
func outlineOf(document []byte) (string, error) {
	if len(document) == 0 {
		return "", nil
	}
	d, err := report.Parse(document)
	if err != nil {
		return "", err
	}
	checks := make([]report.Check, 0, len(d.Checks))
	for _, c := range d.Checks {
		checks = append(checks, report.Check{ID: c.ID, Title: c.Title, Outcome: c.Outcome, Reason: c.Reason, Waived: c.Waived})
	}
	data, err := json.Marshal(checks)
	if err != nil {
		return "", fmt.Errorf("store the checks of the conformance run: %w", err)
	}
	return pack(data)
}

// Outline returns the report of a run with the members of its checks that report.Compare reads.
func (s *Store) Outline(ctx context.Context, id string) (d report.Document, err error) {
	var text string
	err = s.tables.Reader().QueryRow(ctx, `SELECT outline FROM {console_run} WHERE id = ?`, id).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return d, fmt.Errorf("read the checks of the conformance run: %w", err)
	}
	if text == "" {
		return s.Report(ctx, id)
	}
	data, err := unpack(text)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(data, &d.Checks); err != nil {
		return d, fmt.Errorf("read the checks of the conformance run: %w", err)
	}
	return d, nil
}

// Report returns the report of a run, or ErrNone.
func (s *Store) Report(ctx context.Context, id string) (report.Document, error) {
	data, err := s.JSON(ctx, id)
	if err != nil {
		return report.Document{}, err
	}
	return report.Parse(data)
}

func pack(data []byte) (string, error) {
	if len(data) == 0 {
		return "", nil
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		return "", fmt.Errorf("compress the report: %w", err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

func unpack(text string) ([]byte, error) {
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil, fmt.Errorf("decompress the report: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxReport))
	if err != nil {
		return nil, fmt.Errorf("decompress the report: %w", err)
	}
	return data, nil
}
