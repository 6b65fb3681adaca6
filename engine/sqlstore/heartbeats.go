package sqlstore

import (
	"context"
	"database/sql"
	"sync"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// heartbeats has a connection for each process that sends heartbeats through this Store, so that a heartbeat never waits for a connection
// that other work uses.
type heartbeats struct {
	mu    sync.Mutex
	conns map[string]*sql.Conn // by process
}

// beat runs fn on the connection of the process. The pool of the embedder may be too small for a connection of its own, or the embedder may
// run all writes itself (Options.Updater): fn then runs like any other write.
func (s *Store) beat(ctx context.Context, id string, fn func(tx *sqldb.Tx) error) error {
	if s.updater != nil || s.db.Writer().Stats().MaxOpenConnections == 1 {
		return s.update(ctx, fn)
	}
	conn, err := s.beats.conn(ctx, s.db.Writer(), id)
	if err != nil {
		return err
	}
	if err = fn(s.db.Wrap(conn)); err != nil {
		s.beats.drop(id) // the next heartbeat gets another connection
	}
	return err
}

// conn returns the connection of a process. One goroutine at a time sends the heartbeats of a process.
func (h *heartbeats) conn(ctx context.Context, db *sql.DB, id string) (*sql.Conn, error) {
	h.mu.Lock()
	conn := h.conns[id]
	h.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conns == nil {
		h.conns = map[string]*sql.Conn{}
	}
	h.conns[id] = conn
	return conn, nil
}

// drop returns the connection of a process to the pool.
func (h *heartbeats) drop(id string) {
	h.mu.Lock()
	conn := h.conns[id]
	delete(h.conns, id)
	h.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // a broken connection is discarded
	}
}
