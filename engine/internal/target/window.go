package target

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
)

func sameWindow(w, o engine.Window) bool {
	return slices.Equal(w.Days, o.Days) && w.From == o.From && w.To == o.To && w.Zone == o.Zone &&
		w.Begin.Equal(o.Begin) && w.Until.Equal(o.Until)
}

// Suspension returns the suspension for an open maintenance window, and the zero Suspension if none is open.
func (c *Connection) Suspension(now time.Time) engine.Suspension {
	if until := closed(c.windows, now); !until.IsZero() {
		return engine.Suspension{Reason: engine.SuspensionMaintenance, Until: until}
	}
	return engine.Suspension{}
}

// window is a parsed Window.
type window struct {
	days     [7]bool
	from, to time.Duration  // since midnight
	zone     *time.Location // nil for a single window

	begin, until time.Time
}

// compile parses windows.
func compile(all []engine.Window) ([]window, error) {
	var out []window
	for i, w := range all {
		c, err := compileWindow(w)
		if err != nil {
			return nil, fmt.Errorf("engine: maintenance window %d: %w", i+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func compileWindow(w engine.Window) (out window, err error) {
	if !w.Until.IsZero() || !w.Begin.IsZero() {
		switch {
		case len(w.Days) > 0 || w.From != "" || w.To != "" || w.Zone != "":
			return out, errors.New("it has fields of a weekly window (Days, From, To, Zone) and of a single one (Begin, Until): set only one kind")
		case !w.Begin.Before(w.Until):
			return out, errors.New("Until must be after Begin")
		}
		return window{begin: w.Begin, until: w.Until}, nil
	}
	if out.from, err = timeOfDay(w.From); err != nil {
		return out, err
	}
	if out.to, err = timeOfDay(w.To); err != nil {
		return out, err
	}
	if out.from == out.to {
		return out, fmt.Errorf("it starts and ends at %s", w.From)
	}
	if w.Zone == "Local" {
		return out, errors.New("the zone Local differs between machines: use an IANA name such as Europe/Berlin")
	}
	if out.zone, err = time.LoadLocation(w.Zone); err != nil {
		return out, fmt.Errorf("zone %q: %w", w.Zone, err)
	}
	for _, d := range w.Days {
		if d < time.Sunday || d > time.Saturday {
			return out, fmt.Errorf("unknown weekday %d", d)
		}
		out.days[d] = true
	}
	if len(w.Days) == 0 {
		out.days = [7]bool{true, true, true, true, true, true, true}
	}
	return out, nil
}

func timeOfDay(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day such as 22:30", text)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// localTimeOfDay returns the local time of day.
func localTimeOfDay(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
		time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
}

func (w window) open(t time.Time) bool {
	if w.zone == nil {
		return !t.Before(w.begin) && t.Before(w.until)
	}
	t = t.In(w.zone)
	today, shows := t.Weekday(), localTimeOfDay(t)
	if w.from < w.to {
		return w.days[today] && w.from <= shows && shows < w.to
	}
	return w.days[today] && shows >= w.from || w.days[(today+6)%7] && shows < w.to
}

// end returns when a window that is open at t ends. The calculation is repeated at each clock change of the zone within the window.
func (w window) end(t time.Time) time.Time {
	if w.zone == nil {
		return w.until
	}
	for {
		local := t.In(w.zone)
		left := w.to - localTimeOfDay(local)
		if left <= 0 {
			left += 24 * time.Hour
		}
		end := t.Add(left)
		_, change := local.ZoneBounds()
		switch {
		case change.IsZero() || end.Before(change):
			return end
		case !w.open(change):
			return change
		}
		t = change
	}
}

// maxChained is the maximum number of consecutive windows that count as one.
const maxChained = 100

// closed returns the end of the current window, or of the last of several consecutive windows; zero if no window is open.
func closed(all []window, now time.Time) time.Time {
	until := time.Time{}
	for range maxChained {
		t := now
		if !until.IsZero() {
			t = until
		}
		i := slices.IndexFunc(all, func(w window) bool { return w.open(t) })
		if i < 0 {
			break
		}
		until = all[i].end(t)
	}
	return until
}
