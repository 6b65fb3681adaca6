package control

import (
	"context"
	"errors"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) taskRoutes() []rest.Route {
	return []rest.Route{
		row(a, "listProvisioningTasks", "GET /apps/{app}/tasks",
			"List provisioning tasks of an app that failed, or that wait for its SCIM server", 0, a.tasks),
		row(a, "retryProvisioningTask", "POST /apps/{app}/tasks/{task}/retry", "Retry a failed provisioning task", 202,
			func(ctx context.Context, r *taskRequest) (rest.NoContent, error) {
				return r.each(ctx, a.o.Engine.Tasks().Retry)
			}),
		row(a, "listProvisioningAttempts", "GET /apps/{app}/attempts", "List the exchanges with an app's SCIM server, newest first", 0,
			a.attempts),
		row(a, "dismissProvisioningTask", "POST /apps/{app}/tasks/{task}/dismiss",
			"Mark a failed provisioning task as resolved without changing the SCIM server", 204,
			func(ctx context.Context, r *taskRequest) (rest.NoContent, error) {
				return r.each(ctx, a.o.Engine.Tasks().Dismiss)
			}),
		row(a, "retryAllProvisioningTasks", "POST /apps/{app}/tasks/retry", "Retry all failed provisioning tasks of an app", 0,
			func(ctx context.Context, r *appRequest) (retried, error) {
				n, err := a.o.Engine.Tasks().RetryAll(ctx, r.App)
				return retried{Retried: n}, err
			}),
	}
}

type retried struct {
	Retried int `json:"retried" readOnly:"true" doc:"number of tasks that are retried"`
}

// taskRequest is a request for a task. A task has the id of its principal.
type taskRequest struct {
	appRequest
	Task string `path:"task" doc:"id of the task"`
}

// each calls do for the user with the id of the task. If no such user exists, each calls do for the group with that id.
func (r *taskRequest) each(
	ctx context.Context, do func(ctx context.Context, app string, kind engine.Kind, id string) error,
) (rest.NoContent, error) {
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		switch err := do(ctx, r.App, kind, r.Task); {
		case errors.Is(err, engine.ErrNotFound):
			continue
		case errors.Is(err, engine.ErrStale):
			return rest.NoContent{}, &rest.Error{Code: rest.CodeMoved,
				Summary: "The task is no longer open: its state has changed. List the tasks again.", Err: err}
		default:
			return rest.NoContent{}, err
		}
	}
	return rest.NoContent{}, rest.NotFound("Task", r.Task)
}

// maxTasks is the maximum number of tasks in the list of one app.
const maxTasks = 1000

func (a *api) tasks(ctx context.Context, r *appRequest) ([]client.Task, error) {
	found, err := a.o.Engine.Tasks().List(ctx, engine.TaskQuery{App: r.App, Limit: maxTasks})
	if err != nil {
		return nil, err
	}
	about := make([]engine.Principal, 0, len(found))
	for _, t := range found {
		about = append(about, engine.Principal{Kind: t.Kind, ID: t.ID})
	}
	names, err := a.names(ctx, r.App, about)
	if err != nil {
		return nil, err
	}
	shown := make([]client.Task, 0, len(found))
	for i, t := range found {
		s := client.Task{
			ID: t.ID, Name: names[about[i]], Status: t.Status, Operation: t.Operation, Error: t.Error,
			Created: t.Since.UTC().Truncate(time.Second).Format(rest.TimeFormat), Attempts: t.Attempts, Next: t.NextAt, Pending: t.Pending.Change(),
		}
		s.UserID, s.GroupID = byKind(t.Kind, t.ID)
		shown = append(shown, s)
	}
	return shown, nil
}

// byKind returns the id as user or as group, depending on the kind; the other result is empty.
func byKind(kind engine.Kind, id string) (user, group string) {
	if kind == engine.User {
		return id, ""
	}
	return "", id
}

