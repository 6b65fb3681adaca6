package sandboxapi

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
)

func (s *Slice) clockRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[struct{}, clockTime]{ID: "getClock", Route: "GET /sandbox/v1/clock", Tag: tag,
			Summary: "Read the clock", Scopes: []string{manage}, Do: s.getClock},
		rest.Op[clockRequest, clockTime]{ID: "advanceClock", Route: "POST /sandbox/v1/clock", Tag: tag,
			Summary: "Move the clock forward, or back to the real time at most",
			Description: "The clock controls all expiry, rate limits, backoff and timestamps. It is never behind the real " +
				"time, and its distance to the real time " +
				"survives restarts and resets. Network timeouts and ids of SCIM resources use the real time. " +
				"The token of the request and the configured API token stay valid.",
			Scopes: []string{manage}, Check: checkClock, Do: s.moveClock},
	}
}

const (
	// maxAdvance is the maximum step in seconds: a hundred years.
	maxAdvance = 100 * 365 * 24 * 60 * 60
	// lateness is the maximum duration by which a requested time may be before the real time: the real time advances while the request is
	// sent. The clock is then set to the real time.
	lateness = time.Minute
)

type clockRequest struct {
	Body struct {
		Advance  *float64   `json:"advanceSeconds" doc:"seconds to move the clock forward, at most a hundred years"`
		Now      *time.Time `json:"now" doc:"new time, not before the real time"`
		RealTime bool       `json:"realTime" doc:"true sets the clock to the real time"`
	} `body:"required"`
}

// checkClock requires exactly one of the three members.
func checkClock(_ context.Context, r *clockRequest, causes *rest.Causes) error {
	b, ways := r.Body, 0
	for _, given := range []bool{b.Advance != nil, b.Now != nil, b.RealTime} {
		if given {
			ways++
		}
	}
	switch {
	case causes.Has("advanceSeconds"), causes.Has("now"), causes.Has("realTime"):
	case ways != 1:
		causes.Add("advanceSeconds", "Exactly one of advanceSeconds, now and realTime must be given")
	case b.Advance != nil && (*b.Advance < 0 || *b.Advance > maxAdvance):
		causes.Add("advanceSeconds", "The value must be between 0 and %d", maxAdvance)
	}
	return nil
}

type clockTime struct {
	Now      string  `json:"now" readOnly:"true" format:"date-time" doc:"time of the clock, RFC 3339 with milliseconds"`
	RealTime string  `json:"realTime" readOnly:"true" format:"date-time" doc:"real time"`
	Ahead    float64 `json:"aheadSeconds" readOnly:"true" doc:"seconds by which the clock is ahead of the real time"`
}

func (s *Slice) showClock(now, realTime time.Time) clockTime {
	return clockTime{
		Now: now.UTC().Format(rest.TimeFormat), RealTime: realTime.UTC().Format(rest.TimeFormat),
		Ahead: now.Sub(realTime).Round(time.Millisecond).Seconds(),
	}
}

func (s *Slice) getClock(context.Context, *struct{}) (clockTime, error) {
	realTime := s.o.Clock.Real()
	return s.showClock(s.o.Clock.Now(), realTime), nil
}

func (s *Slice) moveClock(ctx context.Context, r *clockRequest) (clockTime, error) {
	var by time.Duration
	realTime := s.o.Clock.Real()
	switch b := r.Body; {
	case b.RealTime:
		by = realTime.Sub(s.o.Clock.Now())
	case b.Advance != nil:
		by = time.Duration(*b.Advance * float64(time.Second))
	case b.Now.Before(realTime.Add(-lateness)):
		return clockTime{}, rest.Invalid("now", "The clock is never behind the real time: it is %s", realTime.UTC().Format(rest.TimeFormat))
	default:
		by = b.Now.Sub(s.o.Clock.Now())
	}
	_, err := s.o.Clock.Move(ctx, by, s.o.KeepTokens)
	if errors.Is(err, sandboxport.ErrClockRange) {
		return clockTime{}, rest.Invalid("now", "The time is too far away: the clock is at most 292 years ahead of the real time")
	}
	realTime = s.o.Clock.Real()
	return s.showClock(s.o.Clock.Now(), realTime), err
}
