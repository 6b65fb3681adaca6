package sqldb

import (
	"context"
	"database/sql"
	"log/slog"
	"time"
)

const (
	// checkpointAt is the length of the WAL, in frames of a page of 4 KiB, at which its frames are copied into the database file. A page that
	// changes often is then copied once for many changes.
	checkpointAt = 4000
	// restLength is the number of frames that the writer may copy itself before it writes to the beginning of the WAL again.
	restLength = 100
	// checkpointRounds is the maximum number of checkpoints in a row. They end when at most restLength frames are not copied yet, which may
	// take several checkpoints because updates add frames meanwhile.
	checkpointRounds = 4
	// waitLength is the length of the WAL, in frames, at which the writer waits for the checkpoint: updates then add frames faster than the
	// disk takes them.
	waitLength = 2 * checkpointAt
	// checkpointPause is the minimum time between two inspections of the WAL. Without commits, the WAL is not inspected.
	checkpointPause = 50 * time.Millisecond
	// restartTries is the maximum number of times, a millisecond apart, that the writer waits for readers of the WAL.
	restartTries = 10
)

// checkpointer copies the WAL of SQLite into the database file while updates run: a checkpoint in the connection of the writer would delay
// every update by the time to write thousands of pages.
//
// The WAL starts again at its beginning only if all frames are copied and no reader uses it. While updates add frames, a concurrent
// checkpoint cannot copy all of them. So the goroutine of the group commit copies the rest, between two batches: at most about restLength
// frames, once per checkpointAt frames. On a slow disk it copies more, and updates wait for it.
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
}

func startCheckpointer(conn *sql.DB, g *group, log *slog.Logger) *checkpointer {
	c := &checkpointer{conn: conn, group: g, log: log, wake: g.committed, closing: make(chan struct{}), stopped: make(chan struct{})}
	go c.loop()
	return c
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
		if err := c.work(); err != nil {
			c.log.Error("WAL not checkpointed", "error", err) // the next commit, or SQLite's own checkpoint, tries again
		}
	}
}

// work runs a checkpoint if the WAL is long enough for one.
func (c *checkpointer) work() error {
	ctx := context.Background()
	w, err := checkpoint(ctx, c.conn, "NOOP")
	for round := 0; err == nil && w.frames >= checkpointAt && round < checkpointRounds; round++ {
		before := w.frames
		w, err = checkpoint(ctx, c.conn, "PASSIVE")
		switch {
		case err != nil || w.copied < before: // a reader holds an earlier snapshot
			return err
		case w.rest() <= restLength || w.frames >= waitLength || round == checkpointRounds-1:
			return c.group.between(restart)
		}
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
// use the WAL; readers that begin in the meantime do not use it.
func restart(ctx context.Context, conn *sql.Conn) error {
	restore, err := waitFor(ctx, conn, 0)
	if err != nil {
		return err
	}
	defer restore()
	for range restartTries {
		w, err := checkpoint(ctx, conn, "RESTART")
		if err != nil || !w.busy {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}
