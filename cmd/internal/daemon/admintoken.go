package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// adminToken stores the admin token of the options, of AdminTokenFile, or a random one that the first start with a database creates. It
// returns a token that it has created, for the operator. It writes this token to a file with mode 0600, unless the caller shows it.
func (d *Daemon) adminToken(ctx context.Context) (created string, err error) {
	o := d.options
	given := o.AdminToken
	file := o.AdminTokenFile
	if file == "" && given == "" && !o.TokenElsewhere && o.ReadyFile == "" {
		path, ok := strings.CutPrefix(o.DB, "sqlite:")
		if stored, err := d.db.hasAdminToken(ctx); err != nil || stored {
			return "", err
		}
		if !ok {
			return "", errors.New("the first start with a PostgreSQL database requires a place for the admin token: set --admin-token-file; the " +
				"file is created if it does not exist")
		}
		file = path + ".admin-token"
	}
	if file == "" {
		return d.db.bootstrapToken(ctx, given, time.Now())
	}
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		if given = strings.TrimSpace(string(text)); len(given) < minToken {
			return "", fmt.Errorf("the file %s has a token with %d characters: at least %d are required", file, len(given), minToken)
		}
		return d.db.bootstrapToken(ctx, given, time.Now())
	case !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	if stored, err := d.db.hasAdminToken(ctx); err != nil {
		return "", err
	} else if stored {
		return "", fmt.Errorf("the file %s with the admin token does not exist, and the database has an admin token: restore the file; or "+
			"replace the token: openssl rand -hex 32 >%[1]s", file)
	}
	value := newToken()
	if err := writeToken(file, value); err != nil {
		return "", err
	}
	d.tokenFile = file
	_, err = d.db.bootstrapToken(ctx, value, time.Now())
	return value, err
}

// writeToken creates a file that only its owner can read.
func writeToken(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create the file with the admin token: %w", err)
	}
	_, err = f.WriteString(value + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the file with the admin token: %w", err)
	}
	return nil
}
