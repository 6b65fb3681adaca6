package sandboxapi

import (
	"context"

	"github.com/scimwright/scimwright/internal/rest"
)

func (s *Slice) resetRoute() rest.Route {
	return rest.Op[resetRequest, rest.NoContent]{ID: "resetSandbox", Route: "POST /sandbox/v1/reset", Tag: tag,
		Summary: "Go back to the initial content of the organization",
		Description: "Everything of the organization goes in one step, the system log, the outbox and all that the engine knows included, and " +
			"so do the resources " +
			"in the SCIM servers of the sandbox. Tokens and secrets are void, but for the configured API token. The SCIM servers themselves and " +
			"the clock stay.",
		Scopes: []string{manage}, Do: s.reset}
}

type resetRequest struct {
	Body *struct {
		Seed bool `json:"seed" doc:"makes the organization that a sandbox begins with when it is not to be empty"`
	} `body:"optional"`
}

func (s *Slice) reset(ctx context.Context, r *resetRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.o.Reset(ctx, r.Body != nil && r.Body.Seed)
}
