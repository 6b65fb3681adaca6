package provision_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestWhenAWindowIsOpen(t *testing.T) {
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
		"before":                           {[]engine.Window{night}, "2026-05-04T21:59:59Z", ""},
		"at its beginning":                 {[]engine.Window{night}, "2026-05-04T22:00:00Z", "2026-05-05T06:00:00Z"},
		"after midnight":                   {[]engine.Window{night}, "2026-05-05T00:30:00Z", "2026-05-05T06:00:00Z"},
		"at its end":                       {[]engine.Window{night}, "2026-05-05T06:00:00Z", ""},
		"within a day":                     {[]engine.Window{{From: "08:00", To: "09:30"}}, "2026-05-05T09:29:59Z", "2026-05-05T09:30:00Z"},
		"the night after its day":          {[]engine.Window{friday}, "2026-05-09T05:00:00Z", "2026-05-09T06:00:00Z"}, // a Saturday
		"the night before its day":         {[]engine.Window{friday}, "2026-05-08T05:00:00Z", ""},
		"the evening after its day":        {[]engine.Window{friday}, "2026-05-09T23:00:00Z", ""},
		"in another zone":                  {[]engine.Window{berlin("00:00", "01:00")}, "2026-07-01T22:30:00Z", "2026-07-01T23:00:00Z"},
		"one after the other":              {[]engine.Window{{From: "06:00", To: "07:00"}, night}, "2026-05-05T05:00:00Z", "2026-05-05T07:00:00Z"},
		"once":                             {[]engine.Window{{Begin: at("2026-05-05T10:00:00Z"), Until: at("2026-05-07T10:00:00Z")}}, "2026-05-06T00:00:00Z", "2026-05-07T10:00:00Z"},
		"once, before":                     {[]engine.Window{{Begin: at("2026-05-05T10:00:00Z"), Until: at("2026-05-07T10:00:00Z")}}, "2026-05-05T09:59:59Z", ""},
		"once, from ever":                  {[]engine.Window{{Until: at("2026-05-07T10:00:00Z")}}, "2026-05-05T09:59:59Z", "2026-05-07T10:00:00Z"},
		"once, over":                       {[]engine.Window{{Until: at("2026-05-07T10:00:00Z")}}, "2026-05-07T10:00:00Z", ""},
		"a night with an hour less":        {[]engine.Window{berlin("22:00", "06:00")}, "2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z"},
		"a night with an hour more":        {[]engine.Window{berlin("22:00", "06:00")}, "2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z"},
		"the hour that is skipped":         {[]engine.Window{berlin("02:00", "03:00")}, "2026-03-29T01:00:00Z", ""},
		"an end that is skipped":           {[]engine.Window{berlin("01:00", "02:30")}, "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
		"a beginning that is skipped":      {[]engine.Window{berlin("02:30", "04:00")}, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		"an hour that comes twice":         {[]engine.Window{berlin("02:00", "03:00")}, "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z"},
		"half of an hour that comes twice": {[]engine.Window{berlin("02:00", "02:30")}, "2026-10-25T00:10:00Z", "2026-10-25T00:30:00Z"},
		"and its second time":              {[]engine.Window{berlin("02:00", "02:30")}, "2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := provision.Closed(c.windows, at(c.now))
			require.NoError(t, err)
			if c.until == "" {
				require.Zero(t, got)
				return
			}
			require.Equal(t, c.until, got.UTC().Format(time.RFC3339))
		})
	}
}

func TestAWindowIsOpenUntilItsEndAndNotAfter(t *testing.T) {
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
		until, err := provision.Closed(w, now)
		require.NoError(t, err)
		if until.IsZero() {
			return
		}
		require.True(t, until.After(now))
		require.LessOrEqual(t, until.Sub(now), 26*time.Hour)
		after, err := provision.Closed(w, until)
		require.NoError(t, err)
		require.Zero(t, after, "it is over at %s", until)
		within := now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "within")))
		same, err := provision.Closed(w, within)
		require.NoError(t, err)
		require.True(t, same.Equal(until), "%s is within", within)
	})
}

