package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/fixtures"
)

// Seed creates the seed organisation, with all its apps connected to one SCIM server, and does not wait until it is
// provisioned.
func Seed(ctx context.Context, api *APIClient, baseURL, token string) error {
	org, err := fixtures.Seed()
	if err != nil {
		return err
	}
	s := &seeder{
		api:    api,
		target: func(string) (string, string) { return baseURL, token },
		drain:  func(context.Context) error { return nil },
	}
	_, err = s.run(ctx, org)
	return err
}
