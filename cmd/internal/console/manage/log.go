package manage

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
)

const logPath = "/api/v1/logs"

// party is the actor or a target of an event.
type party struct{ ID, Type, AlternateID, DisplayName string }

// Label returns the readable name of the party.
func (p party) Label() string {
	for _, text := range []string{p.AlternateID, p.DisplayName, p.ID} {
		if text != "" && text != "unknown" {
			return text
		}
	}
	return p.Type
}

// Path returns the path of the page of the party, empty if there is none.
func (p party) Path() string {
	if p.ID == "" {
		return ""
	}
	switch p.Type {
	case "User":
		return at("/users", p.ID)
	case "UserGroup":
		return at("/groups", p.ID)
	case "AppInstance":
		return at("/apps", p.ID)
	}
	return ""
}

// event is an event of the system log.
type event struct {
	UUID, EventType, Severity, DisplayMessage string
	Published                                 time.Time
	Actor                                     party
	Outcome                                   struct{ Result, Reason string }
	Target                                    []party
	Client                                    struct{ IPAddress string }

	text string
}

// UnmarshalJSON stores the text of the event, too.
func (e *event) UnmarshalJSON(data []byte) error {
	type plain event
	e.text = string(data)
	return json.Unmarshal(data, (*plain)(e))
}

// JSON returns the event as the API returns it.
func (e event) JSON() string { return e.text }

// At returns the time of the event for the link to its page.
func (e event) At() string { return e.Published.UTC().Format(time.RFC3339Nano) }

func (m *Manage) log() subject {
	return subject{
		links:     []console.Link{{Label: "System log", Path: "/log", Key: "l"}},
		templates: []string{"log", "logevent"},
		pages:     map[string]console.Page{"/log": m.logList, "/log/{event}": m.logEvent},
	}
}

// LogPage lists events of the system log, newest first.
type LogPage struct {
	Rows                                       []event
	Query, Result, Since, Until, Filter, About string
	Next                                       template.URL
	Problem                                    string // why the API rejects the filter
}

// Filtered reports whether the page has a filter.
func (p LogPage) Filtered() bool {
	return p.Query+p.Result+p.Since+p.Until+p.Filter+p.About != ""
}

func (m *Manage) logList(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	q := r.URL.Query()
	p := LogPage{
		Query: search(r), Result: q.Get("result"), Since: q.Get("since"), Until: q.Get("until"), Filter: strings.TrimSpace(q.Get("filter")),
		About: q.Get("about"),
	}
	query := url.Values{"limit": {fmt.Sprint(pageSize)}, "sortOrder": {"DESCENDING"}}
	var parts []string
	if p.About != "" {
		parts = append(parts, "(target.id eq "+quoted(p.About)+" or actor.id eq "+quoted(p.About)+")")
	}
	if p.Result != "" {
		parts = append(parts, "outcome.result eq "+quoted(p.Result))
	}
	for name, text := range map[string]string{
		"q": p.Query, "filter": conjunction(parts, p.Filter), "since": utc(p.Since), "until": utc(p.Until), "after": q.Get("after"),
	} {
		if text != "" {
			query.Set(name, text)
		}
	}
	next, err := m.frame.List(r.Context(), v, logPath, query, &p.Rows)
	if p.Problem = rejected(err); err != nil && p.Problem == "" {
		m.frame.Problem(w, r, v, err)
		return
	}
	if next != "" {
		p.Next = console.Query("q", p.Query, "result", p.Result, "since", p.Since, "until", p.Until, "filter", p.Filter, "about", p.About,
			"after", next)
	}
	m.frame.Write(w, r, v, "log", "System log", p)
}

// utc returns the time of a field for date and time, which has no zone, in the form of the API. It returns other text unchanged, so that
// the API rejects it with its reason.
func utc(text string) string {
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(form, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return text
}

func (m *Manage) logEvent(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	id := r.PathValue("event")
	query := url.Values{"filter": {"uuid eq " + quoted(id)}, "limit": {"1"}, "sortOrder": {"DESCENDING"}}
	if t, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("at")); err == nil {
		query.Set("since", t.Format(time.RFC3339Nano))
		query.Set("until", t.Add(time.Second).Format(time.RFC3339Nano))
	}
	var found []event
	if _, err := m.frame.List(r.Context(), v, logPath, query, &found); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	if len(found) == 0 {
		m.frame.Fail(w, r, v, http.StatusNotFound, "This event does not exist, or the log no longer has it.", "Go to the system log.")
		return
	}
	m.frame.Write(w, r, v, "logevent", found[0].EventType, found[0])
}
