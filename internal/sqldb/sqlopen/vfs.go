//go:build cgo && !lint

package sqlopen

/*
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sched.h>
static void yield_processor(void) { sched_yield(); }
#else
static void yield_processor(void) {} // as processor.Yield
#endif

typedef long long int64;
typedef struct file file;
typedef struct vfs vfs;

struct methods {
	int iVersion;
	int (*xClose)(file*);
	int (*xRead)(file*, void*, int n, int64 offset);
	int (*xWrite)(file*, const void*, int n, int64 offset);
	int (*xTruncate)(file*, int64 size);
	int (*xSync)(file*, int flags);
	int (*xFileSize)(file*, int64 *size);
	void *lockMethods[3];
	int (*xFileControl)(file*, int op, void*);
	void *deviceMethods[2];
	void *xShmMap;
	int (*xShmLock)(file*, int offset, int n, int flags);
	void *otherMethods[4]; // xShmBarrier to xUnfetch, the last one of version 3
};
struct file { const struct methods *pMethods; };
struct vfs {
	int iVersion;
	int szOsFile;
	int mxPathname;
	vfs *pNext;
	const char *zName;
	void *pAppData;
	int (*xOpen)(vfs*, const char *name, file*, int flags, int *outFlags);
	void *otherMethods[14]; // xDelete to xNextSystemCall, the last one of version 3
};

extern vfs *sqlite3_vfs_find(const char *name);
extern int sqlite3_vfs_register(vfs*, int makeDefault);
extern file *sqlite3_database_file_object(const char *wal);
typedef struct sqlite3 sqlite3;
extern int sqlite3_auto_extension(void (*entry)(void));
extern int sqlite3_file_control(sqlite3*, const char *schema, int op, void*);
extern void sqlite3_progress_handler(sqlite3*, int n, int (*handler)(void*), void*);

enum { OK = 0, ERROR = 1, OPEN_MAIN_DB = 0x100, OPEN_WAL = 0x80000, SHM_UNLOCK = 1, WRITE_LOCK = 0 };
enum { VFS_POINTER = 27 }; // of sqlite3_file_control
enum { BUFFER = 128 << 10, YIELD_READS = 32, YIELD_STEPS = 20000 };

// extra follows the file of the standard VFS in memory. The methods of the file are a copy, in which some are replaced.
typedef struct extra extra;
struct extra {
	const struct methods *standard;
	struct methods methods;

	// Of a reader:
	unsigned reads;

	// Of the writer:
	file *peer; // the WAL of a database, the database of a WAL

	// Of the WAL of the writer:
	char *data;   // BUFFER bytes, from the first write on
	int n;        // number of bytes that are not in the file yet
	int64 offset; // of the first one of them in the file
};

static vfs *standard, writing, reading;

static extra *of(file *f) { return (extra*)((char*)f + writing.szOsFile - sizeof(extra)); }

static int flush(file *f) {
	extra *x = of(f);
	if (x->n == 0) return OK;
	int rc = x->standard->xWrite(f, x->data, x->n, x->offset);
	if (rc == OK) x->n = 0;
	return rc;
}

static int walWrite(file *f, const void *data, int n, int64 offset) {
	extra *x = of(f);
	if (x->n > 0 && (offset != x->offset + x->n || x->n + n > BUFFER)) {
		int rc = flush(f);
		if (rc != OK) return rc;
	}
	if (x->data == NULL) x->data = malloc(BUFFER);
	if (x->data == NULL || n > BUFFER) return x->standard->xWrite(f, data, n, offset);
	if (x->n == 0) x->offset = offset;
	memcpy(x->data + x->n, data, n);
	x->n += n;
	return OK;
}

// walSync discards the buffer if it cannot be written: SQLite then rolls the transaction back, so its last page must not reach the file.
static int walSync(file *f, int flags) {
	int rc = flush(f);
	of(f)->n = 0;
	return rc != OK ? rc : of(f)->standard->xSync(f, flags);
}

static int walRead(file *f, void *data, int n, int64 offset) {
	int rc = flush(f);
	return rc != OK ? rc : of(f)->standard->xRead(f, data, n, offset);
}

static int walTruncate(file *f, int64 size) {
	int rc = flush(f);
	return rc != OK ? rc : of(f)->standard->xTruncate(f, size);
}

static int walFileSize(file *f, int64 *size) {
	int rc = flush(f);
	return rc != OK ? rc : of(f)->standard->xFileSize(f, size);
}

static int walFileControl(file *f, int op, void *arg) {
	int rc = flush(f);
	return rc != OK ? rc : of(f)->standard->xFileControl(f, op, arg);
}

static int walClose(file *f) {
	extra *x = of(f);
	free(x->data);
	if (x->peer) of(x->peer)->peer = NULL;
	f->pMethods = x->standard;
	return f->pMethods->xClose(f);
}

// databaseShmLock discards the buffer of the WAL before another connection can write: what is not synced has been rolled back.
static int databaseShmLock(file *f, int offset, int n, int flags) {
	extra *x = of(f);
	if ((flags & SHM_UNLOCK) && offset == WRITE_LOCK && x->peer) of(x->peer)->n = 0;
	return x->standard->xShmLock(f, offset, n, flags);
}

// readerRead reads a page. SQLite reads all pages of a large value in one call of Go.
static int readerRead(file *f, void *data, int n, int64 offset) {
	extra *x = of(f);
	if (++x->reads % YIELD_READS == 0) yield_processor();
	return x->standard->xRead(f, data, n, offset);
}

// openFile opens a file, and copies the methods of a database or of its WAL to x. x is NULL for other files.
static int openFile(const char *name, file *f, int flags, int *outFlags, extra **x) {
	int rc = standard->xOpen(standard, name, f, flags, outFlags);
	*x = NULL;
	if (rc != OK || !(flags & (OPEN_MAIN_DB | OPEN_WAL))) return rc;
	*x = of(f);
	memset(*x, 0, sizeof(extra));
	(*x)->standard = f->pMethods;
	switch (f->pMethods->iVersion) {
	case 1: memcpy(&(*x)->methods, f->pMethods, offsetof(struct methods, xShmMap)); break;
	case 2: memcpy(&(*x)->methods, f->pMethods, offsetof(struct methods, otherMethods[2])); break;
	default: (*x)->methods = *f->pMethods, (*x)->methods.iVersion = 3; // that of the declaration above
	}
	return rc;
}

static int openReader(vfs *v, const char *name, file *f, int flags, int *outFlags) {
	extra *x;
	int rc = openFile(name, f, flags, outFlags, &x);
	if (x == NULL) return rc;
	x->methods.xRead = readerRead;
	f->pMethods = &x->methods;
	return OK;
}

static int openWriter(vfs *v, const char *name, file *f, int flags, int *outFlags) {
	extra *x;
	int rc = openFile(name, f, flags, outFlags, &x);
	if (x == NULL) return rc;
	if (flags & OPEN_MAIN_DB) {
		if (f->pMethods->iVersion == 1) return OK; // has no WAL
		x->methods.xShmLock = databaseShmLock;
		f->pMethods = &x->methods;
		return OK;
	}
	file *database = sqlite3_database_file_object(name);
	if (database->pMethods != &of(database)->methods) return OK;
	x->peer = database;
	of(database)->peer = f;
	x->methods.xClose = walClose;
	x->methods.xRead = walRead;
	x->methods.xWrite = walWrite;
	x->methods.xTruncate = walTruncate;
	x->methods.xSync = walSync;
	x->methods.xFileSize = walFileSize;
	x->methods.xFileControl = walFileControl;
	f->pMethods = &x->methods;
	return OK;
}

static int registerAs(vfs *v, const char *name, int (*open)(vfs*, const char*, file*, int, int*)) {
	*v = *standard;
	if (v->iVersion > 3) v->iVersion = 3;
	v->pNext = NULL;
	v->zName = name;
	v->szOsFile = (standard->szOsFile + 7) / 8 * 8 + sizeof(extra);
	v->xOpen = open;
	return sqlite3_vfs_register(v, 0);
}

static unsigned long yields; // number of calls of progress

static int progress(void *unused) {
	__atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
	yield_processor();
	return 0; // go on
}

// opened is called for each new connection of the process, and does nothing to those of other VFS.
static int opened(sqlite3 *db, char **message, const void *functions) {
	vfs *of = NULL;
	if (sqlite3_file_control(db, "main", VFS_POINTER, &of) == OK && of == &reading) {
		sqlite3_progress_handler(db, YIELD_STEPS, progress, NULL);
	}
	return OK;
}

static unsigned long yield_count(void) { return __atomic_load_n(&yields, __ATOMIC_RELAXED); }

// register_files registers the two VFS with their names, and opened.
static int register_files(const char *writer, const char *reader) {
	standard = sqlite3_vfs_find(NULL);
	if (!standard) return ERROR;
	int rc = registerAs(&writing, writer, openWriter);
	if (rc == OK) rc = registerAs(&reading, reader, openReader);
	return rc != OK ? rc : sqlite3_auto_extension((void(*)(void))opened);
}
*/
import "C"

