package manage

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const clockPath = "/sandbox/v1/clock"

// clockTime is the time of the sandbox.
type clockTime struct {
	Now, RealTime time.Time
	AheadSeconds  float64
}

// Ahead returns how far the clock is ahead of the real time.
func (c clockTime) Ahead() string {
	return spanOf(time.Duration(c.AheadSeconds * float64(time.Second)))
}

// spanOf returns a duration in words.
func spanOf(d time.Duration) string {
	days, rest := int(d/(24*time.Hour)), (d % (24 * time.Hour)).Round(time.Second)
	text := strings.TrimSuffix(strings.TrimSuffix(rest.String(), "0s"), "0m")
	switch {
	case days == 0 && rest == 0:
		return "0 s"
	case days == 0:
		return text
	case days == 1:
		return strings.TrimSpace("1 day " + text)
	}
	return strings.TrimSpace(strconv.Itoa(days) + " days " + text)
}

func (m *Manage) clock() subject {
	return subject{
		links:     []console.Link{{Label: "Clock", Path: "/clock", Key: "c", Access: engine.AccessFleet}},
		actions:   clockActions,
		templates: []string{"clock"},
		pages:     map[string]console.Page{"/clock": m.clockPage},
	}
}

func (m *Manage) clockPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	c, err := readClock(r.Context(), m.frame.Management(v))
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	m.frame.Write(w, r, v, "clock", "Clock", c)
}

func readClock(ctx context.Context, c *api.Client) (now clockTime, err error) {
	return now, c.Do(ctx, http.MethodGet, clockPath, nil, &now)
}

// units are the units of a step of the clock in seconds.
var units = map[string]float64{"minutes": 60, "hours": 60 * 60, "days": 24 * 60 * 60, "seconds": 1}

var clockActions = map[string]console.Row{
	"advanceClock": {
		Label: "Move forward", What: "Moves the clock forward. Tokens, sessions, links and passcodes whose time is then over expire, and the " +
			"engine runs what is scheduled for this time. The clock can be moved back to the real time, which restores nothing that has expired.",
		Method: http.MethodPost, Path: clockPath, Access: engine.AccessFleet,
		Fields: []console.Field{
			{Name: "amount", Label: "Step", Required: true, Default: "1"},
			{Name: "unit", Label: "Unit", Kind: "choice", Options: []string{"hours", "minutes", "days", "seconds"}},
		},
		Form: func(ctx context.Context, c *api.Client, _ url.Values) (f console.Form, err error) {
			now, err := readClock(ctx, c)
			f.Facts = []console.Fact{{Name: "Now", Value: console.Clock(now.Now)}, {Name: "Ahead of the real time", Value: now.Ahead()}}
			return f, err
		},
		Body: func(_ url.Values, body map[string]any) error {
			text, _ := body["amount"].(string)
			unit, _ := body["unit"].(string)
			amount, err := strconv.ParseFloat(text, 64)
			if err != nil && text != "" || units[unit] == 0 {
				return errors.New("Step must be a number.")
			}
			delete(body, "amount")
			delete(body, "unit")
			body["advanceSeconds"] = amount * units[unit]
			return nil
		},
		Done: clockDone,
	},
	"setRealTime": {
		Label: "Set to the real time", What: "Sets the clock to the real time. What has expired remains expired.", Direct: true,
		Method: http.MethodPost, Path: clockPath, Access: engine.AccessFleet, Done: clockDone,
		Body: func(_ url.Values, body map[string]any) error {
			body["realTime"] = true
			return nil
		},
	},
}

func clockDone(_ url.Values, response json.RawMessage) string {
	var now clockTime
	_ = json.Unmarshal(response, &now)
	return "The clock is " + console.Clock(now.Now) + ", " + now.Ahead() + " ahead of the real time."
}
