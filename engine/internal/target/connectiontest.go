package target

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Test requests the target's first page of users; see connect.Client.Test.
func (c *Connection) Test(ctx context.Context) error {
	if c.Broken != nil {
		return c.Broken
	}
	return c.Client.Test(ctx)
}

// TestRecorded does the same as Test, and returns the exchanges. Only SCIM messages are recorded unchanged: the address may belong to a
// server of another kind, whose responses the administrators of the app must not read.
func (c *Connection) TestRecorded(ctx context.Context) (sent []engine.Attempt, err error) {
	if c.Broken != nil {
		return nil, c.Broken
	}
	run := rand.Text()
	err = c.Client.Record(func(x wirelog.Exchange) {
		a := connect.AttemptOf(run, x)
		if !strings.Contains(a.ResponseBody, messageURN) {
			removeContent(&a)
		}
		sent = append(sent, a)
	}).Test(ctx)
	return sent, err
}

// messageURN is the prefix of the schemas of lists and errors.
const messageURN = "urn:ietf:params:scim:api:messages:2.0:"

// removeContent removes everything from an exchange except its status and media type.
func removeContent(a *engine.Attempt) {
	if a.ResponseBody != "" {
		a.ResponseBody = "[not shown: not a SCIM message]"
	}
	mediaType := a.ResponseHeader.Values("Content-Type")
	if a.ResponseHeader = (http.Header{}); len(mediaType) > 0 {
		a.ResponseHeader["Content-Type"] = mediaType
	}
}
