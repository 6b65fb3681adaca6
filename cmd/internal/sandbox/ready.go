package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Ready says where a running sandbox answers and with which credentials. It is what the ready file holds; its
// member names are a contract with scripts.
type Ready struct {
	BaseURL   string `json:"baseUrl"`
	APIToken  string `json:"apiToken"`
	SCIMURL   string `json:"scimUrl"`
	SCIMToken string `json:"scimToken"`
	// MetricsURL is there if metrics have a listener of their own.
	MetricsURL string `json:"metricsUrl,omitempty"`
	PID        int    `json:"pid"`
}

// writeReady writes the file in one step, so that a reader never sees half of it. It holds tokens, so only
// its owner may read it.
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

// removeReady takes away the file of an earlier run, so that nobody reads it as ours.
func removeReady(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}
