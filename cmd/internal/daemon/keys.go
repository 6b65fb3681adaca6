package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine/desired"
)

// KeyOptions define the keys that encrypt secrets at rest: 32 bytes in base64 each, separated by white space or commas. The first key
// encrypts, and all of them decrypt. At most one of the fields is set. Default: the file PATH.key next to an SQLite database, which is
// created with one random key. A PostgreSQL database requires one of the fields.
type KeyOptions struct {
	Keys    string // the keys themselves
	File    string // a file that contains them; for an SQLite database it is created if missing
	Command string // a command of the shell that prints them
}

// keyTime is the time limit of a key command.
const keyTime = 30 * time.Second

// maxKeys is the maximum number of keys.
const maxKeys = 20

// seal returns the encryption of secrets for a database.
func (k KeyOptions) seal(ctx context.Context, databaseURL string) (desired.Seal, error) {
	keys, err := k.read(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	return desired.NewKeys(keys[0], keys[1:]...)
}

// check returns an error if several options are set, if none is although the database requires a key, or if the keys are malformed. It
// reads no file and runs no command.
func (k KeyOptions) check(databaseURL string) error {
	given := 0
	for _, value := range []string{k.Keys, k.File, k.Command} {
		if value != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New("keys, a key file and a key command exclude each other: set one of them")
	case given == 0 && !strings.HasPrefix(databaseURL, "sqlite:"):
		return errors.New("a PostgreSQL database requires a key (--key-file, --key-command or SCIMWRIGHT_KEY), because it remains after " +
			"this process and several daemons may share it; \"openssl rand -base64 32\" prints one")
	case k.Keys != "":
		_, err := parseKeys(k.Keys, "the key")
		return err
	}
	return nil
}

// read returns the keys of options that check accepts. For a new SQLite database without options, it creates the key.
func (k KeyOptions) read(ctx context.Context, databaseURL string) ([][]byte, error) {
	path, isFile := strings.CutPrefix(databaseURL, "sqlite:")
	switch {
	case k.Keys != "":
		return parseKeys(k.Keys, "the key")
	case k.Command != "":
		return k.run(ctx)
	case k.File == "":
		k.File = path + ".key"
	}
	text, err := os.ReadFile(k.File)
	switch {
	case err == nil:
		return parseKeys(string(text), k.File)
	case !errors.Is(err, os.ErrNotExist) || !isFile:
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil, fmt.Errorf("the database %s exists, but the file with its key, %s, is missing: restore the file; a new key could not "+
			"decrypt the secrets in the database", path, k.File)
	}
	key, err := serving.SecretKey("", k.File)
	return [][]byte{key}, err
}

// run runs the command and parses its output. Errors do not contain the output.
func (k KeyOptions) run(ctx context.Context) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keyTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", k.Command)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the key command failed: %w", err)
	}
	return parseKeys(out.String(), "the output of the key command")
}

func parseKeys(text, source string) (keys [][]byte, err error) {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' }) {
		key, err := serving.DecodeKey(one, source)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, fmt.Errorf("%s must contain 1 to %d keys of 32 bytes in base64", source, maxKeys)
	}
	return keys, nil
}
