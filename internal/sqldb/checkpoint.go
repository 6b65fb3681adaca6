package sqldb

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"
)

const (
	// checkpointAt is the length of the WAL, in frames of a page of 4 KiB, at which its frames are copied into the database file. A page that
	// changes often is then copied once for many changes.
	checkpointAt = 12_000
	// restLength is the number of frames that the writer may copy itself before it writes to the beginning of the WAL again.
	restLength = 100
	// checkpointRounds is the maximum number of checkpoints in a row. They end when at most restLength frames are not copied yet, which may
	// take several checkpoints because updates add frames meanwhile.
	checkpointRounds = 4
	// waitLength is the length of the WAL, in frames, at which the writer copies the frames itself, while updates wait. The WAL becomes
	// this long if updates add frames faster than the goroutine of the checkpointer copies them.
	waitLength = 14_000
	// inspectEvery is the number of commits after which the writer inspects the WAL.
	inspectEvery = 8
	// checkpointPause is the minimum time between two inspections of the WAL by the goroutine of the checkpointer. It inspects the WAL only
	// after commits.
	checkpointPause = 50 * time.Millisecond
	// restartTries is the maximum number of times, a millisecond apart, that the writer waits for readers of the WAL.
	restartTries = 10
)

// checkpointer copies the WAL of SQLite into the database file while updates run: a checkpoint in the connection of the writer would delay
// every update by the time to write thousands of pages.
//
// The WAL starts again at its beginning only if all frames are copied and no reader uses it. While updates add frames, a concurrent
// checkpoint cannot copy all of them. So the goroutine of the group commit copies the rest, between two batches: at most about restLength
// frames, once per checkpointAt frames. If the disk is slow or the processors are busy, updates may add frames faster than the goroutine of
// the checkpointer copies them. The group commit then copies the frames by inspect, while updates wait: the WAL has at most waitLength
// frames and those of inspectEvery commits.
//
// A snapshot that a reader holds cannot be overwritten. Until the reader ends it, the WAL grows by what the updates write. Afterwards the
// next checkpoint copies all of it.
type checkpointer struct {
	conn    *sql.DB
	group   *group
	log     *slog.Logger
	wake    chan struct{} // a commit has happened
	closing chan struct{}
	stopped chan struct{}
	running sync.Mutex // held during a checkpoint by loop or inspect: SQLite runs one at a time
	next    int64      // length of the WAL, in frames, at which inspect copies them next; only inspect uses it
}

func newCheckpointer(conn *sql.DB, log *slog.Logger) *checkpointer {
	return &checkpointer{conn: conn, log: log, closing: make(chan struct{}), stopped: make(chan struct{}), next: waitLength}
}

func (c *checkpointer) start(g *group) {
	c.group, c.wake = g, g.committed
	go c.loop()
}

// stop waits for a running checkpoint. It is called once, before the group stops.
func (c *checkpointer) stop() {
	close(c.closing)
	<-c.stopped
}

func (c *checkpointer) loop() {
	defer close(c.stopped)
	for {
		select {
		case <-c.wake:
		case <-c.closing:
			return
		}
		pause := time.NewTimer(checkpointPause)
		select {
		case <-pause.C:
		case <-c.closing:
			pause.Stop()
			return
		}
		c.report(c.work())
	}
}

// report logs the error of a checkpoint. After a later commit, the checkpointer or SQLite itself starts another one.
func (c *checkpointer) report(err error) {
	if err != nil {
		c.log.Error("WAL not checkpointed", "error", err)
	}
}

// work runs a checkpoint if the WAL is long enough for one.
func (c *checkpointer) work() error {
	ctx := context.Background()
	w, err := checkpoint(ctx, c.conn, "NOOP")
	for round := 0; err == nil && w.frames >= checkpointAt && round < checkpointRounds; round++ {
		before := w.frames
		c.running.Lock()
		w, err = checkpoint(ctx, c.conn, "PASSIVE")
		c.running.Unlock()
		switch {
		case err != nil || w.copied < before: // a reader holds an earlier snapshot
			return err
		case w.rest() <= restLength || w.frames >= waitLength || round == checkpointRounds-1:
			return c.group.between(func(ctx context.Context, conn *sql.Conn) error {
				_, err := restart(ctx, conn)
				return err
			})
		}
	}
	return err
}

// inspect copies the frames of a WAL that has at least waitLength frames. The group commit calls it between two batches.
//
// While a reader holds a snapshot, the frames cannot be overwritten. inspect then copies frames again after waitLength further frames.
func (c *checkpointer) inspect(ctx context.Context, conn *sql.Conn) error {
	w, err := checkpoint(ctx, conn, "NOOP")
	if err != nil {
		return err
	}
	if w.frames < c.next {
		c.next = min(c.next, w.frames+waitLength)
		return nil
	}
	c.running.Lock()
	w, err = restart(ctx, conn)
	c.running.Unlock()
	c.next = waitLength
	if err == nil && w.busy {
		c.next += w.frames
	}
	return err
}

// wal is the state of the WAL.
type wal struct {
	frames, copied int64
	busy           bool // a reader or another writer prevented a part of the checkpoint
}

// rest returns the number of frames that are not in the database file.
func (w wal) rest() int64 { return w.frames - w.copied }

// checkpoint runs a checkpoint of the WAL in the given mode. NOOP only returns the state; versions of SQLite before 3.51 run PASSIVE
// instead.
func checkpoint(ctx context.Context, conn interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, mode string) (w wal, err error) {
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&w.busy, &w.frames, &w.copied)
	return w, err
}

// restart copies the rest of the WAL and lets the next update write to its beginning. It waits a few milliseconds at most for readers that
// use the WAL; readers that begin in the meantime do not use it. If a reader still uses the WAL then, the result is busy, and the next
// update appends to the WAL.
func restart(ctx context.Context, conn *sql.Conn) (w wal, err error) {
	restore, err := waitFor(ctx, conn, 0)
	if err != nil {
		return w, err
	}
	defer restore()
	for range restartTries {
		w, err = checkpoint(ctx, conn, "RESTART")
		if err != nil || !w.busy {
			return w, err
		}
		time.Sleep(time.Millisecond)
	}
	return w, nil
}
