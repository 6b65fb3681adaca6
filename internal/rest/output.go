package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// streamAfter is the number of encoded bytes after which they are sent.
const streamAfter = 64 << 10

// output writes the body of a response while it is encoded. Until streamAfter bytes are encoded, nothing is sent.
type output struct {
	ctx    context.Context //nolint:containedctx // of one response
	w      http.ResponseWriter
	status int
	media  string

	buffer  bytes.Buffer
	encoder *json.Encoder
	sent    bool // the status
}

// newOutput returns an output that does not escape HTML: responses contain profile strings as they were sent.
func newOutput(ctx context.Context, w http.ResponseWriter, status int, media string) *output {
	o := &output{ctx: ctx, w: w, status: status, media: media}
	o.encoder = json.NewEncoder(&o.buffer)
	o.encoder.SetEscapeHTML(false)
	return o
}

// encode encodes a value, which ends with a line feed.
func (o *output) encode(value any) error {
	if err := o.encoder.Encode(value); err != nil {
		return fmt.Errorf("write the response: %w", err)
	}
	return nil
}

// element encodes a value without a line feed, and sends what is encoded so far if it is long enough. It returns an error as soon as the
// caller has disconnected.
func (o *output) element(value any) error {
	if err := o.encode(value); err != nil {
		return err
	}
	o.buffer.Truncate(o.buffer.Len() - 1)
	if o.buffer.Len() < streamAfter {
		return nil
	}
	if o.ctx.Err() != nil || o.send() != nil {
		return errDisconnected
	}
	return nil
}

// errDisconnected ends the encoding of a response whose caller has disconnected.
var errDisconnected = errors.New("the caller has disconnected")

// send sends what is encoded so far.
func (o *output) send() error {
	if !o.sent {
		o.w.Header().Set("Content-Type", o.media)
		o.w.WriteHeader(o.status)
		o.sent = true
	}
	_, err := o.w.Write(o.buffer.Bytes())
	o.buffer.Reset()
	return err
}

// end sends the rest of the body, unless the encoding failed.
func (o *output) end(err error) error {
	if err == nil {
		_ = o.send() // a disconnected caller is not an error
	}
	return err
}
