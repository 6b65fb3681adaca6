package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Limits of the outbox.
const (
	// MaxMessages is the maximum number of messages. The oldest ones are deleted first.
	MaxMessages = 2000
	// MaxAge is the maximum age of a message: the longest lifetime of a token in a message.
	MaxAge = 7 * 24 * time.Hour
)

// Channel is the channel of a message.
type Channel string

// The channels.
const (
	Email Channel = "email"
	SMS   Channel = "sms"
	Voice Channel = "voice"
)

// Message is a message to a user.
type Message struct {
	ID      string    `json:"-"`
	Created time.Time `json:"-"`

	Channel Channel `json:"channel"`
	// To is the email address or phone number. UserID is the id of its owner.
	To     string `json:"to"`
	UserID string `json:"userId"`
	// Template is the kind of the message.
	Template string `json:"template"`
	Subject  string `json:"subject,omitempty"`
	Text     string `json:"text"`
	// OTP is the code, Token the one-time token and Link the URL in the text, for clients that do not parse the text.
	OTP   string `json:"otp,omitempty"`
	Token string `json:"token,omitempty"`
	Link  string `json:"link,omitempty"`
}

// Box stores messages. A nil Box discards them: outside of a sandbox, there is no outbox.
type Box struct {
	model.Deps
	secrets seal.Secrets
}

// New returns the outbox of a store.
func New(d model.Deps, secrets seal.Secrets) *Box { return &Box{Deps: d, secrets: secrets} }

// Send stores a message, in the transaction of the change that causes it, and deletes messages over the limits.
func (b *Box) Send(ctx context.Context, tx *docstore.Tx, m Message) error {
	if b == nil {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	id := model.NewID(model.KindMessage)
	sealed, err := b.secrets.Seal(string(text), model.MessageBinding(id))
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	doc, err := b.Messages.Insert(ctx, tx, id, model.Message{Sealed: sealed})
	if err != nil {
		return err
	}
	return b.purge(ctx, tx, doc.Seq())
}

// purgeBatch is the maximum number of messages that are deleted per new message. It is greater than 1, so that the number of old messages
// falls.
const purgeBatch = 20

// purge deletes up to purgeBatch of the oldest messages: those older than MaxAge, and those that exceed MaxMessages. newest is the sequence
// number of the newest message.
func (b *Box) purge(ctx context.Context, tx *docstore.Tx, newest int64) error {
	page, err := b.Messages.Query(ctx, tx, docstore.Query[model.Message]{Limit: purgeBatch})
	if err != nil {
		return err
	}
	for _, doc := range page.Docs {
		if doc.Seq() > newest-MaxMessages && !b.stale(&doc) {
			return nil
		}
		if err := b.Messages.Delete(ctx, tx, doc.ID); err != nil {
			return err
		}
	}
	return nil
}

func (b *Box) stale(doc *docstore.Doc[model.Message]) bool {
	return b.Now().Sub(doc.Created) >= MaxAge
}

// Query selects messages. Empty fields match all messages.
type Query struct {
	Channel Channel
	To      string // case-insensitive
	UserID  string
	Since   time.Time // excludes earlier messages
	Limit   int       // required
}

// List returns messages, newest first. It omits messages that are too old, even if they were not deleted yet.
func (b *Box) List(ctx context.Context, q Query) ([]Message, error) {
	var found []Message
	var broken error
	_, err := b.Messages.Query(ctx, b.Store.Reader(), docstore.Query[model.Message]{
		Desc: true, Limit: q.Limit,
		Match: func(doc *docstore.Doc[model.Message]) bool {
			if broken != nil || len(found) == q.Limit || b.stale(doc) || doc.Created.Before(q.Since) {
				return false
			}
			m, err := b.open(doc)
			if err != nil {
				broken = err
				return false
			}
			if q.Channel != "" && m.Channel != q.Channel || q.UserID != "" && m.UserID != q.UserID || q.To != "" && !strings.EqualFold(m.To, q.To) {
				return false
			}
			found = append(found, m)
			return true
		},
	})
	if err == nil {
		err = broken
	}
	return found, err
}

func (b *Box) open(doc *docstore.Doc[model.Message]) (Message, error) {
	m := Message{ID: doc.ID, Created: doc.Created}
	text, err := b.secrets.Open(doc.Value.Sealed, model.MessageBinding(doc.ID))
	if err == nil {
		err = json.Unmarshal([]byte(text), &m)
	}
	if err != nil {
		return m, fmt.Errorf("outbox: message %s: %w", doc.ID, err)
	}
	return m, nil
}

// Clear deletes all messages.
func (b *Box) Clear(ctx context.Context, tx *docstore.Tx) error {
	_, err := b.Messages.DeleteWhere(ctx, tx, nil)
	return err
}
