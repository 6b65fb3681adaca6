//go:build cgo && !lint

package sqlopen

/*
#include <stddef.h>
#include <stdlib.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_file sqlite3_file;
struct io_methods {
	int iVersion;
	void *otherMethods[12]; // xClose to xDeviceCharacteristics
	int (*xShmMap)(sqlite3_file*, int region, int size, int extend, void volatile**); // from iVersion 2
};
struct sqlite3_file { const struct io_methods *pMethods; };

extern int sqlite3_open_v2(const char *filename, sqlite3 **db, int flags, const char *vfs);
extern int sqlite3_close_v2(sqlite3*);
extern int sqlite3_exec(sqlite3*, const char *sql, int (*callback)(void*, int, char**, char**), void*, char **message);
extern int sqlite3_file_control(sqlite3*, const char *name, int op, void*);
extern int sqlite3_busy_timeout(sqlite3*, int milliseconds);

enum { ok = 0, error = 1, openReadwrite = 2, openFullmutex = 0x10000, fcntlFilePointer = 7, regionSize = 32768, busy = 10000 };

// open_state opens a connection that keeps the memory mapped, and sets header to its beginning.
static int open_state(const char *filename, sqlite3 **db, void **header) {
	sqlite3_file *file = NULL;
	void volatile *memory = NULL;
	int rc = sqlite3_open_v2(filename, db, openReadwrite | openFullmutex, NULL);
	if (rc == ok) rc = sqlite3_busy_timeout(*db, busy);
	// The query opens the WAL.
	if (rc == ok) rc = sqlite3_exec(*db, "PRAGMA query_only = 1; PRAGMA cache_size = 4; SELECT 1 FROM sqlite_master LIMIT 1",
		NULL, NULL, NULL);
	if (rc == ok) rc = sqlite3_file_control(*db, "main", fcntlFilePointer, &file);
	if (rc == ok && (!file || !file->pMethods || file->pMethods->iVersion < 2 || !file->pMethods->xShmMap)) rc = error;
	if (rc == ok) rc = file->pMethods->xShmMap(file, 0, regionSize, 0, &memory);
	if (rc == ok && !memory) rc = error;
	*header = (void*)memory;
	return rc;
}
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
)

// walIndexVersion is the version of the format of the header. SQLite has had no other one.
const walIndexVersion = 3007000

// state reads the header.
type state struct {
	db     *C.sqlite3
	header *[2]rowcache.State // SQLite changes the second copy first
}

// OpenState returns the source of the states of an SQLite database in WAL mode: the header of the WAL index, which is in memory that all
// processes share. SQLite compares the same bytes to find out whether its page cache is current.
//
// SQLite has no function that returns the header. OpenState asks the file system interface of SQLite for the memory, as SQLite itself does.
// The declarations above are those of sqlite3.h, whose functions and structures never change; the functions are in the module of the
// driver. The header is described at https://www.sqlite.org/walformat.html.
func OpenState(path string) (rowcache.Source, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var db *C.sqlite3
	var header unsafe.Pointer
	if rc := C.open_state(name, &db, &header); rc != C.ok {
		C.sqlite3_close_v2(db)
		return nil, fmt.Errorf("sqlopen: the WAL index of %s cannot be mapped: SQLite error %d", path, int(rc))
	}
	s := &state{db, (*[2]rowcache.State)(header)}
	if header := s.header[0]; header[0] != walIndexVersion {
		C.sqlite3_close_v2(db)
		return nil, fmt.Errorf("sqlopen: the WAL index of %s has the unknown version %d", path, header[0])
	}
	return s, nil
}

// State implements rowcache.Source.
func (s *state) State() (now rowcache.State, ok bool) {
	for i := range now {
		now[i] = atomic.LoadUint32(&s.header[0][i])
	}
	for i := range now {
		if atomic.LoadUint32(&s.header[1][i]) != now[i] {
			return now, false
		}
	}
	return now, now[0] == walIndexVersion
}

// Close implements rowcache.Source.
func (s *state) Close() error {
	if rc := C.sqlite3_close_v2(s.db); rc != C.ok {
		return fmt.Errorf("sqlopen: close: SQLite error %d", int(rc))
	}
	return nil
}
