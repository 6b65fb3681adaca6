package webhooks

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/signature"
)

// Missed is the type of a message that reports missing events: the Source has removed them before they could be delivered. Its data has the
// numbers of the first and the last missing event. Every endpoint receives it, whatever its types.
const Missed engine.EventType = "events.missed"

// Types lists the types of events that an Endpoint may select.
func Types() []engine.EventType {
	return []engine.EventType{
		engine.UserCreated, engine.UserLinked, engine.UserUpdated, engine.UserReactivated, engine.UserDeactivated, engine.UserFailed,
		engine.UserHeld, engine.UserAccepted, engine.UserRecovered, engine.UserDismissed,
		engine.GroupCreated, engine.GroupLinked, engine.GroupUpdated, engine.GroupDeleted, engine.GroupUnlinked, engine.GroupFailed,
		engine.GroupHeld, engine.GroupAccepted, engine.GroupRecovered, engine.GroupDismissed,
		engine.AppPaused, engine.AppBreaker, engine.AppQuarantined, engine.AppReleased, engine.DeactivationOverdue,
	}
}

// Message is the body of a request to an endpoint.
type Message struct {
	Type engine.EventType `json:"type"`
	// Timestamp is the time of the event. The header webhook-timestamp has the time of the attempt.
	Timestamp time.Time `json:"timestamp"`
	Data      Data      `json:"data"`
}

// Data identifies the event of a message and has its details.
type Data struct {
	App  string      `json:"app"`
	Seq  int64       `json:"seq"` // number of the event within the app
	Kind engine.Kind `json:"kind,omitempty"`
	ID   string      `json:"id,omitempty"` // of the user or group; empty for events of the app
	engine.EventData
	// From and To are the numbers of the first and the last missing event of a message of type Missed.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
}

// Verify returns an error unless one of the secrets has signed a request to an endpoint, at a time within five minutes of now. A receiver
// calls it with the headers and the unchanged body of the request, before it parses the body. A receiver ignores a request whose header
// webhook-id it has seen before.
func Verify(h http.Header, body []byte, now time.Time, secrets ...string) error {
	keys, err := signature.Keys(secrets...)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	if err := signature.Verify(h, keys, body, now); err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	return nil
}

// subject identifies the events whose order is kept: those of a user or group, or those of an app itself.
type subject struct {
	app  string
	kind engine.Kind
	id   string
}

// message is an event for an endpoint.
type message struct {
	subject
	seq  int64
	at   time.Time // of the event; zero for a letter
	kind engine.EventType
	id   string // header webhook-id: the same for all attempts and all endpoints
	body string

	letter   bool // the message is stored as a letter
	attempts int
	next     int64 // of a letter
	created  int64

	skipped bool // the endpoint does not select the type
	parked  bool // becomes a letter, because an earlier message of the subject is one
	sent    *outcome
}

// messageOf returns the message of an event, with the id of its app that the receiver sees.
func messageOf(e *engine.Event, from, to int64, shown func(app string) string) (*message, error) {
	body, err := json.Marshal(Message{
		Type: e.Type, Timestamp: e.At.UTC(),
		Data: Data{App: shown(e.App), Seq: e.Seq, Kind: e.Kind, ID: e.Principal, EventData: e.Data, From: from, To: to},
	})
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	// An app that was removed and created again has other events with the same numbers.
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s", e.Seq, from, milli(e.At), e.App))
	if e.Type == Missed {
		sum = sha256.Sum256(fmt.Appendf(nil, "missed %d %d %s", from, to, e.App))
	}
	return &message{
		subject: subject{e.App, e.Kind, e.Principal}, seq: e.Seq, at: e.At, kind: e.Type, body: string(body),
		id: "evt_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])),
	}, nil
}

// selects reports whether an endpoint with these types receives a type.
func selects(types []engine.EventType, t engine.EventType) bool {
	return len(types) == 0 || t == Missed || slices.Contains(types, t)
}
