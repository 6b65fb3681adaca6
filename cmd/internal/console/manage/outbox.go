package manage

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const outboxPath = "/sandbox/v1/outbox"

// outbox is the subject of the messages that an identity provider would send.
func (m *Manage) outbox() subject {
	return subject{
		links:     []console.Link{{Label: "Outbox", Path: "/outbox", Key: "m", Access: engine.AccessWrite}},
		templates: []string{"outbox"},
		pages:     map[string]console.Page{"/outbox": m.outboxPage},
		actions: map[string]console.Row{
			"deleteMessages": {
				Label: "Empty the outbox", What: "Removes all messages of the outbox. Their codes and links remain valid.",
				Method: http.MethodDelete, Path: outboxPath, Count: countMessages, Done: done("The outbox is empty."),
			},
		},
	}
}

// maxMessages is the maximum number of messages that the API lists.
const maxMessages = 1000

func countMessages(ctx context.Context, c *api.Client, _ url.Values) (int, []console.Fact, error) {
	var found []struct{}
	err := c.Do(ctx, http.MethodGet, outboxPath+"?limit="+strconv.Itoa(maxMessages), nil, &found)
	text := strconv.Itoa(len(found))
	if len(found) == maxMessages {
		text += " or more"
	}
	return len(found), []console.Fact{{Name: "messages", Value: text}}, err
}

// message is a message of the outbox.
type message struct {
	ID, Channel, To, UserID, Template, Subject, Text, OTP, Token, Link, Created string
}

// outboxPage lists messages, newest first.
type outboxPage struct {
	Rows                []message
	Channel, To, UserID string
	More                string // number of messages of the longer page; empty if all matching messages are shown
}

func (m *Manage) outboxPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	q := r.URL.Query()
	p := outboxPage{Channel: q.Get("channel"), To: strings.TrimSpace(q.Get("q")), UserID: q.Get("userId")}
	limit, _ := strconv.Atoi(q.Get("limit"))
	limit = min(max(limit, pageSize), maxMessages-1)
	query := url.Values{"limit": {strconv.Itoa(limit + 1)}}
	for name, value := range map[string]string{"channel": p.Channel, "to": p.To, "userId": p.UserID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if err := m.frame.Management(v).Do(r.Context(), http.MethodGet, outboxPath+"?"+query.Encode(), nil, &p.Rows); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	if len(p.Rows) > limit {
		p.Rows = p.Rows[:limit]
		if limit < maxMessages-1 {
			p.More = strconv.Itoa(min(limit*4, maxMessages-1))
		}
	}
	m.frame.Write(w, r, v, "outbox", "Outbox", p)
}
