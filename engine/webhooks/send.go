package webhooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/scimwright/scimwright/engine/internal/signature"
	"github.com/scimwright/scimwright/engine/internal/spans"
	"github.com/scimwright/scimwright/internal/egress"
)

const (
	maxBody       = 64 << 10 // bytes of a response that are read, so that the connection can be used again
	maxRetryAfter = 24 * time.Hour
	userAgent     = "scimwright-webhooks"
)

// newClient returns the client of all endpoints, and a function that closes its idle connections.
func newClient(o *Options) (client *http.Client, closeIdle func()) {
	transport := o.Transport
	closeIdle = func() {}
	if transport == nil {
		policy := egress.Policy{Range: egress.Range(o.Egress.Range), Allow: o.Egress.Allow, Own: o.Egress.Own}
		own := policy.Transport(o.Concurrency)
		transport, closeIdle = own, own.CloseIdleConnections
	}
	return &http.Client{
		Transport: transport, Timeout: o.Timeout,
		// A redirect is a failure: it could lead the message, with its signature, to another recipient.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, closeIdle
}

// outcome is the result of an attempt.
type outcome struct {
	ok     bool
	gone   bool          // 410
	status int           // 0 if there was no response
	text   string        // why the attempt failed
	after  time.Duration // Retry-After, 0 for none
}

// post sends a message. It returns nil if ctx has ended, because the result is then unknown.
func (s *Service) post(ctx context.Context, endpoint, url string, keys [][]byte, m *message) *outcome {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(m.body))
	if err != nil {
		return &outcome{text: "the URL of the endpoint is not valid"} // the cause would quote the URL
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", userAgent)
	signature.Sign(r.Header, keys, m.id, s.o.Now(), []byte(m.body))
	status := 0
	ctx, ended := s.spans.Webhook(ctx, spans.Message{
		App: m.app, Endpoint: endpoint, Kind: m.subject.kind, ID: m.subject.id, Type: m.kind, Seq: m.seq, Attempt: m.attempts + 1,
	}, r.URL)
	defer func() { ended(status) }()
	response, err := s.client.Do(r.WithContext(ctx))
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = response.Body.Close()
		}
		return nil
	case err != nil:
		return &outcome{text: unreachable(err)}
	}
	defer response.Body.Close()
	status = response.StatusCode
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody))
	out := &outcome{status: response.StatusCode, ok: response.StatusCode/100 == 2, gone: response.StatusCode == http.StatusGone}
	switch {
	case out.ok:
		return out
	case response.StatusCode/100 == 3:
		out.text = fmt.Sprintf("the endpoint responded %d: redirects are not followed", out.status)
	default:
		out.text = fmt.Sprintf("the endpoint responded %d", out.status)
	}
	out.after = retryAfter(response.Header.Get("Retry-After"), s.o.Now())
	return out
}

// unreachable describes an error without a response.
func unreachable(err error) string {
	if rejected, ok := errors.AsType[*egress.Error](err); ok {
		return rejected.Error()
	}
	return "no response: " + egress.Describe(err)
}

// retryAfter returns the delay of a header Retry-After, which is a number of seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseInt(header, 10, 64); err == nil {
		seconds = min(max(seconds, 0), int64(maxRetryAfter/time.Second))
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return min(max(date.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// delay returns the delay after a number of failures.
func (s *Service) delay(failures int) time.Duration {
	b := backoff.ExponentialBackOff{
		InitialInterval: s.o.RetryInitial, RandomizationFactor: backoff.DefaultRandomizationFactor, Multiplier: 2,
		MaxInterval: s.o.RetryMax, Stop: backoff.Stop, Clock: backoff.SystemClock,
	}
	b.Reset()
	d := b.NextBackOff()
	for range min(failures, 64) - 1 { // 63 doublings of any delay reach RetryMax
		d = b.NextBackOff()
	}
	return min(d, s.o.RetryMax)
}
