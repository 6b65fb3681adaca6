package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// Limits of the free space of the data directory, in bytes.
const (
	lowSpace  = 1 << 30
	tooLittle = 100 << 20
)

// storage checks the directory of the data and the database.
func (e *examination) storage(ctx context.Context) {
	file, isFile := strings.CutPrefix(e.DB, "sqlite:")
	if dir := e.Data; dir != "" || isFile {
		if dir == "" {
			dir = filepath.Dir(file)
		}
		if !e.directory(ctx, dir) {
			return
		}
	}
	e.at("database", shown(e.DB))
	if err := serving.CheckDatabase(e.DB); err != nil {
		e.fail("Use --db sqlite:PATH or --db postgres://USER@HOST/NAME.", "%v", err)
		return
	}
	if _, err := os.Stat(file); isFile && errors.Is(err, fs.ErrNotExist) {
		e.ok("does not exist yet; the first start creates it")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	d, err := sqlopen.Describe(ctx, e.DB)
	if err != nil {
		do := "Check that the server runs, and the address, user and password in the URL."
		if isFile {
			do = "Check that the file is an SQLite database of this program, and that this user may read and write it."
		}
		e.fail(do, "%v", err)
		return
	}
	text := d.Version + ", reachable"
	if d.Pooled {
		text += " through a pooler in transaction mode, such as PgBouncer; no prepared statements are used"
	}
	if !isFile && !d.Encrypted && !d.Local {
		e.warn("Add sslmode=verify-full to the URL.", "%s; the connection is not encrypted", text)
	} else {
		e.ok("%s", text)
	}
	if d.Major > 0 && d.Major < minPostgres {
		e.fail("Upgrade the server.", "PostgreSQL %d is not supported: %d or later is required", d.Major, minPostgres)
	}
	e.schema(d.Steps)
	if !d.Now.IsZero() {
		e.difference("the database", d.Before, d.Now, d.After, 0)
	}
}

// minPostgres is the earliest supported version of PostgreSQL.
const minPostgres = 15

// Steps are the numbers of the steps of each schema that this program knows. A test compares them with a database of this program.
var Steps = map[string]int{"console": 1, "daemon": 2, "desired": 2, "engine": 6, "webhooks": 1}

// schema compares the recorded steps of the schemas in a database with those that this program knows.
func (e *examination) schema(recorded map[string]int) {
	var parts []string
	older := false
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		known, ours := Steps[name]
		n := recorded[name]
		text := fmt.Sprintf("%s %d", name, n)
		switch {
		case ours && n > known:
			e.fail("Start the version of the program that changed the database, or a later one.",
				"the schema %s has version %d, and this program knows only %d", name, n, known)
			return
		case ours && n < known:
			older = true
			text += fmt.Sprintf(" of %d", known)
		}
		parts = append(parts, text)
	}
	switch {
	case len(parts) == 0:
		e.ok("no tables of the engine; the first start creates them")
	case older:
		e.ok("schema %s; the next start upgrades it: back up the database before", strings.Join(parts, ", "))
	default:
		e.ok("schema %s, up to date", strings.Join(parts, ", "))
	}
}

// directory checks a directory for data, and reports whether it can be used.
func (e *examination) directory(ctx context.Context, dir string) bool {
	e.at("data", dir)
	if absolute, err := filepath.Abs(dir); err == nil {
		dir, e.current.subject = absolute, absolute
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && e.Data != "" { // the sandbox creates it
		for errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
			dir = filepath.Dir(dir)
			info, err = os.Stat(dir)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.fail("Create it for the user of the program: mkdir -p -m 0700 "+e.current.subject, "the directory does not exist")
		return false
	case err != nil:
		e.fail("Check the permissions of the directories above it.", "%v", err)
		return false
	case !info.IsDir():
		e.fail("Name a directory.", "this is not a directory")
		return false
	}
	created := ""
	if dir != e.current.subject {
		created = "the sandbox creates it; " + dir + " is "
	}
	trial, err := os.MkdirTemp(dir, ".scimwright-doctor-*")
	if err != nil {
		e.fail("Give the user of the program write permission, or choose another directory.", "this user cannot write: %v", err)
		return false
	}
	defer os.RemoveAll(trial) //nolint:errcheck // it is in a directory that the operator sees
	if err := locks(filepath.Join(trial, "lock")); err != nil {
		e.fail("Use a local file system: some network file systems have no locks.", "%v", err)
		return false
	}
	if err := tryDatabase(ctx, filepath.Join(trial, "trial.db")); err != nil {
		e.fail("Use a local file system, or PostgreSQL.", "SQLite cannot store data here: %v", err)
		return false
	}
	free, known := freeSpace(dir)
	switch {
	case !known:
		e.ok("%swritable, with file locks; the free space is not known on this platform", created)
	case free < tooLittle:
		e.fail("Free disk space, or choose another directory.", "only %d MiB are free", free>>20)
	case free < lowSpace:
		e.warn("Free disk space: each user of an app takes about 1 KiB, and the history is limited by its age.", "only %d MiB are free", free>>20)
	default:
		e.ok("%swritable, with file locks, %d GiB free", created, free>>30)
	}
	return true
}

// locks checks that the file system has locks: a second lock of the same file must fail.
func locks(file string) error {
	unlock, err := serving.LockFile(file)
	if err != nil {
		return err
	}
	second, err := serving.LockFile(file)
	if err == nil {
		return errors.Join(errors.New("the file system does not lock files: two processes could use the same data"), second(), unlock())
	}
	return unlock()
}

// tryDatabase stores data in a new SQLite database.
func tryDatabase(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	db, err := sqlopen.Open(ctx, "sqlite:"+file, sqlopen.Options{BusyTimeout: time.Second})
	if err != nil {
		return err
	}
	err = db.Update(ctx, func(tx *sqldb.Tx) error { return tx.Apply(ctx, "CREATE TABLE trial (n BIGINT)") })
	return errors.Join(err, db.Close())
}

// shown returns a database URL without its password.
func shown(databaseURL string) string { return sqlopen.Redacted(databaseURL) }
