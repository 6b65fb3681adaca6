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

// Bounds of the box.
const (
	// MaxMessages is how many messages there are at most. The oldest ones go first.
	MaxMessages = 2000
	// MaxAge is how long a message lasts: as long as the token with the longest life that one can hold.
	MaxAge = 7 * 24 * time.Hour
)

// Channel is the way a message would take.
type Channel string

// The channels.
const (
	Email Channel = "email"
	SMS   Channel = "sms"
	Voice Channel = "voice"
)

// Message is what somebody would get.
type Message struct {
	ID      string    `json:"-"`
	Created time.Time `json:"-"`

	Channel Channel `json:"channel"`
	// To is the address or number, UserID the user whose it is.
	To     string `json:"to"`
	UserID string `json:"userId"`
	// Template names what the message is about.
	Template string `json:"template"`
	Subject  string `json:"subject,omitempty"`
	Text     string `json:"text"`
	// OTP is the code, Token the one-time token and Link the address that the text has, for those who do not want to parse it.
	OTP   string `json:"otp,omitempty"`
	Token string `json:"token,omitempty"`
	Link  string `json:"link,omitempty"`
}

// Box keeps messages. A nil Box takes none: where there is no sandbox, nobody is to read them.
type Box struct {
	model.Deps
	secrets seal.Secrets
}

// New returns the box of a store.
func New(d model.Deps, secrets seal.Secrets) *Box { return &Box{Deps: d, secrets: secrets} }

// Send puts a message into the box, in the transaction of what it tells of, and takes out what is too old or too much.
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

// purgeBatch is how many messages a new one can drive out: more than one, so that old ones become fewer.
const purgeBatch = 20

// purge takes out the oldest messages, while they are too old or more than MaxMessages before the newest one.
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

// Query selects messages. Empty fields do not restrict.
type Query struct {
	Channel Channel
	To      string // in any letter case
	UserID  string
	Since   time.Time // no message from before
	Limit   int       // required
}

// List returns messages, newest first. Those that are too old are not shown, even if nothing has driven them out yet.
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

// Clear takes out all messages.
func (b *Box) Clear(ctx context.Context, tx *docstore.Tx) error {
	_, err := b.Messages.DeleteWhere(ctx, tx, nil)
	return err
}