func TestABrokenWindowIsABrokenConnection(t *testing.T) {
	now := time.Now()
	for want, broken := range map[string]engine.Window{
		`"25:00" is not a time of day`:            {From: "25:00", To: "06:00"},
		`"" is not a time of day`:                 {From: "22:00"},
		"it begins and ends at 22:00":             {From: "22:00", To: "22:00"},
		"Europe/Atlantis":                         {From: "22:00", To: "23:00", Zone: "Europe/Atlantis"},
		"the zone Local is another one":           {From: "22:00", To: "23:00", Zone: "Local"},
		"there is no weekday 7":                   {From: "22:00", To: "23:00", Days: []time.Weekday{7}},
		"it has both times of day and an instant": {From: "22:00", Until: now},
		"it ends before it begins":                {Begin: now, Until: now},
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.target.Maintenance = []engine.Window{{From: "22:00", To: "23:00"}, broken}
			w.dir.SetTarget(app, w.target)
			require.ErrorContains(t, w.engine.Test(t.Context(), w.target), "maintenance window 2: ")
			require.ErrorContains(t, w.engine.Test(t.Context(), w.target), want)
			w.set("u-1", user("u-1", "ann"))
			w.poll("the refusal", func() bool { return w.state(engine.User, "u-1").LastError != "" })
			require.Contains(t, w.state(engine.User, "u-1").LastError, want)
			w.requests()
		})
	}
}

func TestNothingIsSentDuringMaintenance(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		c := &clock{}
		o := provision.Options{Now: c.Now}
		w := newWorld(t, db, o)
		until := c.Now().Add(time.Hour).Truncate(time.Second)
		w.target.Maintenance = []engine.Window{{Until: until}}
		w.dir.SetTarget(app, w.target)
		rest := func() engine.Suspension {
			l, err := w.engine.Lane(t.Context(), app)
			require.NoError(t, err)
			return l.Suspension
		}
		want := engine.Suspension{Reason: engine.SuspensionMaintenance, Until: until}
		w.set("u-1", user("u-1", "ann"))
		w.poll("the rest", func() bool { return cmp.Equal(want, rest()) })
		require.NoError(t, w.engine.Kick(t.Context(), app)) // does not end it
		w.advance(c, 59*time.Minute, o)
		require.Empty(t, cmp.Diff(want, rest()))
		w.requests()
		w.advance(c, 2*time.Minute, o)
		w.wait()
		require.Len(t, w.fake.Users(), 1)
		require.Zero(t, rest())

		w.stop(w.engine)
		w.target.Paused = true
		w.dir.SetTarget(app, w.target)
		w.set("u-1", off("u-1", "ann"))
		w.engine = w.start(o)
		w.poll("the pause", func() bool { return rest() == engine.Suspension{Reason: engine.SuspensionPaused} })
	})
}

func TestASequenceThatIsRunningEndsWhenAWindowBegins(t *testing.T) {
	c := &clock{}
	o := provision.Options{Now: c.Now}
	w := newWorld(t, sqldbtest.SQLite(t), o)
	var begin sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		begin.Do(func() { c.ahead.Add(int64(time.Minute)) }) // the first request of a lookup and a create
		w.fake.ServeHTTP(rw, r)
	}))
	defer server.Close()
	begins := c.Now().Add(40 * time.Second)
	w.target.Maintenance = []engine.Window{{Begin: begins, Until: begins.Add(time.Hour)}}
	w.target.Concurrency, w.target.BaseURL = 1, server.URL
	w.dir.SetTarget(app, w.target)
	var marks []engine.Mark
	for i := range 5 {
		id := fmt.Sprint("u-", i)
		w.dir.SetUser(app, id, user(id, id))
		marks = append(marks, userMark(id))
	}
	w.mark(marks...)
	w.poll("the rest", func() bool {
		l, err := w.engine.Lane(t.Context(), app)
		require.NoError(t, err)
		return l.Suspension.Reason == engine.SuspensionMaintenance
	})
	require.Len(t, w.fake.Requests(), 2, "a lookup and a create, and nothing of the others")
	require.Len(t, w.fake.Users(), 1)
	w.advance(c, time.Hour, o)
	w.wait()
	require.Len(t, w.fake.Users(), 5)
}
