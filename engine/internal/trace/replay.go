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

// Replay tells what was written: it rehearses what was sent and answered with success, with the answers to the reads as they were
// recorded. What an account was afterwards is taken from the last answer that shows it, if there is one: the target may not have
// kept what it was sent.
func Replay(ctx context.Context, all []engine.Sent) []rehearse.Change {
	recorded := &recording{}
	c := rehearse.New(recorded, rehearse.Options{})
	for _, s := range all {
		body, err := scim.Decode([]byte(s.Body))
		if s.Error != "" || s.Status < 200 || s.Status > 299 || s.Status == http.StatusAccepted || s.Body != "" && err != nil {
			continue
		}
		recorded.answer.Status = s.Status
		recorded.answer.Body, _ = scim.Decode([]byte(s.Answer)) // one that was cut tells nothing
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

// lastShown is the account that the last answer shows, nil when it shows none.
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

// recording answers as was recorded.
type recording struct{ answer plan.Response }

// Do implements rehearse.Target.
func (r *recording) Do(context.Context, plan.Request) plan.Response { return r.answer }

// unread stands for a resource that was changed without being read: nothing but its id is known.
func unread(path string) plan.Response {
	id, _ := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	return plan.Response{Status: http.StatusOK, Body: scim.NewObject(scim.Member{Name: "id", Value: id})}
}
