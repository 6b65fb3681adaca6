package serving

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteReady writes a ready file atomically. The file contains tokens, so only its owner may read it.
func WriteReady(file string, r any) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".ready-*")
	if err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	_, err = tmp.Write(append(data, '\n'))
	if err := errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("ready file: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return fmt.Errorf("ready file: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// RemoveReady removes the file of an earlier run, so that no client reads it as the file of this run.
func RemoveReady(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}
