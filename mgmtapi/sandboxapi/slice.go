package sandboxapi

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/imports"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/outbox"
)

// manage is the scope of the whole surface. No role but SUPER_ADMIN has it.
const manage = "svc.sandbox.manage"

const tag = "Sandbox"

// Options are what the slice needs beside the model.
type Options struct {
	Work Work
	// Engine is the provisioning engine. Defaults to none: its paths are not served.
	Engine Engine
	// Imports shows what imports have read. Defaults to none: its paths are not served. Importing, which is needed with it, makes users
	// of accounts.
	Imports   Imports
	Importing *imports.Service
	// Providers are the SCIM servers of the sandbox. Defaults to none: the paths are not served.
	Providers Providers
	// Provision has the named users of an app (all assigned ones when none are named) provisioned.
	Provision func(ctx context.Context, app string, users []string) error
	// CreateToken makes an API token for a user, named by id, login or "me". An unknown user is a rest.NotFound.
	CreateToken func(ctx context.Context, name, user string) (CreatedToken, error)
	// Outbox holds the messages.
	Outbox *outbox.Box
	// Released is called when asynchronous work was released, so that it starts. Defaults to none: it starts when it is next looked for.
	Released func()
	// Clock is what can be moved. Defaults to none: the path is not served. KeepTokens, which is needed with it, keeps the token of the
	// request and the configured one valid at a new time.
	Clock      Clock
	KeepTokens func(ctx context.Context, tx docstore.Execer, now time.Time) error
	// Reset takes the organisation back to its initial content, and seeds it when that is asked for. Nothing is changed when it fails
	// before the content is there; when seeding fails, the organisation is left without. Defaults to none: the path is not served.
	Reset func(ctx context.Context, seed bool) error
}

// Slice is the sandbox surface.
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
			Summary: "Wait until no provisioning work is left", Scopes: []string{manage}, Do: s.drain},
		rest.Op[createTokenRequest, CreatedToken]{ID: "createAPIToken", Route: "POST /sandbox/v1/api-tokens", Tag: tag, Status: 201,
			Summary: "Create an API token; its secret is shown only in this answer", Scopes: []string{manage}, Do: s.createToken},
		rest.Op[appRequest, []task]{ID: "listProvisioningTasks", Route: "GET /sandbox/v1/apps/{app}/tasks", Tag: tag,
			Summary: "List provisioning tasks of an app that failed, or that wait for its SCIM server",
			Scopes:  []string{manage}, Find: s.findApp, Do: s.tasks},
		rest.Op[retryRequest, rest.Nothing]{ID: "retryProvisioningTask", Route: "POST /sandbox/v1/apps/{app}/tasks/{task}/retry", Tag: tag, Status: 202,
			Summary: "Try a failed provisioning task again", Scopes: []string{manage}, Find: s.findAppOfTask, Do: s.retry},
		rest.Op[provisionRequest, rest.Nothing]{ID: "provisionUsers", Route: "POST /sandbox/v1/apps/{app}/provision", Tag: tag, Status: 202,
			Summary: "Provision assigned users now", Scopes: []string{manage}, Find: s.findAppToProvision, Do: s.provision},
		rest.Op[attemptsRequest, []attempt]{ID: "listProvisioningAttempts", Route: "GET /sandbox/v1/apps/{app}/attempts", Tag: tag,
			Summary: "List the exchanges with an app's SCIM server, newest first", Scopes: []string{manage}, Find: s.findAppOfAttempts, Do: s.attempts},
	}
	list = append(append(list, s.outboxRoutes()...), s.holdRoutes()...)
	if s.o.Clock != nil {
		list = append(list, s.clockRoutes()...)
	}
	if s.o.Reset != nil {
		list = append(list, s.resetRoute())
	}
	if s.o.Engine != nil {
		list = append(list, s.engineRoutes()...)
	}
	if s.o.Imports != nil {
		list = append(list, s.importRoutes()...)
	}
	if s.o.Providers != nil {
		list = append(append(list, s.providerRoutes()...), s.quirkRoutes()...)
	}
	return list
}

type appRequest struct {
	App string `path:"app" doc:"id of the app"`
}

func (s *Slice) findApp(ctx context.Context, r *appRequest) error {
	_, err := s.Apps.Get(ctx, s.Store.Reader(), r.App)
	return rest.Missing(err, "AppInstance", r.App)
}

type drainRequest struct {
	Timeout int `query:"timeoutSeconds" default:"30" min:"1" max:"600" doc:"how long to wait"`
}

type drained struct {
	Pending int `json:"pending" readOnly:"true" doc:"principals that are not settled; always 0"`
}

func (s *Slice) drain(ctx context.Context, r *drainRequest) (drained, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Timeout)*time.Second)
	defer cancel()
	left, err := s.o.Work.Drain(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		causes := append([]string{"pending: " + strconv.Itoa(left.Pending) + " principals are not settled yet"}, left.Waiting...)
		return drained{}, rest.Fail(rest.CodeNotDrained, causes...)
	}
	return drained{}, err
}

type createTokenRequest struct {
	Body struct {
		Name   string `json:"name" required:"true" min:"1" max:"255" doc:"what the token is for"`
		UserID string `json:"userId" required:"true" doc:"id or login of the user it acts as, or me"`
	} `body:"required"`
}

