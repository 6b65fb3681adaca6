package console

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// rateMinutes is the number of minutes that a Rate counts.
const rateMinutes = 60

// Rate counts the sequences of this process per minute. It is an engine.Observer. The zero value is ready to use.
type Rate struct {
	mu      sync.Mutex
	minutes [rateMinutes]rateMinute
}

type rateMinute struct {
	at           int64 // minutes since 1970
	done, failed int
}

var _ engine.Observer = (*Rate)(nil)

// Result implements engine.Observer.
func (r *Rate) Result(_ context.Context, result engine.Result) {
	r.add(time.Now(), result.Outcome != engine.Done && result.Outcome != engine.Skipped && result.Outcome != engine.Accepted)
}

func (r *Rate) add(now time.Time, failed bool) {
	minute := now.Unix() / 60
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.minutes[minute%rateMinutes]
	if m.at != minute {
		*m = rateMinute{at: minute}
	}
	if failed {
		m.failed++
	} else {
		m.done++
	}
}

// Chart is a bar chart of the last hour.
type Chart struct {
	Bars         []Bar
	Done, Failed int
	Max          int
	Text         string // for readers without the picture
}

// Bar is a minute. The heights are of a picture with 60 units.
type Bar struct {
	X, DoneY, DoneHeight, FailedY, FailedHeight int
	Title                                       string
}

// The size of the picture: each minute has barStep units.
const (
	barStep     = 10
	chartHeight = 60
)

func (r *Rate) chart(now time.Time) *Chart {
	minute := now.Unix() / 60
	r.mu.Lock()
	minutes := r.minutes
	r.mu.Unlock()
	c := &Chart{}
	at := func(i int) rateMinute {
		m := minutes[(minute-rateMinutes+1+int64(i))%rateMinutes]
		if m.at != minute-rateMinutes+1+int64(i) {
			return rateMinute{}
		}
		return m
	}
	for i := range rateMinutes {
		m := at(i)
		c.Done, c.Failed, c.Max = c.Done+m.done, c.Failed+m.failed, max(c.Max, m.done+m.failed)
	}
	for i := range rateMinutes {
		m := at(i)
		if m.done+m.failed == 0 {
			continue
		}
		done, failed := height(m.done, c.Max), height(m.failed, c.Max)
		c.Bars = append(c.Bars, Bar{
			X: i * barStep, DoneY: chartHeight - done, DoneHeight: done, FailedY: max(chartHeight-done-failed, 0), FailedHeight: failed,
			Title: fmt.Sprintf("%s: %d succeeded, %d not", time.Unix(m.at*60, 0).UTC().Format("15:04 UTC"), m.done, m.failed),
		})
	}
	c.Text = fmt.Sprintf("%s succeeded and %s failed in the last hour; at most %d per minute.",
		plural(c.Done, "sequence"), num(c.Failed), c.Max)
	return c
}

// height returns the height of a part of a bar, at least 1 unless the number is 0.
func height(n, most int) int {
	if n == 0 || most == 0 {
		return 0
	}
	return max(n*chartHeight/most, 1)
}
