package trace

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/rehearse"
	"github.com/scimwright/scimwright/scim"
)

// Replay returns the writes of a run: it replays the successful requests on a simulating client, which receives the recorded responses to
// the reads. If the last response contains the account, that account is the result, because the target may not have stored all sent values.
func Replay(ctx context.Context, all []engine.Sent) []rehearse.Change {
	recorded := &recording{}
	c := rehearse.New(recorded, rehearse.Options{})
	for _, s := range all {
		body, err := scim.Decode([]byte(s.Body))
		if s.Error != "" || s.Status < 200 || s.Status > 299 || s.Status == http.StatusAccepted || s.Body != "" && err != nil {
			continue
		}
		recorded.answer.Status = s.Status
		recorded.answer.Body, _ = scim.Decode([]byte(s.Answer)) // nil for a truncated body
		if s.Method != http.MethodGet {
			recorded.answer = unread(s.Path)
		}
		c.Do(ctx, plan.Request{Method: s.Method, Path: s.Path, Body: body})
	}
	changes := c.Changes()
	if len(changes) == 0 {
		return nil
	}
	last := &changes[len(changes)-1]
	known := last.Before == nil || last.Before.Text("userName") != ""
	if shown := lastShown(all); last.Endpoint == "Users" && known && shown != nil {
		last.After = shown
	}
	return changes
}

// lastShown returns the account in the last response, nil if that response contains no account.
func lastShown(all []engine.Sent) *scim.Resource {
	if len(all) == 0 {
		return nil
	}
	shown, err := scim.DecodeResource([]byte(all[len(all)-1].Answer))
	if err != nil || shown.Text("userName") == "" {
		return nil
	}
	return shown
}

// recording responds with a recorded response.
type recording struct{ answer plan.Response }

// Do implements rehearse.Target.
func (r *recording) Do(context.Context, plan.Request) plan.Response { return r.answer }

// unread returns the response for a resource that was changed without a read: only its id is known.
func unread(path string) plan.Response {
	id, _ := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	return plan.Response{Status: http.StatusOK, Body: scim.NewObject(scim.Member{Name: "id", Value: id})}
}
