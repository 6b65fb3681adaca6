package sandboxapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

func (s *Slice) outboxRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[messagesRequest, []Message]{ID: "listMessages", Route: "GET /sandbox/v1/outbox", Tag: tag,
			Summary:     "List the messages that would have been sent, newest first",
			Description: "Messages contain one-time tokens and codes in plaintext, for tests. A message is deleted after seven days.",
			Scopes:      []string{manage}, Check: checkMessages, Do: s.messages},
		rest.Op[struct{}, rest.NoContent]{ID: "deleteMessages", Route: "DELETE /sandbox/v1/outbox", Tag: tag,
			Summary: "Empty the outbox", Scopes: []string{manage}, Do: s.deleteMessages},
	}
}

type messagesRequest struct {
	Channel string `query:"channel" enum:"email,sms,voice" doc:"only messages on this channel"`
	To      string `query:"to" doc:"only messages to this address or number, case-insensitive"`
	UserID  string `query:"userId" doc:"only messages to this user"`
	Since   string `query:"since" format:"date-time" doc:"only messages sent at or after this time, RFC 3339"`
	Limit   int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`

	since time.Time
}

// checkMessages parses the time.
func checkMessages(_ context.Context, r *messagesRequest, causes *rest.Causes) error {
	if r.Since == "" {
		return nil
	}
	var err error
	if r.since, err = time.Parse(time.RFC3339, r.Since); err != nil {
		causes.Add("since", "The value must be a timestamp as in RFC 3339")
	}
	return nil
}

// Message is a message that would have been sent.
type Message struct {
	ID       string `json:"id" readOnly:"true"`
	Channel  string `json:"channel" readOnly:"true" enum:"email,sms,voice"`
	To       string `json:"to" readOnly:"true" doc:"email address or phone number"`
	UserID   string `json:"userId" readOnly:"true" doc:"id of the recipient"`
	Template string `json:"template" readOnly:"true" doc:"template of the message"`
	Subject  string `json:"subject,omitempty" readOnly:"true"`
	Text     string `json:"text" readOnly:"true"`
	OTP      string `json:"otp,omitempty" readOnly:"true" doc:"one-time code in the text"`
	Token    string `json:"token,omitempty" readOnly:"true" doc:"one-time token in the text"`
	Link     string `json:"link,omitempty" readOnly:"true" doc:"URL in the text"`
	Created  string `json:"created" readOnly:"true" format:"date-time" doc:"RFC 3339 with milliseconds"`
}

func (s *Slice) messages(ctx context.Context, r *messagesRequest) ([]Message, error) {
	found, err := s.o.Outbox.List(ctx, outbox.Query{
		Channel: outbox.Channel(r.Channel), To: r.To, UserID: r.UserID, Since: r.since, Limit: r.Limit,
	})
	out := make([]Message, 0, len(found))
	for _, m := range found {
		out = append(out, Message{
			ID: m.ID, Channel: string(m.Channel), To: m.To, UserID: m.UserID, Template: m.Template, Subject: m.Subject, Text: m.Text,
			OTP: m.OTP, Token: m.Token, Link: m.Link, Created: m.Created.UTC().Format(rest.TimeFormat),
		})
	}
	return out, err
}

func (s *Slice) deleteMessages(ctx context.Context, _ *struct{}) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error { return s.o.Outbox.Clear(ctx, tx) })
}