import (
	"fmt"
	"sync"
)

// Names of VFS of SQLite, which have other methods than the standard VFS for some functions of a database and its WAL. The declarations
// above are those of sqlite3.h. Its structures only grow at the end, and have another iVersion then.
const (
	// bufferingVFS collects the writes to a WAL until SQLite syncs or reads the WAL. Without it, each page of a commit is two system calls. It
	// is only for connections with synchronous=FULL: they sync each commit before other connections and processes may see it, so these find
	// its pages in the file, and the commit is as durable as without the buffer. The buffer is empty unless the connection holds the lock for
	// writing.
	bufferingVFS = "scimwright-wal"
	// yieldingVFS lets other threads run after each 32 pages that it reads, as processor.Yield. It is for readers. Their connections also do
	// that after each 20,000 steps of a statement, which take about 0.2 ms.
	yieldingVFS = "scimwright-read"
)

// registerVFS registers both VFS.
var registerVFS = sync.OnceValue(func() error {
	if rc := C.register_files(C.CString(bufferingVFS), C.CString(yieldingVFS)); rc != C.OK { // the names are never freed, like the VFS
		return fmt.Errorf("sqlopen: the VFS %s and %s cannot be registered: SQLite error %d", bufferingVFS, yieldingVFS, int(rc))
	}
	return nil
})

// stepYields is the number of times that connections of readers have let other threads run in long statements.
func stepYields() uint64 { return uint64(C.yield_count()) }
