package sandboxapi

import (
	"context"

	"github.com/scimwright/scimwright/internal/rest"
)

func (s *Slice) resetRoute() rest.Route {
	return rest.Op[resetRequest, rest.NoContent]{ID: "resetSandbox", Route: "POST /sandbox/v1/reset", Tag: tag,
		Summary: "Reset the organization to its initial content",
		Description: "Deletes all data of the organization in one step, including the system log, the outbox and the state of the engine, and " +
			"the resources " +
			"in the SCIM servers of the sandbox. All tokens and secrets except the configured API token become invalid. The SCIM servers and " +
			"the clock are not modified.",
		Scopes: []string{manage}, Do: s.reset}
}

type resetRequest struct {
	Body *struct {
		Seed bool `json:"seed" doc:"true creates the demo organization of a new sandbox; false leaves the organization empty"`
	} `body:"optional"`
}

func (s *Slice) reset(ctx context.Context, r *resetRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.o.Reset(ctx, r.Body != nil && r.Body.Seed)
}
