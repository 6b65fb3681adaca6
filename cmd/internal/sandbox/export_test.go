package sandbox

import (
	"context"
	"log/slog"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/fixtures"
)

// TablesOf returns the prefix of the names of a tenant's tables.
var TablesOf = tablesOf

// WarnOfPlainText logs a warning if other machines can reach an address without TLS.
var WarnOfPlainText = warnOfPlainText

// ManagementOptions are the options of the management API in the database of a sandbox.
var ManagementOptions = managementOptions

// ConsolePages returns the paths of the pages of the console, in the form of http.ServeMux.
func (s *Sandbox) ConsolePages() []string { return s.console.Pages() }

// Seed creates the seed organization. All its apps are connected to one SCIM server and may use alternative forms of requests. After a
// failure, Seed may be called again.
func Seed(ctx context.Context, api *APIClient, baseURL, token string, drain func(context.Context) error) error {
	org, err := fixtures.Seed()
	if err != nil {
		return err
	}
	s := &seeder{
		api:    api,
		target: func(string) (string, string) { return baseURL, token },
		drain:  drain,
		retry:  func(context.Context, string) error { return nil }, // not needed: with the fallback LEARN, the engine itself retries failed tasks

		profile: map[string]string{"fallback": "LEARN"},
	}
	_, err = s.run(ctx, org)
	return err
}

// EgressPolicy is the address policy of a sandbox that listens on an address.
var EgressPolicy = egressPolicy

// FailureLog returns the logger of a sandbox over a handler, and a function that closes it.
func FailureLog(next slog.Handler, label func(context.Context, string) string) (*slog.Logger, func()) {
	f := serving.NewFailureLog(next)
	f.Labels(label)
	return slog.New(f), func() { _ = f.Close(context.Background()) }
}

// NewSecretKey creates a file with a secret key.
func NewSecretKey(file string) ([]byte, error) { return serving.SecretKey("", file) }
