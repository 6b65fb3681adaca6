package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A batch is committed when no caller is waiting or expected, when it has taken long enough, see gathering, or when it reaches one of these
// limits. They bound the time that the first caller of a batch waits for the other callers.
const (
	maxBatch     = 256
	maxBatchTime = 20 * time.Millisecond
)

// group is the group commit of SQLite. Its goroutine opens a transaction for the first waiting caller, gives the writer slot to one waiting
// caller after the other, and commits for all of them. A caller runs its function in its own goroutine, so that a panic or a runtime.Goexit
// there (t.FailNow) cannot stop the writer.
type group struct {
	writer    *sql.DB
	texts     *rewriter
	rows      *cachedRows
	points    *checkpointer // or nil
	jobs      chan *job     // unbuffered: the writer sends a result for every job that it has received
	turns     chan *turn    // unbuffered, likewise
	committed chan struct{} // buffered: receives after a commit
	closing   chan struct{} // closed by stop
	stopped   chan struct{} // closed when the goroutine has returned
	once      sync.Once
	callers   atomic.Int32     // goroutines in update
	gather    gathering        // used by loop
	idle      sync.Pool        // of *job, for the next updates
	shared    map[string]int64 // see Tx.Shared
	written   []*job           // the jobs whose changes are part of the present transaction
}

// job is one caller's update in a group commit.
type job struct {
	slot      chan *Tx      // passes the writer slot to the caller
	tx        *Tx           // that was passed
	left      chan struct{} // closed if the caller stopped waiting for the slot
	ran       chan error    // the error of the caller's function; passes the slot back
	done      chan error    // result of the update, buffered
	unguarded bool          // see DB.UpdateUnguarded
}

func startGroup(writer *sql.DB, texts *rewriter, rows *cachedRows, points *checkpointer) *group {
	g := &group{
		writer:    writer,
		texts:     texts,
		rows:      rows,
		points:    points,
		jobs:      make(chan *job),
		turns:     make(chan *turn),
		committed: make(chan struct{}, 1),
		closing:   make(chan struct{}),
		stopped:   make(chan struct{}),
		shared:    map[string]int64{},
	}
	go g.loop()
	return g
}

func (g *group) stop() {
	g.once.Do(func() { close(g.closing) })
	<-g.stopped
}

