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
	"time"
)

// A batch is committed when nobody waits any more, or when it has grown to one of these sizes: they bound how long the first
// caller of a batch waits for the others.
const (
	maxBatch     = 256
	maxBatchTime = 20 * time.Millisecond
)

// group is the group commit of SQLite. Its goroutine opens a transaction for the first waiting caller, gives the turn to one
// waiting caller after the other, and commits for all of them. A caller runs its function in its own goroutine, so that a
// panic or a runtime.Goexit there (t.FailNow) cannot end the writer.
type group struct {
	writer  *sql.DB
	texts   *rewriter
	jobs    chan *job     // unbuffered: a job that was taken will be answered
	closing chan struct{} // closed by stop
	stopped chan struct{} // closed when the goroutine has ended
	once    sync.Once
}

// job is one caller's update.
type job struct {
	turn chan *Tx      // the writer hands over the turn
	left chan struct{} // closed by a caller that left before its turn
	ran  chan error    // the caller gives the turn back
	done chan error    // the answer, buffered
}

func startGroup(writer *sql.DB, texts *rewriter) *group {
	g := &group{
		writer:  writer,
		texts:   texts,
		jobs:    make(chan *job),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	go g.loop()
	return g
}

func (g *group) stop() {
	g.once.Do(func() { close(g.closing) })
	<-g.stopped
}

// update is the caller's side.
func (g *group) update(ctx context.Context, db *DB, fn func(tx *Tx) error) error {
	j := &job{turn: make(chan *Tx), left: make(chan struct{}), ran: make(chan error), done: make(chan error, 1)}
	select {
	case <-g.closing: // select chooses at random, and a closed DB must refuse
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
	case tx = <-j.turn:
	case err := <-j.done: // the transaction could not be opened
		return err
	case <-ctx.Done():
		close(j.left)
		return context.Cause(ctx)
	}
	j.run(ctx, db, tx, fn)
	if err := <-j.done; err != nil {
		return err
	}
	db.afterCommit(tx)
	return nil
}

var errGoexit = errors.New("sqldb: the goroutine ended inside of a transaction")

// run takes the turn and gives it back, however fn ends.
func (j *job) run(ctx context.Context, db *DB, tx *Tx, fn func(tx *Tx) error) {
	err := errGoexit
	defer func() { j.ran <- err }()
	err = db.run(tx, fn)
	if err == nil {
		err = context.Cause(ctx)
	}
}

// loop is the writer goroutine.
func (g *group) loop() {
	defer close(g.stopped)
	for {
		select {
		case j := <-g.jobs:
			g.batch(j)
		case <-g.closing:
			return
		}
	}
}

// batch commits first and whoever waits behind it. The transaction is begun and ended by statements of a connection: that of database/sql
// watches its context by a goroutine, and each of its queries by another one.
func (g *group) batch(first *job) {
	// The transaction belongs to many callers, so none of their contexts may end it.
	ctx := context.Background()
	conn, err := g.writer.Conn(ctx)
	if err == nil {
		defer conn.Close() //nolint:errcheck // it only gives the connection back
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		first.done <- fmt.Errorf("sqldb: begin: %w", err)
		return
	}
	started := time.Now()
	// The first one needs no savepoint: when it fails, nothing else is in the transaction. Most of the time it is the only one, and under
	// a savepoint SQLite copies the pages that change, into a file when they are more than 64 KiB.
	err = g.run(conn, first)
	if err == nil && ended(conn) {
		err = errLost
	}
	if err != nil {
		rollback(conn)
		first.done <- err
		return
	}
	written := []*job{first} // waiting for the commit
	for j := g.next(len(written), started); j != nil; j = g.next(len(written), started) {
		ok, alive := g.serve(conn, j)
		if ok {
			written = append(written, j)
		}
		if !alive {
			rollback(conn)
			answer(written, errLost)
			return
		}
	}
	if _, err = conn.ExecContext(ctx, "COMMIT"); err != nil {
		rollback(conn)
		err = fmt.Errorf("sqldb: commit: %w", err)
	}
	answer(written, err)
}

// ended says whether the transaction is over although nobody here has ended it. Without a savepoint, nothing else would notice.
func ended(conn *sql.Conn) (over bool) {
	err := conn.Raw(func(c any) error {
		sqlite, ok := c.(interface{ AutoCommit() bool })
		over = ok && sqlite.AutoCommit()
		return nil
	})
	return over || err != nil
}

// rollback ends the transaction, if there still is one. A connection on which it cannot be ended is given up: the next transaction could
// not begin on it.
func rollback(conn *sql.Conn) {
	_, err := conn.ExecContext(context.Background(), "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// errLost answers the callers whose finished work SQLite threw away together with the transaction, as it does when the disk
// is full or fails.
var errLost = errors.New("sqldb: the database rolled the transaction back")

func answer(jobs []*job, err error) {
	for _, j := range jobs {
		j.done <- err
	}
}

// next returns the next waiting job of the batch, or nil when it is time to commit.
func (g *group) next(size int, started time.Time) *job {
	if size >= maxBatch || time.Since(started) >= maxBatchTime {
		return nil
	}
	for range 2 {
		select {
		case j := <-g.jobs:
			return j
		default:
			// Callers that the last commit has just answered may be about to come back.
			runtime.Gosched()
		}
	}
	return nil
}

const savepoint = "caller"

// run gives j its turn and returns how it ended.
func (g *group) run(conn *sql.Conn, j *job) error {
	select {
	case j.turn <- &Tx{conn: conn, texts: g.texts, detach: true}:
		return <-j.ran
	case <-j.left:
		return errFinished // nobody reads it
	}
}

// serve does what run does, within a savepoint, so that the others of the transaction stay when j fails. It returns ok when j's work is
// part of the transaction, and alive=false when the transaction itself is gone. A job that is not ok has been answered.
func (g *group) serve(conn *sql.Conn, j *job) (ok, alive bool) {
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, "SAVEPOINT "+savepoint); err != nil {
		j.done <- fmt.Errorf("sqldb: savepoint: %w", err)
		return false, false
	}
	err := g.run(conn, j)
	if err == nil {
		if _, err = conn.ExecContext(ctx, "RELEASE "+savepoint); err == nil {
			return true, true
		}
		err = fmt.Errorf("sqldb: release savepoint: %w", err)
	}
	_, lost := conn.ExecContext(ctx, "ROLLBACK TO "+savepoint)
	if lost == nil {
		_, lost = conn.ExecContext(ctx, "RELEASE "+savepoint)
	}
	j.done <- err
	return false, lost == nil
}
