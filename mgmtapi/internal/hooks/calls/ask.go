package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Versions in the requests to hooks.
const (
	eventTypeVersion  = "1.0"
	cloudEventVersion = "0.1"
)

// envelope is the request body of a hook call.
type envelope struct {
	Source            string         `json:"source"`
	EventID           string         `json:"eventId"`
	EventTime         string         `json:"eventTime"`
	EventTypeVersion  string         `json:"eventTypeVersion"`
	CloudEventVersion string         `json:"cloudEventVersion"`
	ContentType       string         `json:"contentType"`
	EventType         model.HookType `json:"eventType"`
	Data              any            `json:"data"`
}

// requestContext returns the description of the management API request that caused the call, nil outside of a request.
func requestContext(ctx context.Context, method string) map[string]any {
	r := rest.RequestOf(ctx)
	if r.ID == "" {
		return nil
	}
	return map[string]any{
		"id": r.ID, "method": method, "url": map[string]any{"value": strings.TrimSuffix(rest.URL(ctx), "/") + r.Path}, "ipAddress": r.IP,
	}
}

// Command is one instruction in the response of a hook.
type Command struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// HookError is an error in the response of a hook.
type HookError struct {
	Summary string `json:"errorSummary"`
	Causes  []struct {
		Summary      string `json:"errorSummary"`
		Reason       string `json:"reason"`
		LocationType string `json:"locationType"`
		Location     string `json:"location"`
		Domain       string `json:"domain"`
	} `json:"errorCauses"`
}

func (d *HookError) Error() string {
	text := "the hook returned an error: " + d.Summary
	for _, cause := range d.Causes {
		text += "; " + cause.Summary
	}
	return text
}

// reply is the response body of a hook.
type reply struct {
	Commands     []Command  `json:"commands"`
	Denial       *HookError `json:"error"`
	DebugContext any        `json:"debugContext"`
}

// MaxCommands is the maximum number of commands in a response.
const MaxCommands = 100

// Refusal is the error for a response that the type of the hook does not allow. None of its commands was applied.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return "invalid response of the hook: " + r.Text }

func refuse(format string, args ...any) error { return &Refusal{Text: fmt.Sprintf(format, args...)} }

// parse reads the response of a hook.
func parse(body []byte) (reply, error) {
	var out reply
	if body == nil {
		return out, nil
	}
	if !bytes.HasPrefix(body, []byte("{")) {
		return out, refuse("it is not a JSON object")
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, refuse("it has members of the wrong type")
	}
	if len(out.Commands) > MaxCommands {
		return out, refuse("it contains more than %d commands", MaxCommands)
	}
	return out, nil
}

// hookCall is a call of a hook by the service, which applies the response. For a test call by a client, see Execute.
type hookCall struct {
	hook docstore.Doc[model.InlineHook]
	data any
	// secrets are the secrets in data. They are removed from the log entry if the response of the endpoint contains them.
	secrets []string
	// about are the log targets in addition to the hook.
	about []model.LogParty
	// apply validates the commands of the response and records their effects. An error discards all of them.
	apply func([]Command) error
}

// callHook calls a hook, applies the response and logs both. The error is a *CallError, a *HookError, a *Refusal, or an internal error.
func (c *Caller) callHook(ctx context.Context, q hookCall) error {
	now := c.Now().UTC()
	body, err := json.Marshal(envelope{
		Source: rest.URL(ctx, "api", "v1", "inlineHooks", q.hook.ID), EventID: model.NewUUID(), EventTime: now.Format(rest.TimeFormat),
		EventTypeVersion: eventTypeVersion, CloudEventVersion: cloudEventVersion, ContentType: mediaJSON, EventType: q.hook.Value.Type,
		Data: q.data,
	})
	if err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	answer, err := c.send(ctx, q.hook, body)
	c.logCall(ctx, audit.HookExecute, q, executed(body, answer, q.secrets), err)
	if err != nil {
		return err
	}
	said, err := parse(answer.Body)
	debug := map[string]string{}
	if said.DebugContext != nil {
		// Encode the decoded value again: the response may spell a secret with other escapes, which excerpt would not find.
		text, err := json.Marshal(said.DebugContext)
		if err != nil {
			return fmt.Errorf("hooks: %w", err)
		}
		debug["debugContext"] = excerpt(text, q.secrets)
	}
	if err == nil && said.Denial != nil {
		err = said.Denial
	}
	if err == nil {
		debug["commands"] = strconv.Itoa(len(said.Commands))
		err = q.apply(said.Commands)
	}
	c.logCall(ctx, audit.HookProcess, q, debug, err)
	return err
}

// executed returns the log details of a call: the envelope, and the response unless its Attempts are 0.
func executed(body []byte, a Answer, secrets []string) map[string]string {
	debug := map[string]string{"envelope": record(body, secrets)}
	if a.Attempts > 0 {
		debug["status"], debug["attempts"] = strconv.Itoa(a.Status), strconv.Itoa(a.Attempts)
		debug["answer"] = record(a.Body, append([]string{a.secret}, secrets...))
	}
	return debug
}

// logCall writes a log entry in its own transaction: the call happened even if the operation that made the call is rejected.
func (c *Caller) logCall(ctx context.Context, event audit.Type, q hookCall, debug map[string]string, err error) {
	entry := audit.Entry{Type: event, Targets: append([]model.LogParty{audit.InlineHook(q.hook)}, q.about...), Debug: debug}
	if err != nil {
		text, public := publicText(err)
		if !public {
			c.logger.ErrorContext(ctx, "cannot call inline hook", "hook", q.hook.ID, "error", err)
		}
		entry.Failure = redact(text, q.secrets)
	}
	if failure, ok := errors.AsType[*CallError](err); ok {
		entry.Debug = maps.Clone(debug)
		entry.Debug["status"], entry.Debug["attempts"] = strconv.Itoa(failure.Status), strconv.Itoa(failure.Attempts)
		if failure.Excerpt != "" {
			entry.Debug["answer"] = redact(failure.Excerpt, q.secrets)
		}
	}
	audit.WriteAlone(ctx, c.Deps, c.logger, entry)
}

// publicText returns the message of an error for the system log. For an internal error, it returns a general message and false.
func publicText(err error) (string, bool) {
	switch err := err.(type) { //nolint:errorlint // these errors are never wrapped
	case *CallError, *HookError, *Refusal:
		return err.Error(), true
	}
	return "the hook could not be called", false
}

// Execute posts a JSON text unchanged to the endpoint of a hook, to test the endpoint. Commands in the response are not applied. The error
// is a *CallError or an internal error.
func (c *Caller) Execute(ctx context.Context, hook docstore.Doc[model.InlineHook], body []byte) (Answer, error) {
	answer, err := c.send(ctx, hook, body)
	c.logCall(ctx, audit.HookExecute, hookCall{hook: hook}, executed(body, answer, nil), err)
	return answer, err
}
