package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Versions in what is sent to hooks.
const (
	eventTypeVersion  = "1.0"
	cloudEventVersion = "0.1"
)

// envelope is what a hook is sent.
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

// requestContext is what a hook is told of the request that is answered, nil outside of one.
func requestContext(ctx context.Context, method string) map[string]any {
	r := rest.RequestOf(ctx)
	if r.ID == "" {
		return nil
	}
	return map[string]any{
		"id": r.ID, "method": method, "url": map[string]any{"value": strings.TrimSuffix(rest.URL(ctx), "/") + r.Path}, "ipAddress": r.IP,
	}
}

// Command is something that a hook wants to be done.
type Command struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// HookError is an error that a hook has answered with.
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
	text := "the hook denies it: " + d.Summary
	for _, cause := range d.Causes {
		text += "; " + cause.Summary
	}
	return text
}

// reply is what a hook has answered.
type reply struct {
	Commands     []Command  `json:"commands"`
	Denial       *HookError `json:"error"`
	DebugContext any        `json:"debugContext"`
}

// MaxCommands is how many commands an answer may hold.
const MaxCommands = 100

// Refusal says that an answer holds what the type of the hook does not allow. Nothing of it was followed.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return "the answer of the hook was refused: " + r.Text }

func refuse(format string, args ...any) error { return &Refusal{Text: fmt.Sprintf(format, args...)} }

// parse reads the answer of a hook.
func parse(body []byte) (reply, error) {
	var out reply
	if body == nil {
		return out, nil
	}
	if !bytes.HasPrefix(body, []byte("{")) {
		return out, refuse("it is no JSON object")
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, refuse("it has members of the wrong type")
	}
	if len(out.Commands) > MaxCommands {
		return out, refuse("it holds more than %d commands", MaxCommands)
	}
	return out, nil
}

// question is a call of a hook by the service itself.
type question struct {
	hook docstore.Doc[model.InlineHook]
	data any
	// secrets are those in data: they are not told to the log when the endpoint echoes them.
	secrets []string
	// about are the parties that the log names beside the hook.
	about []model.LogParty
	// follow checks the commands of the answer and notes what they lead to. Its error discards them all.
	follow func([]Command) error
}

// ask calls a hook and follows the answer, and tells the log of both. The error is a *Failure, a *Denial or a *Refusal, or one of ours.
func (c *Caller) ask(ctx context.Context, q question) error {
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
	c.tell(ctx, audit.HookExecute, q, answer.debug(), err)
	if err != nil {
		return err
	}
	said, err := parse(answer.Body)
	debug := map[string]string{}
	if said.DebugContext != nil {
		text, err := json.Marshal(said.DebugContext) // written anew, so that a secret in it has one form
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
		err = q.follow(said.Commands)
	}
	c.tell(ctx, audit.HookProcess, q, debug, err)
	return err
}

// debug is what the log is told of an answer.
func (a Answer) debug() map[string]string {
	if a.Attempts == 0 {
		return nil
	}
	return map[string]string{"status": strconv.Itoa(a.Status), "attempts": strconv.Itoa(a.Attempts)}
}

// tell writes an entry of its own: what the call is part of may be refused, and the call has still happened.
func (c *Caller) tell(ctx context.Context, event audit.Type, q question, debug map[string]string, err error) {
	entry := audit.Entry{Type: event, Targets: append([]model.LogParty{audit.InlineHook(q.hook)}, q.about...), Debug: debug}
	if err != nil {
		text, public := publicText(err)
		if !public {
			c.logger.ErrorContext(ctx, "calling an inline hook failed", "hook", q.hook.ID, "error", err)
		}
		entry.Failure = harmless(text, q.secrets)
	}
	if failure, ok := errors.AsType[*CallError](err); ok {
		entry.Debug = map[string]string{"status": strconv.Itoa(failure.Status), "attempts": strconv.Itoa(failure.Attempts)}
		if failure.Excerpt != "" {
			entry.Debug["answer"] = harmless(failure.Excerpt, q.secrets)
		}
	}
	audit.WriteAlone(ctx, c.Deps, c.logger, entry)
}

// publicText is an error as the log may have it: one of ours stays inside.
func publicText(err error) (string, bool) {
	switch err := err.(type) { //nolint:errorlint // they are never wrapped
	case *CallError, *HookError, *Refusal:
		return err.Error(), true
	}
	return "the hook could not be called", false
}

// Execute posts a JSON text to the endpoint of a hook as it is, for tests of the endpoint. What is answered is not followed.
// The error is a *Failure, or one of ours.
func (c *Caller) Execute(ctx context.Context, hook docstore.Doc[model.InlineHook], body []byte) (Answer, error) {
	answer, err := c.send(ctx, hook, body)
	c.tell(ctx, audit.HookExecute, question{hook: hook}, answer.debug(), err)
	return answer, err
}
