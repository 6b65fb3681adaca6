package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Ready contains the addresses and credentials of a running sandbox. It is the content of the ready file; scripts depend on its member
// names.
type Ready struct {
	BaseURL   string `json:"baseUrl"`
	APIToken  string `json:"apiToken"`
	SCIMURL   string `json:"scimUrl"`
	SCIMToken string `json:"scimToken"`
	// MetricsURL is set if metrics have a separate listener.
	MetricsURL string `json:"metricsUrl,omitempty"`
	PID        int    `json:"pid"`
}

// writeReady writes the file atomically. The file contains tokens, so only its owner may read it.
func writeReady(file string, r Ready) error {
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

// removeReady removes the file of an earlier run, so that no client reads it as the file of this run.
func removeReady(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}
