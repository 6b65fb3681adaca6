// Package riverjobs runs the jobs of package jobs with River (github.com/riverqueue/river) on a PostgreSQL database that several processes
// share. One process at a time, the leader, starts periodic and delayed jobs. The tables are in a schema of their own, in which riverui
// shows the jobs.
//
// A process that was killed leaves a running job, which another process starts again after Options.Dead. Each process therefore renews its
// running jobs four times in Options.Dead. If it cannot reach the database, it cancels its running jobs after nine tenths of Options.Dead,
// before another process starts them.
package riverjobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/scimwright/scimwright/engine/jobs"
)

// Options configures a Scheduler. The zero value is suitable for production.
type Options struct {
	// Schema is the PostgreSQL schema of the tables: lower-case letters, digits and underscores, at most 40. Open creates it if it does not
	// exist. Programs that share a schema share the jobs. Default: DefaultSchema.
	Schema string
	// Workers and LongWorkers are the maximum numbers of jobs that one process runs concurrently. LongWorkers applies to kinds with Long.
	// Defaults: 8 and 4.
	Workers, LongWorkers int
	// Poll is the interval between two queries for jobs. A process starts the jobs that it inserts itself immediately. Default: 2s.
	Poll time.Duration
	// Dead is the time after which the job of a process that no longer responds starts again. Default: 10s.
	Dead time.Duration
	// Logger receives errors of jobs and warnings of River. Default: slog.Default.
	Logger *slog.Logger
}

// DefaultSchema is the default of Options.Schema.
const DefaultSchema = "scimwright_river"

const (
	defaultWorkers     = 8
	defaultLongWorkers = 4
	defaultPoll        = 2 * time.Second
	defaultDead        = 10 * time.Second
	minPoll            = 10 * time.Millisecond
	minDead            = 100 * time.Millisecond
	minPeriod          = time.Second // River's minimum

	// The queues, which riverui shows. Long jobs have their own, so that they do not delay the others.
	queue     = "scimwright"
	longQueue = "scimwright_long"
)

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// Scheduler implements jobs.Scheduler.
type Scheduler struct {
	o      Options
	pool   *pgxpool.Pool
	id     string // of this process
	kinds  map[string]jobs.Kind
	insert *river.Client[pgx.Tx] // inserts and lists, and runs nothing

	stopping chan struct{}
	held     held

	mu      sync.Mutex
	client  *river.Client[pgx.Tx] // runs jobs; nil before Start
	stopped bool
	beating context.CancelFunc
	beaten  chan struct{} // closed when the heartbeat has ended
}

var _ jobs.Scheduler = (*Scheduler)(nil)

// polls is River's driver without LISTEN and NOTIFY, which do not work through PgBouncer in transaction mode. River then polls, and starts
// the jobs that this process inserts immediately.
//
// River also reads every two seconds whether a queue is paused. This package pauses no queue, so the state is cached: see queues.
type polls struct {
	*riverpgxv5.Driver
	queues *queues
}

func newPolls(pool *pgxpool.Pool) polls {
	driver := riverpgxv5.New(pool)
	return polls{driver, &queues{Executor: driver.GetExecutor(), known: map[string]knownQueue{}}}
}

// GetExecutor implements riverdriver.Driver.
func (p polls) GetExecutor() riverdriver.Executor { return p.queues }

// SupportsListener implements riverdriver.Driver.
func (polls) SupportsListener() bool { return false }

// SupportsListenNotify implements riverdriver.Driver.
func (polls) SupportsListenNotify() bool { return false }

// Open returns a scheduler on a pool of connections. It creates or upgrades River's tables; processes that open at the same time wait for
// each other. The caller closes the pool after Stop.
//
// River polls and needs no LISTEN, so that the connections may belong to PgBouncer in transaction mode. The connection string then needs
// the parameter default_query_exec_mode=cache_describe.
func Open(ctx context.Context, pool *pgxpool.Pool, o Options) (*Scheduler, error) {
	if err := o.fill(pool); err != nil {
		return nil, err
	}
	if err := checkSessions(ctx, pool); err != nil {
		return nil, fmt.Errorf("riverjobs: %w", err)
	}
	if err := migrate(ctx, pool, o); err != nil {
		return nil, fmt.Errorf("riverjobs: the tables in the schema %s: %w", o.Schema, err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("riverjobs: %w", err)
	}
	s := &Scheduler{
		o: o, pool: pool, kinds: map[string]jobs.Kind{}, stopping: make(chan struct{}),
		id: host[:min(len(host), maxHost)] + "_" + rand.Text(), held: held{jobs: map[int64]*attempt{}},
	}
	s.insert, err = river.NewClient(newPolls(pool), &river.Config{ID: s.id, Schema: o.Schema, Logger: s.logger()})
	if err != nil {
		return nil, fmt.Errorf("riverjobs: %w", err)
	}
	return s, nil
}

// maxHost limits the part of a host name in the id of a process, which River limits to 100.
const maxHost = 64

func (o *Options) fill(pool *pgxpool.Pool) error {
	o.Schema = cmp.Or(o.Schema, DefaultSchema)
	o.Workers = cmp.Or(o.Workers, defaultWorkers)
	o.LongWorkers = cmp.Or(o.LongWorkers, defaultLongWorkers)
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	o.Dead = cmp.Or(o.Dead, defaultDead)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case !schemaName.MatchString(o.Schema):
		return fmt.Errorf("riverjobs: invalid schema %q: use at most 40 lower-case letters, digits and underscores", o.Schema)
	case o.Workers < 0 || o.LongWorkers < 0:
		return errors.New("riverjobs: Workers and LongWorkers must not be negative")
	case o.Poll < minPoll || o.Dead < minDead:
		return fmt.Errorf("riverjobs: Poll must be at least %s and Dead at least %s", minPoll, minDead)
	case pool.Config().MaxConns < minConns:
		return fmt.Errorf("riverjobs: the pool needs at least %d connections: set pool_max_conns", minConns)
	}
	return nil
}

