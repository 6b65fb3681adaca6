package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/control/client"
)

// sse is a stream of events.
type sse struct {
	t     *testing.T
	lines *bufio.Scanner
}

// open requests a stream, and returns it if the status is 200.
func (h *host) open(query, last string) (*sse, *http.Response) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	h.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/apps/crm/events/stream"+query, nil)
	require.NoError(h.t, err)
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	response, err := http.DefaultClient.Do(req)
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = response.Body.Close() })
	return &sse{h.t, bufio.NewScanner(response.Body)}, response
}

// next returns the next event, or false at the end. Comments are ignored.
func (s *sse) next() (id, kind, data string, ok bool) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		switch field, value, _ := strings.Cut(line, ": "); field {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			return id, kind, value, true
		}
	}
	return "", "", "", false
}

func (s *sse) expect(want string) {
	s.t.Helper()
	id, kind, data, ok := s.next()
	require.True(s.t, ok, "the stream has ended")
	require.Equal(s.t, want, id+" "+kind, data)
}

func TestStream_SendsEvents(t *testing.T) {
	h := serve(t, func(o *control.Options) { o.Poll = 24 * time.Hour })
	h.user("u-1", "ann")
	s, response := h.open("", "")
	require.Equal(t, http.StatusOK, response.StatusCode)
	id, kind, data, _ := s.next()
	require.Equal(t, "1 user.created", id+" "+kind)
	var e client.Event
	require.NoError(t, json.Unmarshal([]byte(data), &e))
	require.Equal(t, "u-1", e.Principal)
	require.Equal(t, engine.OpCreate, e.Operation)
	require.Equal(t, "ann", e.Name)
	for n := 2; n < 5; n++ {
		h.user("u-1", fmt.Sprint("ann-", n))
		s.expect(fmt.Sprint(n, " user.updated"))
	}

	again, _ := h.open("?after=1", "3")
	again.expect("4 user.updated")
	after, _ := h.open("?after=2", "")
	after.expect("3 user.updated")

	h.options.Feed.Close()
	for _, stream := range []*sse{s, again} {
		_, _, _, ok := stream.next()
		require.False(t, ok)
	}
	h.options.Feed.Close()
	late, response := h.open("?after=4", "")
	require.Equal(t, http.StatusOK, response.StatusCode)
	_, _, _, ok := late.next()
	require.False(t, ok)
}

func TestStream_Heartbeat(t *testing.T) {
	h := serve(t, func(o *control.Options) { o.Beat = time.Millisecond })
	h.user("u-1", "ann")
	s, _ := h.open("?after=1", "")
	for range 5 { // the first comment is that of the beginning
		require.True(t, s.lines.Scan())
		require.Equal(t, ":", s.lines.Text())
		require.True(t, s.lines.Scan())
	}
}

func TestStream_MissingEventsTold(t *testing.T) {
	h := serve(t)
	for n := range 5 {
		h.user("u-1", fmt.Sprint("ann-", n))
	}
	require.NoError(t, h.options.Update(t.Context(), func(tx engine.Execer) error {
		_, err := tx.ExecContext(t.Context(), `DELETE FROM scimwright_lifecycle_event WHERE seq < 4`)
		return err
	}))
	s, _ := h.open("", "")
	id, kind, data, _ := s.next()
	require.Equal(t, "3 events.missed", id+" "+kind)
	require.JSONEq(t, `{"from":1,"to":3}`, data)
	s.expect("4 user.updated")
}

func TestStream_Rejected(t *testing.T) {
	h := serve(t, func(o *control.Options) { o.Streams = 1 })
	h.user("u-1", "ann")
	for _, c := range []struct{ query, last string }{
		{"?after=2", ""}, {"?after=-1", ""}, {"", "x"}, {"", "-1"}, {"", "99999999999999999999"},
	} {
		_, response := h.open(c.query, c.last)
		require.Equal(t, http.StatusBadRequest, response.StatusCode, c)
	}
	response, err := http.Get(h.url + "/apps/unknown/events/stream") //nolint:noctx // the test server
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusNotFound, response.StatusCode)

	first, response := h.open("", "")
	require.Equal(t, http.StatusOK, response.StatusCode)
	first.expect("1 user.created")
	_, response = h.open("", "")
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Equal(t, "5", response.Header.Get("Retry-After"))
	_, response = h.list("?after=1&waitSeconds=60")
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	h.options.Feed.Close()
	_, _, _, ok := first.next()
	require.False(t, ok)
	require.Eventually(t, func() bool { // the place is free after the end of the response
		_, response := h.open("", "")
		return response.StatusCode == http.StatusOK
	}, time.Minute, 5*time.Millisecond)
}

// list lists events.
func (h *host) list(query string) ([]client.Event, *http.Response) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.url+"/apps/crm/events"+query, nil)
	require.NoError(h.t, err)
	response, err := http.DefaultClient.Do(req)
	require.NoError(h.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(h.t, err)
	var found []client.Event
	if response.StatusCode == http.StatusOK {
		require.NoError(h.t, json.Unmarshal(body, &found))
	}
	return found, response
}

func TestEvents_WaitForFirst(t *testing.T) {
	h := serve(t, func(o *control.Options) { o.Poll = 24 * time.Hour })
	h.user("u-1", "ann")
	found, _ := h.list("?waitSeconds=60")
	require.Len(t, found, 1, "stored events are returned immediately")
	found, _ = h.list("?after=1&waitSeconds=1")
	require.Empty(t, found)

	got := make(chan []client.Event, 1)
	go func() {
		found, _ := h.list("?after=1&waitSeconds=60")
		got <- found
	}()
	h.user("u-1", "ann-2")
	found = <-got
	require.Len(t, found, 1)
	require.EqualValues(t, 2, found[0].Seq)
	_, response := h.list("?waitSeconds=61")
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
}

func TestFollow_CallsEach(t *testing.T) {
	h := serve(t)
	for n := range 3 {
		h.user("u-1", fmt.Sprint("ann-", n))
	}
	require.NoError(t, h.options.Update(t.Context(), func(tx engine.Execer) error {
		_, err := tx.ExecContext(t.Context(), `DELETE FROM scimwright_lifecycle_event WHERE seq < 2`)
		return err
	}))
	var got []string
	enough := errors.New("enough")
	each := func(e client.Event) error {
		if got = append(got, fmt.Sprint(e.Seq, " ", e.Type, " ", e.Principal)); e.Seq == 3 {
			return enough
		}
		return nil
	}
	last, err := h.Follow(t.Context(), "crm", 0, each)
	require.ErrorIs(t, err, enough)
	require.EqualValues(t, 2, last)
	require.Equal(t, []string{"1 events.missed ", "2 user.updated u-1", "3 user.updated u-1"}, got)

	h.options.Feed.Close()
	last, err = h.Follow(t.Context(), "crm", 3, each)
	require.NoError(t, err)
	require.EqualValues(t, 3, last)
	_, err = h.Follow(t.Context(), "erp", 0, each)
	require.True(t, client.IsNotFound(err), err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Follow(ended, "crm", 0, each)
	require.ErrorIs(t, err, context.Canceled)
}

// The end of the engine ends the streams, so that the server of a program that stops need not wait for them.
func TestStream_EndsWithEngine(t *testing.T) {
	h := serve(t)
	h.user("u-1", "ann")
	s, _ := h.open("", "")
	s.expect("1 user.created")
	require.NoError(t, h.options.Engine.Stop(t.Context()))
	_, _, _, ok := s.next()
	require.False(t, ok)
}
