package webhooksapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) letterRoutes() []rest.Route {
	const all = "/webhooks/{endpoint}/letters"
	return []rest.Route{
		row(a, "listLetters", "GET "+all, "List the dead letters of an endpoint, or the messages that wait for a retry", a.letters),
		row(a, "replayLetters", "POST "+all+"/replay", "Deliver all dead letters of an endpoint again", a.replayAll),
		row(a, "replayLetter", "POST "+all+"/{letter}/replay", "Deliver a dead letter again", a.replay),
		row(a, "deleteLetter", "DELETE "+all+"/{letter}", "Delete a dead letter", a.discard),
	}
}

// Letter is a message that could not be delivered.
type Letter struct {
	ID       string    `json:"id" readOnly:"true" doc:"id of the message, as in the header webhook-id"`
	App      string    `json:"app" readOnly:"true" doc:"id of the app"`
	Seq      int64     `json:"seq" readOnly:"true" doc:"number of the event within the app"`
	Type     string    `json:"type" readOnly:"true" doc:"type of the event"`
	Kind     string    `json:"kind,omitempty" readOnly:"true" doc:"user or group; absent for events of an app"`
	Subject  string    `json:"subject,omitempty" readOnly:"true" doc:"id of the user or group"`
	Body     string    `json:"body" readOnly:"true" doc:"the message"`
	Attempts int       `json:"attempts" readOnly:"true" doc:"number of attempts"`
	Next     time.Time `json:"next,omitzero" readOnly:"true" doc:"time of the next attempt; absent for a dead letter"`
	Created  time.Time `json:"created" readOnly:"true" doc:"when the message became a letter"`
	Failed   time.Time `json:"failed,omitzero" readOnly:"true" doc:"time of the last attempt"`
	Status   int       `json:"status" readOnly:"true" doc:"status of the last response, 0 for none"`
	Error    string    `json:"error,omitempty" readOnly:"true" doc:"why the last attempt failed"`
}

// Replayed is the result of a replay of all dead letters.
type Replayed struct {
	Replayed int `json:"replayed" readOnly:"true" doc:"number of dead letters"`
}

type lettersRequest struct {
	endpointPath
	State string `query:"state" default:"dead" enum:"dead,waiting" doc:"dead letters, or messages that wait for a retry"`
	After string `query:"after" max:"2000" doc:"cursor in the Link header of the previous page"`
	Limit int    `query:"limit" default:"100" min:"1" max:"100" clamp:"true" doc:"maximum number of letters"`
}

type letterRequest struct {
	endpointPath
	Letter string `path:"letter" doc:"id of the message"`
}

// rejected converts an error of an operation on one letter.
func (r *letterRequest) rejected(err error) error {
	if errors.Is(err, webhooks.ErrNotFound) {
		return rest.NotFound("Letter", r.Letter)
	}
	return rejected(err, r.Endpoint)
}

// position is the position of a letter in the list, as a cursor has it. The app has no prefix of a tenant.
type position struct {
	App string `json:"a"`
	Seq int64  `json:"s"`
	ID  string `json:"i"`
}

func (a *api) letters(ctx context.Context, r *lettersRequest) (rest.Page[Letter], error) {
	tenant := a.tenant(ctx)
	q := webhooks.LetterQuery{Endpoint: r.Endpoint, Dead: r.State == "dead", Limit: r.Limit}
	if r.After != "" {
		var p position
		text, err := base64.RawURLEncoding.DecodeString(r.After)
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil || strings.Contains(p.App+p.ID, "\x00") {
			return rest.Page[Letter]{}, &rest.Error{Code: rest.CodeCursor, Err: err}
		}
		q.After = &webhooks.Letter{App: tenant + p.App, Seq: p.Seq, ID: p.ID}
	}
	found, err := a.s.Letters(ctx, q)
	if err != nil {
		return rest.Page[Letter]{}, err
	}
	page := rest.Page[Letter]{Items: []Letter{}}
	for i := range found {
		l := &found[i]
		page.Items = append(page.Items, Letter{
			ID: l.ID, App: strings.TrimPrefix(l.App, tenant), Seq: l.Seq, Type: string(l.Type), Kind: string(l.Kind), Subject: l.Principal,
			Body: l.Body, Attempts: l.Attempts, Next: l.Next, Created: l.Created, Failed: l.Failed, Status: l.Status, Error: l.Error,
		})
	}
	if len(found) == r.Limit {
		last := &page.Items[len(found)-1]
		text, err := json.Marshal(position{last.App, last.Seq, last.ID})
		if err != nil {
			return page, fmt.Errorf("webhooksapi: %w", err)
		}
		page.Next = base64.RawURLEncoding.EncodeToString(text)
	}
	return page, nil
}

func (a *api) replayAll(ctx context.Context, r *endpointPath) (Replayed, error) {
	n, err := a.s.ReplayAll(ctx, r.Endpoint)
	return Replayed{n}, rejected(err, r.Endpoint)
}

func (a *api) replay(ctx context.Context, r *letterRequest) (rest.NoContent, error) {
	return rest.NoContent{}, r.rejected(a.s.Replay(ctx, r.Endpoint, r.Letter))
}

func (a *api) discard(ctx context.Context, r *letterRequest) (rest.NoContent, error) {
	return rest.NoContent{}, r.rejected(a.s.Discard(ctx, r.Endpoint, r.Letter))
}
