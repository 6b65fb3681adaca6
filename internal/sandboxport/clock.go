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
	// Real returns the real time. Now is never earlier.
	Real() time.Time
	// Move moves the clock and returns the new time: forward, or back as far as the real time. before runs in the transaction that stores
	// the new time, before any caller sees it. Move returns ErrClockRange for a time that the clock cannot show.
	Move(ctx context.Context, by time.Duration, before func(ctx context.Context, tx docstore.Execer, now time.Time) error) (time.Time, error)
}

// ErrClockRange is what Clock.Move returns for a time that is too far away.
var ErrClockRange = errors.New("sandboxport: time is out of range")
