package sandboxapi

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// Clock is the clock of the sandbox, as the composition root gives it.
type Clock interface {
	Now() time.Time
	// Advance moves the clock forward and returns the new time. ErrClockRange when it would leave what the clock can show.
	Advance(ctx context.Context, by time.Duration) (time.Time, error)
}

// ErrClockRange is what Clock.Advance returns for a time that is too far away.
var ErrClockRange = errors.New("sandboxapi: the time is out of range")

func (s *Slice) clockRoute() rest.Route {
	return rest.Op[clockRequest, clockTime]{ID: "advanceClock", Route: "POST /sandbox/v1/clock", Tag: tag,
		Summary: "Move the clock forward",
		Description: "Everything that expires, is rate-limited, backs off or carries a time obeys the clock. It never goes back, and keeps its distance " +
			"to the real time over restarts and resets. Waits for the network and ids of SCIM resources follow the real time.",
		Scopes: []string{manage}, Do: s.advanceClock}
}

// maxAdvance is the longest step, in seconds: a hundred years.
const maxAdvance = 100 * 365 * 24 * 60 * 60

type clockRequest struct {
	Body struct {
		Advance *float64   `json:"advanceSeconds" doc:"how far, at most a hundred years"`
		Now     *time.Time `json:"now" doc:"the new time, not before the present one"`
	} `body:"required"`
}

// Check wants one of the two.
func (r *clockRequest) Check(_ context.Context, causes *rest.Causes) {
	b := r.Body
	switch {
	case causes.Has("advanceSeconds"), causes.Has("now"):
	case (b.Advance == nil) == (b.Now == nil):
		causes.Add("advanceSeconds", "Exactly one of advanceSeconds and now must be given")
	case b.Advance != nil && (*b.Advance < 0 || *b.Advance > maxAdvance):
		causes.Add("advanceSeconds", "The value must be between 0 and %d", maxAdvance)
	}
}

type clockTime struct {
	Now string `json:"now" readOnly:"true" format:"date-time" doc:"the new time, RFC 3339 with milliseconds"`
}

func (s *Slice) advanceClock(ctx context.Context, r *clockRequest) (clockTime, error) {
	var by time.Duration
	if r.Body.Advance != nil {
		by = time.Duration(*r.Body.Advance * float64(time.Second))
	} else if by = r.Body.Now.Sub(s.o.Clock.Now()); by < 0 {
		return clockTime{}, rest.Invalid("now", "The clock does not go back: it is %s", s.o.Clock.Now().UTC().Format(rest.TimeFormat))
	}
	now, err := s.o.Clock.Advance(ctx, by)
	if errors.Is(err, ErrClockRange) {
		return clockTime{}, rest.Invalid("now", "The time is too far away")
	}
	return clockTime{Now: now.UTC().Format(rest.TimeFormat)}, err
}
