package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const mediaEvents = "text/event-stream"

// eventTime is the maximum time for which an event is written to a caller that does not read.
const eventTime = 30 * time.Second

// EventStream is a response of server-sent events. The operation checks the request before it returns one, because an error of Run cannot
// change the status.
type EventStream struct {
	// Run writes the events. The response ends when Run returns.
	Run func(ctx context.Context, w *EventWriter) error
}

func (EventStream) content() (media string, body []byte) { return mediaEvents, nil }

// EventWriter writes server-sent events. After an error, such as ErrDisconnected, the stream ends.
type EventWriter struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	text bytes.Buffer
}

// ErrDisconnected is returned by an EventWriter whose caller has disconnected, or has not read for too long.
var ErrDisconnected = errors.New("the caller has disconnected")

// Send writes an event with its id, its type and a value as JSON. Neither the id nor the type has a line break.
func (w *EventWriter) Send(id, kind string, value any) error {
	data, err := json.Marshal(value) // without line breaks
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	if strings.ContainsAny(id+kind, "\r\n") {
		return fmt.Errorf("write an event: %q and %q must not contain line breaks", id, kind)
	}
	fmt.Fprintf(&w.text, "id: %s\nevent: %s\ndata: %s\n\n", id, kind, data)
	return w.flush()
}

// Beat writes a comment, which callers ignore. It keeps the connection open and detects callers that have disconnected.
func (w *EventWriter) Beat() error {
	w.text.WriteString(":\n\n")
	return w.flush()
}

func (w *EventWriter) flush() error {
	defer w.text.Reset()
	// The limit replaces the WriteTimeout of the server, which is that of a whole response.
	if err := w.rc.SetWriteDeadline(time.Now().Add(eventTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return ErrDisconnected
	}
	if _, err := w.w.Write(w.text.Bytes()); err != nil {
		return ErrDisconnected
	}
	if err := w.rc.Flush(); err != nil {
		return ErrDisconnected
	}
	return nil
}

// stream writes the response.
func (s EventStream) stream(ctx context.Context, w http.ResponseWriter, status int) error {
	w.Header().Set("Content-Type", mediaEvents)
	w.Header().Set("X-Accel-Buffering", "no") // proxies pass each event on
	w.WriteHeader(status)
	out := &EventWriter{w: w, rc: http.NewResponseController(w)}
	if err := out.Beat(); err != nil { // sends the header
		return err
	}
	return s.Run(ctx, out)
}
