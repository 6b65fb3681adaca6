package sandbox

import (
	"context"
	"log/slog"

	"github.com/scimwright/scimwright/fixtures"
)

// TablesOf begins the names of a tenant's tables.
var TablesOf = tablesOf

// WarnOfPlainText says so when an address without TLS can be reached from other machines.
var WarnOfPlainText = warnOfPlainText

// Seed creates the seed organisation, with all its apps connected to one SCIM server, which may be sent other forms of requests. It may be
// called again after a failure.
func Seed(ctx context.Context, api *APIClient, baseURL, token string, drain func(context.Context) error) error {
	org, err := fixtures.Seed()
	if err != nil {
		return err
	}
	s := &seeder{
		api:    api,
		target: func(string) (string, string) { return baseURL, token },
		drain:  drain,
		retry:  func(context.Context, string) error { return nil }, // with LEARN failures are retried

		profile: map[string]string{"fallback": "LEARN"},
	}
	_, err = s.run(ctx, org)
	return err
}

// EgressPolicy is the address policy of a sandbox that listens on an address.
var EgressPolicy = egressPolicy

// FailureLog returns the logger of a sandbox over a handler, and what ends it.
func FailureLog(next slog.Handler, label func(context.Context, string) string) (*slog.Logger, func()) {
	f := newFailureLog(next)
	f.labels(label)
	return slog.New(f), func() { _ = f.close(context.Background()) }
}