// minConns is the minimum size of the pool: one connection for the heartbeat, one for the leader, and two for jobs.
const minConns = 4

// Register implements jobs.Scheduler.
func (s *Scheduler) Register(kinds ...jobs.Kind) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return errors.New("riverjobs: the scheduler was started: register the kinds before")
	}
	for _, k := range kinds {
		if err := k.Check(); err != nil {
			return err
		}
		if _, ok := s.kinds[k.Name]; ok {
			return fmt.Errorf("riverjobs: the kind %s is already registered", k.Name)
		}
		s.kinds[k.Name] = k
	}
	return nil
}

// args are the arguments of a job. The kind is not stored in the arguments.
type args struct {
	kind string
	Key  string `json:"key" river:"unique"`
}

// Kind implements river.JobArgs.
func (a args) Kind() string { return a.kind }

// insertOptions returns the options of a job of a kind.
func insertOptions(k jobs.Kind) *river.InsertOpts {
	o := &river.InsertOpts{Queue: queue, MaxAttempts: k.Attempts, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning,
		rivertype.JobStateScheduled,
	}}}
	if k.Long {
		o.Queue = longQueue
	}
	return o
}

// Insert implements jobs.Scheduler.
func (s *Scheduler) Insert(ctx context.Context, kind, key string, after time.Duration) error {
	s.mu.Lock()
	k, known := s.kinds[kind]
	client := s.insert
	if s.client != nil && !s.stopped {
		client = s.client
	}
	s.mu.Unlock()
	if !known {
		return fmt.Errorf("%w: %s", jobs.ErrUnknownKind, kind)
	}
	o := insertOptions(k)
	if after > 0 {
		o.ScheduledAt = time.Now().Add(after)
	}
	r, err := client.Insert(ctx, args{kind: kind, Key: key}, o)
	if err == nil && r.UniqueSkippedAsDuplicate {
		err = s.advance(ctx, r.Job.ID, after)
	}
	if err != nil {
		return fmt.Errorf("riverjobs: insert the job %s %s: %w", kind, key, err)
	}
	return nil
}

// List implements jobs.Scheduler.
func (s *Scheduler) List(ctx context.Context, q jobs.Query) ([]jobs.Info, error) {
	p := river.NewJobListParams().OrderBy(river.JobListOrderByID, river.SortOrderDesc)
	if q.Limit > 0 {
		p = p.First(q.Limit)
	}
	if q.Kind != "" {
		p = p.Kinds(q.Kind)
	}
	if q.State != "" {
		var of []rivertype.JobState
		for _, state := range rivertype.JobStates() {
			if stateOf(state) == q.State {
				of = append(of, state)
			}
		}
		p = p.States(of...)
	}
	found, err := s.insert.JobList(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("riverjobs: list: %w", err)
	}
	out := make([]jobs.Info, len(found.Jobs))
	for i, j := range found.Jobs {
		if out[i], err = infoOf(j); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Start implements jobs.Scheduler.
func (s *Scheduler) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("riverjobs: the scheduler was stopped: create a new one")
	}
	if s.client != nil || len(s.kinds) == 0 {
		return nil
	}
	workers := river.NewWorkers()
	var periodic []*river.PeriodicJob
	for name, k := range s.kinds {
		river.AddWorkerArgs(workers, args{kind: name}, &worker{s: s, kind: k})
		if k.Every > 0 {
			periodic = append(periodic, river.NewPeriodicJob(river.PeriodicInterval(max(k.Every, minPeriod)),
				func() (river.JobArgs, *river.InsertOpts) { return args{kind: name}, insertOptions(k) },
				&river.PeriodicJobOpts{ID: name, RunOnStart: true}))
		}
	}
	client, err := river.NewClient(newPolls(s.pool), &river.Config{
		ID: s.id, Schema: s.o.Schema, Logger: s.logger(), ErrorHandler: &errorLog{s.o.Logger},
		Queues:              map[string]river.QueueConfig{queue: {MaxWorkers: s.o.Workers}, longQueue: {MaxWorkers: s.o.LongWorkers}},
		Workers:             workers,
		PeriodicJobs:        periodic,
		FetchOnlyKnownKinds: true, // processes of another version may have other kinds
		FetchPollInterval:   s.o.Poll,
		FetchCooldown:       min(s.o.Poll, river.FetchCooldownDefault),
		JobTimeout:          -1, // River neither cancels nor restarts a job that runs for long: heartbeats restart the jobs of dead processes
	})
	if err == nil {
		err = client.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		return fmt.Errorf("riverjobs: start: %w", err)
	}
	s.client = client
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.beating, s.beaten = stop, make(chan struct{})
	go func() { defer close(s.beaten); s.beat(beating) }()
	return nil
}

// Stop implements jobs.Scheduler.
func (s *Scheduler) Stop(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stopping)
	}
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return nil
	}
	var canceled error
	if err := client.Stop(ctx); err != nil {
		canceled = fmt.Errorf("riverjobs: running jobs were canceled: %w", err)
		if err := client.StopAndCancel(context.WithoutCancel(ctx)); err != nil {
			canceled = errors.Join(canceled, err)
		}
	}
	s.beating()
	<-s.beaten
	return canceled
}
