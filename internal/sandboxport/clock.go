package sandboxport

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// Clock is the clock of the sandbox.
type Clock interface {
	Now() time.Time
	// Real returns the real time. The result of Now is never before the result of Real.
	Real() time.Time
	// Move moves the clock by a duration and returns the new time. A negative duration moves the clock back, at most to the real time. The
	// function before runs in the transaction that stores the new time, before a caller of Now can see that time. Move returns ErrClockRange
	// if the time is out of range.
	Move(ctx context.Context, by time.Duration, before func(ctx context.Context, tx docstore.Execer, now time.Time) error) (time.Time, error)
}

// ErrClockRange is the error of Clock.Move for a time outside the range of the clock.
var ErrClockRange = errors.New("sandboxport: time is out of range")
