package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/gofrs/flock"

	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// ownership is the ownership of an SQLite database by one process: a lock on a file next to the database, which the operating system
// releases when the process ends. A database in memory belongs to its Store.
type ownership struct {
	mu   sync.Mutex
	id   string       // of the process that owns the database, empty if no engine of this Store does
	file *flock.Flock // nil for a database in memory
}

// take takes the ownership, or returns store.ErrInUse.
func (o *ownership) take(ctx context.Context, db *sqldb.DB, id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.id != "" {
		return store.ErrInUse
	}
	path, err := databaseFile(ctx, db)
	if err != nil {
		return err
	}
	if path != "" {
		// Engines with different prefixes share a database: the lock belongs to the tables of one of them.
		path += "." + db.Names().Prefix + "engine.lock"
		file := flock.New(path, flock.SetPermissions(0o600))
		locked, err := file.TryLock()
		if err != nil {
			return fmt.Errorf("lock the database: %w", err)
		}
		if !locked {
			return fmt.Errorf("%w (%s is locked)", store.ErrInUse, path)
		}
		o.file = file
	}
	o.id = id
	return nil
}

// leave ends the ownership if the process has it.
func (o *ownership) leave(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.id != id || id == "" {
		return
	}
	if o.file != nil {
		_ = o.file.Close() // the lock ends at the latest when the process does
	}
	o.id, o.file = "", nil
}

// databaseFile returns the path of an SQLite database, empty for a database in memory.
func databaseFile(ctx context.Context, db *sqldb.DB) (string, error) {
	rows, err := db.Reader().Query(ctx, `PRAGMA database_list`)
	files, err := collect(rows, err, func(r *sql.Rows, file *string) error {
		var number int64
		var name string
		var path sql.NullString
		err := r.Scan(&number, &name, &path)
		if name == "main" {
			*file = path.String
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("find the file of the database: %w", err)
	}
	for _, f := range files {
		if f != "" {
			return f, nil
		}
	}
	return "", nil
}
