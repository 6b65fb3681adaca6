package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Fleet describes the processes that share the database of an engine.
type Fleet struct {
	Shared    bool      `json:"shared"` // false: the database belongs to one process
	Alive     int       `json:"alive"`
	Lanes     int       `json:"lanes"`
	Running   float64   `json:"running"`
	InFlight  int       `json:"inFlight"`
	Processes []Process `json:"processes"`
}

// Process is an engine.Process. Times are by the clock of the database.
type Process struct {
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	State     engine.ProcessState `json:"state"`
	Started   time.Time           `json:"started"`
	Age       float64             `json:"ageSeconds"`
	Seen      time.Time           `json:"seen,omitzero"`
	Heartbeat float64             `json:"heartbeatSeconds"`
	Lanes     int                 `json:"lanes"`
	Running   float64             `json:"running"`
	Share     float64             `json:"share"`
	InFlight  int                 `json:"inFlight"`
	Takeovers int64               `json:"takeovers"`
	Rechecks  int64               `json:"rechecks"`
}

// Job is a job of the scheduler, such as an import.
type Job struct {
	Kind    string    `json:"kind"`
	Key     string    `json:"key,omitempty"`
	State   string    `json:"state"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Error   string    `json:"error,omitempty"`
}

// Fleet returns the processes that share the database of the engine.
func (c *Client) Fleet(ctx context.Context) (Fleet, error) {
	return get[Fleet](ctx, c, "/engine/fleet")
}

// JobOptions select jobs. Empty fields do not restrict the result, except that finished jobs are listed with State "finished" only.
type JobOptions struct {
	Kind  string
	State string
	Limit int // of each state. Default: 100; maximum: 1000
}

// Jobs lists jobs: running ones, waiting ones by their next start, and failed ones.
func (c *Client) Jobs(ctx context.Context, o JobOptions) ([]Job, error) {
	q := url.Values{}
	for name, value := range map[string]string{"kind": o.Kind, "state": o.State} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	path := "/engine/jobs"
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return get[[]Job](ctx, c, path)
}