type attemptsRequest struct {
	appRequest
	User   string `query:"userId" doc:"only exchanges for this user"`
	Group  string `query:"groupId" doc:"only exchanges for this pushed group"`
	Before int64  `query:"before" min:"0" doc:"only exchanges with a smaller id"`
	Limit  int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

// attemptsPart is the number of exchanges per read of the store.
const attemptsPart = 100

func (a *api) attempts(ctx context.Context, r *attemptsRequest) (page rest.Page[client.Attempt], err error) {
	query := engine.AttemptQuery{App: r.App, Before: r.Before}
	switch {
	case r.User != "":
		query.Kind, query.Principal = engine.User, r.User
	case r.Group != "":
		query.Kind, query.Principal = engine.Group, r.Group
	}
	read := func(after *engine.Attempt, n int) ([]engine.Attempt, error) {
		if query.Limit = n; after != nil {
			query.Before = after.ID
		}
		return a.o.Engine.Traces().Attempts(ctx, query)
	}
	_, items, more, err := stretch(ctx, r.Limit, attemptsPart, read, showAttempt)
	if err != nil {
		return page, err
	}
	page.Items = items
	if more {
		page.Parameter, page.Next = "before", strconv.FormatInt(items[len(items)-1].ID, 10)
	}
	return page, nil
}

// showAttempt returns an exchange as the API shows it, and the size of its texts.
func showAttempt(x *engine.Attempt) (client.Attempt, int, error) {
	s := client.Attempt{
		ID: x.ID, At: x.At.UTC().Format(rest.TimeFormat), Method: x.Method, Path: RelativePath(x.URL), Status: x.Status,
		DurationMS: x.Duration.Milliseconds(), Request: x.RequestBody, Response: x.ResponseBody, Error: x.Error, Curl: x.Curl(true),
	}
	s.UserID, s.GroupID = byKind(x.Kind, x.Principal)
	return s, len(s.Path) + len(s.Request) + len(s.Response) + len(s.Error) + len(s.Curl), nil
}

// RelativePath returns the path of an exchange's URL relative to the base URL of the target: the part from the last /Users or /Groups, with
// the query.
func RelativePath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	p := u.EscapedPath()
	for _, endpoint := range []string{"/Users", "/Groups"} {
		if i := strings.LastIndex(p, endpoint); i >= 0 {
			p = p[i:]
			break
		}
	}
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	return p
}

var taskWords = rest.Words{
	reflect.TypeFor[client.Task](): {Members: map[string]reflect.StructTag{
		"id":           `readOnly:"true"`,
		"userId":       "",
		"groupId":      "",
		"name":         `readOnly:"true" doc:"login of the user or name of the group"`,
		"status":       `readOnly:"true" enum:"failed,retrying,pending,held,dirty" doc:"pending: accepted with 202; dirty: on hold"`,
		"operation":    `readOnly:"true"`,
		"errorSummary": `readOnly:"true"`,
		"created":      `readOnly:"true" format:"date-time"`,
		"attempts":     `readOnly:"true"`,
		"nextAttempt":  `readOnly:"true" doc:"time of the next automatic attempt; absent if there is none"`,
		"pending":      `readOnly:"true" doc:"the change that the target accepted with 202 and has not yet carried out"`,
	}},
	reflect.TypeFor[client.Attempt](): {Members: map[string]reflect.StructTag{
		"id":         `readOnly:"true"`,
		"userId":     `doc:"userId and groupId are absent for a test of the connection"`,
		"groupId":    "",
		"at":         `readOnly:"true" doc:"RFC 3339 with milliseconds"`,
		"method":     `readOnly:"true"`,
		"path":       `readOnly:"true" doc:"relative to the base URL of the connection"`,
		"status":     `readOnly:"true" doc:"0 without a response"`,
		"durationMs": `readOnly:"true"`,
		"request":    `doc:"request body without secrets"`,
		"response":   `doc:"response body without secrets"`,
		"error":      `doc:"reason for a missing or unusable response"`,
		"curl":       `readOnly:"true" doc:"the request as a curl command"`,
	}},
}