// CreatedToken is a new API token with its secret.
type CreatedToken struct {
	ID     string `json:"id" readOnly:"true"`
	Name   string `json:"name" readOnly:"true"`
	UserID string `json:"userId" readOnly:"true"`
	Token  string `json:"token" readOnly:"true" doc:"the secret; it cannot be read again"`
}

func (s *Slice) createToken(ctx context.Context, r *createTokenRequest) (CreatedToken, error) {
	return s.o.CreateToken(ctx, r.Body.Name, r.Body.UserID)
}

type task struct {
	ID        string    `json:"id" readOnly:"true"`
	UserID    string    `json:"userId,omitempty"`
	GroupID   string    `json:"groupId,omitempty"`
	Name      string    `json:"name,omitempty" readOnly:"true" doc:"login of the user or name of the group"`
	Status    string    `json:"status" readOnly:"true" enum:"failed,retrying,pending,held,dirty" doc:"pending: answered 202; dirty: on hold"`
	Operation string    `json:"operation" readOnly:"true"`
	Error     string    `json:"errorSummary" readOnly:"true"`
	Created   rest.Time `json:"created" readOnly:"true"`
	Attempts  int       `json:"attempts" readOnly:"true"`
	Next      time.Time `json:"nextAttempt,omitzero" readOnly:"true" doc:"when it is tried again; absent when not by itself"`
	Pending   *Pending  `json:"pending,omitempty" readOnly:"true" doc:"the change that the target has accepted"`
}

func (s *Slice) tasks(ctx context.Context, r *appRequest) ([]task, error) {
	list, err := s.o.Work.Tasks(ctx, r.App)
	out := make([]task, 0, len(list))
	for _, t := range list {
		out = append(out, task{
			ID: t.ID, UserID: t.User, GroupID: t.Group, Name: t.Name, Status: t.Status, Operation: t.Operation, Error: t.Error,
			Created: rest.TimeOf(t.Created), Attempts: t.Attempts, Next: t.Next, Pending: t.Pending,
		})
	}
	return out, err
}

type retryRequest struct {
	appRequest
	Task string `path:"task" doc:"id of the task"`
}

func (s *Slice) findAppOfTask(ctx context.Context, r *retryRequest) error {
	return s.findApp(ctx, &r.appRequest)
}

func (s *Slice) retry(ctx context.Context, r *retryRequest) (rest.Nothing, error) {
	return rest.Nothing{}, r.missing(s.o.Work.Retry(ctx, r.App, r.Task))
}

// missing turns ErrNoTask into «not found».
func (r retryRequest) missing(err error) error {
	if errors.Is(err, ErrNoTask) {
		return rest.NotFound("Task", r.Task)
	}
	return err
}

type provisionRequest struct {
	appRequest
	Body *struct {
		UserIDs []string `json:"userIds" doc:"only these users; all assigned users when absent"`
	} `body:"optional"`
}

func (s *Slice) findAppToProvision(ctx context.Context, r *provisionRequest) error {
	return s.findApp(ctx, &r.appRequest)
}

func (s *Slice) provision(ctx context.Context, r *provisionRequest) (rest.Nothing, error) {
	var users []string
	if r.Body != nil {
		users = r.Body.UserIDs
	}
	return rest.Nothing{}, s.o.Provision(ctx, r.App, users)
}

type attemptsRequest struct {
	appRequest
	User   string `query:"userId" doc:"only those for this user"`
	Group  string `query:"groupId" doc:"only those for this pushed group"`
	Before int64  `query:"before" min:"0" doc:"only those older than the one with this id"`
	Limit  int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

func (s *Slice) findAppOfAttempts(ctx context.Context, r *attemptsRequest) error {
	return s.findApp(ctx, &r.appRequest)
}

type attempt struct {
	ID         int64  `json:"id" readOnly:"true"`
	UserID     string `json:"userId,omitempty" doc:"Absent, as groupId is, for a test of the connection."`
	GroupID    string `json:"groupId,omitempty"`
	At         string `json:"at" readOnly:"true" doc:"RFC 3339 with milliseconds"`
	Method     string `json:"method" readOnly:"true"`
	Path       string `json:"path" readOnly:"true" doc:"relative to the base URL of the connection"`
	Status     int    `json:"status" readOnly:"true" doc:"0 when no answer came"`
	DurationMS int64  `json:"durationMs" readOnly:"true"`
	Request    string `json:"request,omitempty" doc:"body that was sent, secrets taken out"`
	Response   string `json:"response,omitempty" doc:"body that came back, secrets taken out"`
	Error      string `json:"error,omitempty" doc:"why there was no usable answer"`
	Curl       string `json:"curl" readOnly:"true" doc:"the request as a command line"`
}

func (s *Slice) attempts(ctx context.Context, r *attemptsRequest) ([]attempt, error) {
	list, err := s.o.Work.Attempts(ctx, AttemptQuery{App: r.App, User: r.User, Group: r.Group, Before: r.Before, Limit: r.Limit})
	out := make([]attempt, 0, len(list))
	for _, a := range list {
		out = append(out, attempt{ID: a.ID, UserID: a.User, GroupID: a.Group, At: a.At.UTC().Format(rest.TimeFormat), Method: a.Method, Path: a.Path, Status: a.Status,
			DurationMS: a.Duration.Milliseconds(), Request: a.Request, Response: a.Response, Error: a.Error, Curl: a.Curl})
	}
	return out, err
}
