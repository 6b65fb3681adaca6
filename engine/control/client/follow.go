package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/engine"
)

// EventsMissed is the type of an event of Follow that reports missing events: the store has removed the events before its Seq.
const EventsMissed engine.EventType = "events.missed"

// maxEvent is the maximum size of a line of a stream in bytes.
const maxEvent = 1 << 20

// Follow calls each with the events of an app and its principals after the number `after`, as they are stored, until each returns an error,
// ctx ends, or the API ends the stream, as it does after some minutes. It returns the number of the last event, with which the caller
// continues, and the error of each or of the request. If the API ends the stream, the error is nil.
func (c *Client) Follow(ctx context.Context, app string, after int64, each func(Event) error) (last int64, err error) {
	last = after
	path := appPath(app, "events", "stream") + query("after", after)
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return last, err
	}
	req.Header.Set("Accept", "text/event-stream")
	sender := c.withoutRedirects()
	sender.Timeout = 0 // that of a whole response
	res, err := sender.Do(req)
	if err != nil {
		return last, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		data, err := io.ReadAll(io.LimitReader(res.Body, maxEvent))
		if err != nil {
			return last, fmt.Errorf("GET %s: %w", path, err)
		}
		return last, errorOf(http.MethodGet, path, res.StatusCode, data)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	var id, kind string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			var e Event
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				return last, fmt.Errorf("GET %s: %w", path, err)
			}
			if e.Type = engine.EventType(kind); e.Seq == 0 { // EventsMissed
				if e.Seq, err = strconv.ParseInt(id, 10, 64); err != nil {
					return last, fmt.Errorf("GET %s: the id of an event is not a number: %w", path, err)
				}
			}
			if err := each(e); err != nil {
				return last, err
			}
			last = e.Seq
		}
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return last, fmt.Errorf("GET %s: %w", path, err)
	}
	return last, ctx.Err()
}
