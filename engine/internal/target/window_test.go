package target_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/target"
)

// closed returns the time until which the windows are open.
func closed(t require.TestingT, windows []engine.Window, now time.Time) time.Time {
	c := target.NewConnector(target.Options{Network: &connect.Network{}, MaxCall: time.Second, Concurrency: 1, Now: time.Now})
	connection := c.Connect(engine.Target{BaseURL: "https://scim.example", Auth: engine.Auth{Secret: "t"}, Maintenance: windows})
	require.NoError(t, connection.Broken)
	return connection.Suspension(now).Until
}

// TestWindow_Open checks at given times whether a maintenance window is open, and until when.
func TestWindow_Open(t *testing.T) {
	at := func(text string) time.Time {
		out, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return out
	}
	night := engine.Window{From: "22:00", To: "06:00"}
	friday := engine.Window{Days: []time.Weekday{time.Friday}, From: "22:00", To: "06:00"}
	berlin := func(from, to string) engine.Window { return engine.Window{From: from, To: to, Zone: "Europe/Berlin"} }
	for name, c := range map[string]struct {
		windows []engine.Window
		now     string
		until   string // empty: none is open
	}{
		"before":                    {[]engine.Window{night}, "2026-05-04T21:59:59Z", ""},
		"at its start":              {[]engine.Window{night}, "2026-05-04T22:00:00Z", "2026-05-05T06:00:00Z"},
		"after midnight":            {[]engine.Window{night}, "2026-05-05T00:30:00Z", "2026-05-05T06:00:00Z"},
		"at its end":                {[]engine.Window{night}, "2026-05-05T06:00:00Z", ""},
		"within a day":              {[]engine.Window{{From: "08:00", To: "09:30"}}, "2026-05-05T09:29:59Z", "2026-05-05T09:30:00Z"},
		"the night after its day":   {[]engine.Window{friday}, "2026-05-09T05:00:00Z", "2026-05-09T06:00:00Z"}, // a Saturday
		"the night before its day":  {[]engine.Window{friday}, "2026-05-08T05:00:00Z", ""},
		"the evening after its day": {[]engine.Window{friday}, "2026-05-09T23:00:00Z", ""},
		"in another zone":           {[]engine.Window{berlin("00:00", "01:00")}, "2026-07-01T22:30:00Z", "2026-07-01T23:00:00Z"},
		"consecutive windows": {[]engine.Window{{From: "06:00", To: "07:00"}, night}, "2026-05-05T05:00:00Z",
			"2026-05-05T07:00:00Z"},
		"once": {[]engine.Window{{Begin: at("2026-05-05T10:00:00Z"), Until: at("2026-05-07T10:00:00Z")}},
			"2026-05-06T00:00:00Z", "2026-05-07T10:00:00Z"},
		"once, before": {[]engine.Window{{Begin: at("2026-05-05T10:00:00Z"), Until: at("2026-05-07T10:00:00Z")}},
			"2026-05-05T09:59:59Z", ""},
		"once, without a start": {[]engine.Window{{Until: at("2026-05-07T10:00:00Z")}}, "2026-05-05T09:59:59Z",
			"2026-05-07T10:00:00Z"},
		"once, over":                         {[]engine.Window{{Until: at("2026-05-07T10:00:00Z")}}, "2026-05-07T10:00:00Z", ""},
		"a night with an hour less":          {[]engine.Window{berlin("22:00", "06:00")}, "2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z"},
		"a night with an hour more":          {[]engine.Window{berlin("22:00", "06:00")}, "2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z"},
		"the hour that is skipped":           {[]engine.Window{berlin("02:00", "03:00")}, "2026-03-29T01:00:00Z", ""},
		"an end that is skipped":             {[]engine.Window{berlin("01:00", "02:30")}, "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
		"a start that is skipped":            {[]engine.Window{berlin("02:30", "04:00")}, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		"a repeated hour":                    {[]engine.Window{berlin("02:00", "03:00")}, "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z"},
		"half of a repeated hour":            {[]engine.Window{berlin("02:00", "02:30")}, "2026-10-25T00:10:00Z", "2026-10-25T00:30:00Z"},
		"the second half of a repeated hour": {[]engine.Window{berlin("02:00", "02:30")}, "2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			got := closed(t, c.windows, at(c.now))
			if c.until == "" {
				require.Zero(t, got)
				return
			}
			require.Equal(t, c.until, got.UTC().Format(time.RFC3339))
		})
	}
}

// TestWindow_ClosesAtEnd checks for random windows that an open window is open until its end and not after.
func TestWindow_ClosesAtEnd(t *testing.T) {
	zones := []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}
	rapid.Check(t, func(t *rapid.T) {
		minutes := rapid.IntRange(0, 24*60-1)
		clock := func(n int) string { return fmt.Sprintf("%02d:%02d", n/60, n%60) }
		from := minutes.Draw(t, "from")
		to := minutes.Filter(func(n int) bool { return n != from }).Draw(t, "to")
		var days []time.Weekday
		for _, d := range rapid.SliceOfN(rapid.IntRange(0, 6), 0, 3).Draw(t, "days") {
			days = append(days, time.Weekday(d))
		}
		w := []engine.Window{{Days: days, From: clock(from), To: clock(to), Zone: rapid.SampledFrom(zones).Draw(t, "zone")}}
		now := time.Unix(1_770_000_000+rapid.Int64Range(0, 366*24*3600).Draw(t, "second"), 0)
		until := closed(t, w, now)
		if until.IsZero() {
			return
		}
		require.True(t, until.After(now))
		require.LessOrEqual(t, until.Sub(now), 26*time.Hour)
		after := closed(t, w, until)
		require.Zero(t, after, "the window is over at %s", until)
		within := now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "within")))
		same := closed(t, w, within)
		require.True(t, same.Equal(until), "%s is within", within)
	})
}
