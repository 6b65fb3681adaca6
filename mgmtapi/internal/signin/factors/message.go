package factors

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// Telephony delivers messages to phones instead of the outbox.
type Telephony interface {
	// DeliverMessage reports whether the message was delivered or its delivery is pending. It is called outside of transactions.
	DeliverMessage(ctx context.Context, user docstore.Doc[model.User], m calls.PhoneMessage) (bool, error)
}

// message is a message to a user.
type message struct {
	outbox.Message
	extension string // dialed after the number
	language  string // language tag; empty for English
	expires   time.Time
	event     audit.Type
}

// deliver sends a message: to a phone through an active telephony hook, otherwise to the outbox. The hook is called after the transaction,
// see change, so that the transaction does not wait for an external endpoint.
func (a *act) deliver(ctx context.Context, m message) error {
	if m.Channel != outbox.Email && a.telephony != nil {
		hook, err := a.ActiveHook(ctx, a.tx, model.HookTelephony)
		if err != nil {
			return err
		}
		if hook != nil {
			a.outgoing = &m
			return nil
		}
	}
	return a.postToOutbox(ctx, m)
}

// postToOutbox puts a message into the outbox.
func (a *act) postToOutbox(ctx context.Context, m message) error {
	if a.outbox == nil {
		return rest.Failf(rest.CodeUnsupported, "This API has no outbox, and no hook delivers the message.")
	}
	if err := a.outbox.Send(ctx, a.tx, m.Message); err != nil {
		return err
	}
	return a.log(ctx, m.event, "")
}

// deliverByHook calls the telephony hook to deliver a message. If the hook does not deliver it, the message goes to the outbox.
func (a *act) deliverByHook(ctx context.Context, m message) error {
	delivered, err := a.telephony.DeliverMessage(ctx, a.user, calls.PhoneMessage{
		Number: m.To, Extension: m.extension, Voice: m.Channel == outbox.Voice, Text: m.Text, Code: m.OTP, Link: m.Link, Expires: m.expires,
		Language: m.language,
	})
	if err != nil {
		return err
	}
	return a.Update(ctx, func(tx *docstore.Tx) error {
		a.tx = tx
		if delivered {
			return a.log(ctx, m.event, "")
		}
		return a.postToOutbox(ctx, m)
	})
}

// change runs fn in a transaction, as Update does. After the transaction it does what cannot be repeated or rolled back: it delivers a
// message by a hook and logs an exceeded limit.
func (a *act) change(ctx context.Context, fn func(tx *docstore.Tx) error) error {
	err := a.Update(ctx, func(tx *docstore.Tx) error {
		a.outgoing, a.exceeded = nil, nil
		return fn(tx)
	})
	switch {
	case err != nil:
		a.logExceeded(ctx)
	case a.outgoing != nil:
		err = a.deliverByHook(context.WithoutCancel(ctx), *a.outgoing) // the caller may have disconnected
	}
	return err
}

// formatDuration returns a duration in words, such as "5 minutes".
func formatDuration(d time.Duration) string {
	size, name := time.Second, "second"
	switch {
	case d%time.Hour == 0:
		size, name = time.Hour, "hour"
	case d%time.Minute == 0:
		size, name = time.Minute, "minute"
	}
	if d == size {
		return "1 " + name
	}
	return fmt.Sprintf("%d %ss", d/size, name)
}
