package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Answer is the response of a hook endpoint.
type Answer struct {
	// Status is 2xx.
	Status int
	// Body is a JSON value, nil if the response has no body.
	Body []byte
	// Attempts is the number of attempts.
	Attempts int

	secret string // the credential of the request
}

const (
	mediaJSON = "application/json"
	userAgent = "Svc Inline Hooks 1.0.0"
)

var textTooLarge = fmt.Sprintf("answered with more than %d bytes", MaxAnswer)

// send posts a JSON text to the endpoint of a hook. An error that is not a *CallError is an internal error.
func (c *Caller) send(ctx context.Context, hook docstore.Doc[model.InlineHook], body []byte) (Answer, error) {
	for attempt := 1; ; attempt++ {
		answer, failure, err := c.attempt(ctx, hook, body)
		switch {
		case err != nil:
			return Answer{}, err
		case failure == nil:
			answer.Attempts = attempt
			return answer, nil
		case attempt == Attempts || failure.final || ctx.Err() != nil:
			failure.Attempts = attempt
			return Answer{}, failure
		}
	}
}

// attempt authenticates and sends once.
func (c *Caller) attempt(ctx context.Context, hook docstore.Doc[model.InlineHook], body []byte) (Answer, *CallError, error) {
	header := http.Header{}
	for _, h := range hook.Value.Channel.Headers {
		header.Set(h.Key, h.Value)
	}
	header.Set("Content-Type", mediaJSON)
	header.Set("Accept", mediaJSON)
	header.Set("User-Agent", userAgent)
	secret, failure, err := c.authenticate(ctx, hook, header)
	if failure != nil || err != nil {
		return Answer{}, failure, err
	}
	status, data, failure := c.post(ctx, hookEndpoint, hook.Value.Channel.URI, header, body)
	if failure != nil {
		failure.Excerpt = redact(failure.Excerpt, []string{secret})
		return Answer{}, failure, nil
	}
	switch {
	case status == http.StatusUnauthorized:
		c.forget(hook.ID, secret)
		fallthrough
	case status < 200 || status > 299:
		return Answer{}, badResponse(hookEndpoint, status, statusText(status), data, []string{secret}), nil
	case len(data) > MaxAnswer:
		return Answer{}, badResponse(hookEndpoint, status, textTooLarge, data, []string{secret}), nil
	case status == http.StatusNoContent:
		data = nil
	case !utf8.Valid(data) || !json.Valid(data):
		return Answer{}, badResponse(hookEndpoint, status, "answered with a body that is not JSON", data, []string{secret}), nil
	}
	return Answer{Status: status, Body: bytes.TrimSpace(data), secret: secret}, nil, nil
}

// post sends one request and reads the response. It reads at most MaxAnswer bytes and one more, by which the caller detects a response that
// is too large. Of an error response, it reads only the start.
func (c *Caller) post(ctx context.Context, where, url string, header http.Header, body []byte) (int, []byte, *CallError) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, c.noResponse(where, err)
	}
	request.Header = header
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, c.noResponse(where, err)
	}
	defer response.Body.Close()
	limit := int64(MaxAnswer + 1)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		limit = 4 * maxExcerpt
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit))
	if err != nil {
		if response.StatusCode < 200 || response.StatusCode > 299 { // an error response is usable without its whole body
			return response.StatusCode, data, nil
		}
		return 0, nil, c.noResponse(where, err)
	}
	return response.StatusCode, data, nil
}
