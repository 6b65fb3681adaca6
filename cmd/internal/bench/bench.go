package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of the options.
const (
	MinUsers    = page // the rows that read a page of users need a full page
	MaxUsers    = 1_000_000
	MaxClients  = 256
	MaxDuration = 10 * time.Minute
)

const (
	page         = 100                    // the size of a page
	groupMembers = 1000                   // the maximum size of the group
	turnTime     = 500 * time.Millisecond // the duration of a turn
	requestTime  = 30 * time.Second       // the time limit of a request
	createTurn   = 200                    // the maximum number of creates in a turn
)

// A Target is a server to measure.
type Target struct {
	// URL is the base URL, for example https://example.com/scim/v2.
	URL string
	// Token is sent as a bearer token, to this target only. Default: none.
	Token string
	// PID is the id of the server's process on this machine, for its processor time and memory. Default: 0, not measured.
	PID int
	// Transport sends the requests. Redirects are not followed.
	Transport http.RoundTripper
}

// Options define the load.
type Options struct {
	// Targets are one or two servers.
	Targets []Target
	// Users is the number of users to create.
	Users int
	// Clients is the number of concurrent requests.
	Clients int
	// Duration is the time for which a run measures one row, which is one kind of request, per target. The first row, which creates the users,
	// ends when all users exist.
	Duration time.Duration
	// Timeout is the time limit of the load, without cleanup.
	Timeout time.Duration
	// Progress, if set, receives one line per step.
	Progress func(line string)
}

// Check returns an error if the options are invalid. It sends nothing.
func (o Options) Check() error {
	switch {
	case len(o.Targets) < 1 || len(o.Targets) > 2:
		return errors.New("one or two targets are required")
	case o.Users < MinUsers || o.Users > MaxUsers:
		return fmt.Errorf("the number of users must be from %d to %d", MinUsers, MaxUsers)
	case o.Clients < 1 || o.Clients > MaxClients:
		return fmt.Errorf("the number of clients must be from 1 to %d", MaxClients)
	case o.Duration <= 0 || o.Duration > MaxDuration:
		return fmt.Errorf("the duration of a row must be positive and at most %s", MaxDuration)
	case o.Timeout <= 0:
		return errors.New("the time limit must be positive")
	}
	for _, t := range o.Targets {
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

func (t Target) check() error {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%q is not a base URL such as https://example.com/scim/v2", t.URL)
	case u.User != nil:
		return errors.New("credentials do not belong in the URL: pass them as a token")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the base URL must not have a query or a fragment")
	case strings.ContainsAny(t.Token, "\r\n"):
		return errors.New("the token contains a line break: remove the one at the end of the token file")
	}
	if t.PID != 0 {
		if _, err := process(t.PID).cpu(); err != nil {
			return fmt.Errorf("the processor time of process %d is unavailable: %w", t.PID, err)
		}
	}
	return nil
}

// Writes returns a sentence about the objects that a run creates.
func (o Options) Writes() string {
	return fmt.Sprintf("a run creates %s users and a group of %s members on each server, with names that start with %q, and removes them",
		grouped(o.Users+o.Clients), grouped(o.members()), markerPrefix)
}

// members is the number of members of the group.
func (o Options) members() int { return min(groupMembers, o.Users) }

// markerPrefix is the start of the names of all created objects.
const markerPrefix = "scimwright-bench-"

// Run measures the targets and removes the created objects. When ctx ends, it stops the load and still removes them. Run returns an error,
// and has created nothing, if an option is invalid or a target rejects the first request. If Run returns no error, the report has the
// measurements and the objects that remain on the targets.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	marker := markerPrefix + strings.ToLower(rand.Text()[:8])
	r := &run{options: o, report: newReport(o, marker)}
	for i, t := range o.Targets {
		r.sessions = append(r.sessions, newSession(t, o, marker+"-"+strings.ToLower(letter(i))))
	}
	for _, s := range r.sessions {
		if err := s.reach(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.base, err)
		}
	}
	r.load(ctx)
	r.cleanup(context.WithoutCancel(ctx))
	return r.report, nil
}

// A run is the state of one call of Run.
type run struct {
	options  Options
	sessions []*session
	report   *Report
}

// load measures all rows.
func (r *run) load(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	for _, row := range rows(r.options) {
		if limited.Err() == nil {
			r.options.Progress(row.title)
		}
		r.report.Rows = append(r.report.Rows, r.measure(limited, row))
	}
	for i, s := range r.sessions {
		if s.pid != 0 {
			r.report.Targets[i].Resident, r.report.Targets[i].Peak, _ = s.pid.memory()
		}
	}
	r.report.Interrupted = ctx.Err() != nil
}

// cleanup removes the created objects of all targets.
func (r *run) cleanup(ctx context.Context) {
	for i, s := range r.sessions {
		r.options.Progress(fmt.Sprintf("remove %s objects from %s", grouped(len(s.made)+len(s.unsure)), s.base))
		r.report.Targets[i].Cleanup = s.cleanup(ctx, r.options.Clients)
	}
}

// letter is the name of a target in the report.
func letter(target int) string { return string(rune('A' + target)) }