// update submits a job and waits for its result.
func (g *group) update(ctx context.Context, db *DB, unguarded bool, fn func(tx *Tx) error) error {
	g.callers.Add(1)
	defer g.callers.Add(-1)
	j, ok := g.idle.Get().(*job)
	if !ok {
		j = &job{slot: make(chan *Tx), left: make(chan struct{}), ran: make(chan error), done: make(chan error, 1)}
	}
	j.unguarded = unguarded
	select {
	case <-g.closing: // checked separately: the next select chooses at random if the DB is closed and the job can be sent
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
	}
	select {
	case g.jobs <- j:
	case <-g.closing:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var tx *Tx
	select {
	case tx = <-j.slot:
	case err := <-j.done: // the transaction could not be opened
		return err
	case <-ctx.Done():
		close(j.left)
		return context.Cause(ctx)
	}
	j.run(ctx, db, tx, fn)
	err := <-j.done
	j.tx = nil
	g.idle.Put(j) // the writer has sent the result, and does not use the job any more
	if err != nil {
		return err
	}
	db.afterCommit(tx)
	return nil
}

var errGoexit = errors.New("sqldb: goroutine exited inside a transaction")

// run takes the writer slot and returns it, even if fn panics.
func (j *job) run(ctx context.Context, db *DB, tx *Tx, fn func(tx *Tx) error) {
	err := errGoexit
	defer func() { j.ran <- err }()
	err = db.run(tx, fn)
	if err == nil && !tx.committing() {
		err = context.Cause(ctx)
	}
}

// loop is the writer goroutine.
func (g *group) loop() {
	defer close(g.stopped)
	for batches := 1; ; batches++ {
		select {
		case j := <-g.jobs:
			g.batch(j)
			if g.points != nil && batches%inspectEvery == 0 {
				g.points.report(g.take(g.points.inspect))
			}
		case t := <-g.turns:
			t.done <- g.take(t.fn)
		case <-g.closing:
			return
		}
	}
}

// turn is work on the connection of the writer that needs no transaction.
type turn struct {
	fn   func(ctx context.Context, conn *sql.Conn) error
	done chan error
}

// between runs fn on the connection of the writer, between two batches.
func (g *group) between(fn func(ctx context.Context, conn *sql.Conn) error) error {
	t := &turn{fn: fn, done: make(chan error)}
	select {
	case g.turns <- t:
		return <-t.done
	case <-g.closing:
		return ErrClosed
	}
}

func (g *group) take(fn func(ctx context.Context, conn *sql.Conn) error) error {
	ctx := context.Background()
	conn, err := g.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it only returns the connection to the pool
	g.rows.began()
	g.rows.commits(nil)
	defer g.rows.committed(conn, nil)
	return fn(ctx, conn)
}

// batch runs the job first and then the waiting jobs in one transaction, and commits them together. It begins and ends the transaction with
// statements on the connection, because a transaction of database/sql starts a goroutine that watches its context, and one more for each
// query.
func (g *group) batch(first *job) {
	// Many callers share the transaction, so none of their contexts may end it.
	ctx := context.Background()
	conn, err := g.writer.Conn(ctx)
	if err == nil {
		defer conn.Close() //nolint:errcheck // it only returns the connection to the pool
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		first.done <- fmt.Errorf("sqldb: begin: %w", err)
		return
	}
	g.rows.began()
	clear(g.shared)
	started := time.Now()
	// The first job needs no savepoint: if it fails, the transaction contains nothing else. Usually it is the only job. Under a savepoint
	// SQLite copies the pages that change, into a file if they exceed 64 KiB.
	err = g.run(first, g.tx(conn, first))
	if err == nil && ended(conn) {
		err = errLost
	}
	if err != nil {
		rollback(conn)
		first.done <- err
		return
	}
	g.written = append(g.written, first)
	for j := g.next(len(g.written), started); j != nil; j = g.next(len(g.written), started) {
		serve := g.serve
		if j.unguarded {
			serve = g.serveUnguarded
		}
		ok, alive := serve(conn, j)
		if ok {
			g.written = append(g.written, j)
		}
		if !alive {
			rollback(conn)
			g.answer(errLost)
			return
		}
	}
	g.rows.commits(g.written)
	committing := time.Now()
	if _, err = conn.ExecContext(ctx, "COMMIT"); err != nil {
		rollback(conn)
		err = fmt.Errorf("sqldb: commit: %w", err)
	}
	g.rows.committed(conn, g.written)
	g.gather.committed(time.Since(committing), int(g.callers.Load()))
	g.answer(err)
	select {
	case g.committed <- struct{}{}:
	default:
	}
}

// ended reports whether SQLite has ended the transaction on its own. The RELEASE of a savepoint fails in that case. The first job of a
// batch has no savepoint, so batch calls ended after that job.
func ended(conn *sql.Conn) (over bool) {
	err := conn.Raw(func(c any) error {
		sqlite, ok := c.(interface{ AutoCommit() bool })
		over = ok && sqlite.AutoCommit()
		return nil
	})
	return over || err != nil
}

// rollback ends the transaction, if it is still open. If that fails, the connection is discarded, because the next transaction could not
// begin on it.
func rollback(conn *sql.Conn) {
	_, err := conn.ExecContext(context.Background(), "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// errLost is returned to the callers whose completed work was discarded with the transaction. SQLite discards it when the disk is full or
// fails, and serveUnguarded when an update breaks its contract.
var errLost = errors.New("sqldb: the transaction was rolled back with another update, for example because the disk is full: retry the " +
	"update")

// answer sends the result of the transaction to its callers.
func (g *group) answer(err error) {
	for _, j := range g.written {
		j.done <- err
	}
	clear(g.written)
	g.written = g.written[:0]
}

// next returns the next waiting job of the batch, or nil if the batch is to be committed now.
func (g *group) next(size int, started time.Time) *job {
	if g.gather.full(size, time.Since(started)) {
		return nil
	}
	for range 2 {
		select {
		case j := <-g.jobs:
			return j
		default:
			// Let other goroutines run: a caller whose update was committed last may submit another update.
			runtime.Gosched()
		}
	}
	if limit := g.gather.limit(size); limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case j := <-g.jobs:
			g.gather.came()
			return j
		case <-timer.C:
			g.gather.timedOut()
		}
	}
	return nil
}

const savepoint = "caller"

// tx returns the Tx of a job.
func (g *group) tx(conn *sql.Conn, j *job) *Tx {
	j.tx = &Tx{conn: conn, texts: g.texts, detach: true, unguarded: j.unguarded, rows: g.rows, shared: g.shared, earlier: &g.written}
	return j.tx
}

// run gives the job j the writer slot and returns the error of the job's function.
func (g *group) run(j *job, tx *Tx) error {
	select {
	case j.slot <- tx:
		return <-j.ran
	case <-j.left:
		return errFinished // the caller has stopped waiting and does not read the result
	}
}

// serve runs a job within a savepoint, so that the changes of the other jobs of the transaction remain if j fails. ok reports whether the
// changes of j are part of the transaction; alive is false if the transaction has ended. If ok is false, the job has received its result.
func (g *group) serve(conn *sql.Conn, j *job) (ok, alive bool) {
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, "SAVEPOINT "+savepoint); err != nil {
		j.done <- fmt.Errorf("sqldb: savepoint: %w", err)
		return false, false
	}
	err := g.run(j, g.tx(conn, j))
	if err == nil {
		if _, err = conn.ExecContext(ctx, "RELEASE "+savepoint); err == nil {
			return true, true
		}
		err = fmt.Errorf("sqldb: release savepoint: %w", err)
	}
	clear(g.shared)
	_, lost := conn.ExecContext(ctx, "ROLLBACK TO "+savepoint)
	if lost == nil {
		_, lost = conn.ExecContext(ctx, "RELEASE "+savepoint)
	}
	j.done <- err
	return false, lost == nil
}

// serveUnguarded is serve without a savepoint, for a job that changes nothing if it fails. A job that fails after a change ends the
// transaction.
func (g *group) serveUnguarded(conn *sql.Conn, j *job) (ok, alive bool) {
	tx := g.tx(conn, j)
	err := g.run(j, tx)
	over := ended(conn)
	if err == nil && !over {
		return true, true
	}
	if err == nil {
		err = errLost
	}
	clear(g.shared)
	j.done <- err
	return false, !over && !tx.changed
}
