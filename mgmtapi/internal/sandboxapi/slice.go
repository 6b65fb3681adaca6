package sandboxapi

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// manage is the scope of all operations. Only the role SUPER_ADMIN has it.
const manage = "svc.sandbox.manage"

const tag = "Sandbox"

// Options are the dependencies of the slice in addition to the model.
type Options struct {
	Work sandboxport.Work
	// Providers are the SCIM servers of the sandbox. Default: none; the paths are not served.
	Providers sandboxport.Providers
	// Provision starts provisioning of the given users of an app, or of all assigned users if `users` is empty.
	Provision func(ctx context.Context, app string, users []string) error
	// CreateToken creates an API token for a user, given by id, login or "me". For an unknown user it returns a rest.NotFound error.
	CreateToken func(ctx context.Context, name, user string) (CreatedToken, error)
	// Outbox stores the emails, SMS and voice messages that a production service would have sent.
	Outbox *outbox.Box
	// Released starts asynchronous work that was on hold and has been released. Default: none; the work starts at the next periodic run.
	Released func()
	// Clock is the clock to move. Default: none; the path is not served. With a clock, KeepTokens is required: it extends the configured token
	// and the token of the request, so that they are valid at the new time.
	Clock      sandboxport.Clock
	KeepTokens func(ctx context.Context, tx docstore.Execer, now time.Time) error
	// Reset resets the organization to its initial content, and to the seeded content if seed is true. If it fails before the initial content
	// is complete, nothing changes. If only the seeding fails, the organization has the initial content. Default: none; the path is not
	// served.
	Reset func(ctx context.Context, seed bool) error
}

// Slice serves the sandbox operations.
type Slice struct {
	model.Deps
	o Options
}

// New returns the slice.
func New(d model.Deps, o Options) *Slice { return &Slice{Deps: d, o: o} }

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	list := []rest.Route{
		rest.Op[drainRequest, drained]{ID: "drainJobs", Route: "POST /sandbox/v1/jobs/drain", Tag: tag,
			Summary: "Wait until no provisioning work is pending", Scopes: []string{manage}, Do: s.drain},
		rest.Op[createTokenRequest, CreatedToken]{ID: "createAPIToken", Route: "POST /sandbox/v1/api-tokens", Tag: tag, Status: 201,
			Summary: "Create an API token; its secret is shown only in this response", Scopes: []string{manage}, Do: s.createToken},
		rest.Op[provisionRequest, rest.NoContent]{ID: "provisionUsers", Route: "POST /sandbox/v1/apps/{app}/provision", Tag: tag, Status: 202,
			Summary: "Provision assigned users now", Scopes: []string{manage},
			Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*provisionRequest).at), Do: s.provision},
	}
	list = append(append(list, s.outboxRoutes()...), s.holdRoutes()...)
	if s.o.Clock != nil {
		list = append(list, s.clockRoutes()...)
	}
	if s.o.Reset != nil {
		list = append(list, s.resetRoute())
	}
	if s.o.Providers != nil {
		list = append(append(list, s.providerRoutes()...), s.quirkRoutes()...)
	}
	return list
}

type appRequest struct {
	App string `path:"app" doc:"id of the app"`
}

func (r *appRequest) at() (string, *docstore.Doc[model.App]) { return r.App, nil }

type drainRequest struct {
	Timeout int `query:"timeoutSeconds" default:"30" min:"1" max:"600" doc:"maximum time to wait, in seconds"`
}

type drained struct {
	Pending int `json:"pending" readOnly:"true" doc:"number of users, groups and changes with pending work; always 0"`
}

func (s *Slice) drain(ctx context.Context, r *drainRequest) (drained, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Timeout)*time.Second)
	defer cancel()
	left, err := s.o.Work.Drain(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		pending := "pending: " + strconv.Itoa(left.Pending) + " (users, groups and changes with pending work)"
		causes := append([]string{pending}, left.Waiting...)
		return drained{}, rest.Fail(rest.CodeNotDrained, causes...)
	}
	return drained{}, err
}

type createTokenRequest struct {
	Body struct {
		Name   string `json:"name" required:"true" min:"1" max:"255" doc:"name of the token"`
		UserID string `json:"userId" required:"true" doc:"id or login of the user that the token authenticates, or me"`
	} `body:"required"`
}

// CreatedToken is a new API token with its secret.
type CreatedToken struct {
	ID     string `json:"id" readOnly:"true"`
	Name   string `json:"name" readOnly:"true"`
	UserID string `json:"userId" readOnly:"true"`
	Token  string `json:"token" readOnly:"true" doc:"secret; it cannot be read again"`
}

func (s *Slice) createToken(ctx context.Context, r *createTokenRequest) (CreatedToken, error) {
	return s.o.CreateToken(ctx, r.Body.Name, r.Body.UserID)
}

type provisionRequest struct {
	appRequest
	Body *struct {
		UserIDs []string `json:"userIds" doc:"ids of the users; all assigned users if absent"`
	} `body:"optional"`
}

func (s *Slice) provision(ctx context.Context, r *provisionRequest) (rest.NoContent, error) {
	var users []string
	if r.Body != nil {
		users = r.Body.UserIDs
	}
	return rest.NoContent{}, s.o.Provision(ctx, r.App, users)
}
