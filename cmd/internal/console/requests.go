package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/scimwright/scimwright/cmd/internal/console/session"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/internal/look"
)

// Exchange is one request to a target with its response, redacted.
type Exchange struct {
	ID           int64
	App, Label   string
	Kind, Of     string // the principal, empty for a test of the connection
	Name         string
	At           time.Time
	Method, Path string // Path is readable: without the encoding of the query
	Status       int    // 0 if no response was received
	Duration     time.Duration
	Error        string

	URL                           string
	RequestHeader, ResponseHeader http.Header
	Request, Response, Curl, Run  string
}

// Messages returns the request and the response as the pages and the report of the suite show them. The page of a request has the command
// line in a section of its own, with a button that copies it.
func (e Exchange) Messages() look.Exchange {
	line := "No response"
	if e.Status != 0 {
		line = strings.TrimSpace(fmt.Sprint(e.Status, " ", http.StatusText(e.Status)))
	}
	return look.Exchange{
		Request:  look.NewMessage(e.Method+" "+e.URL, e.RequestHeader, e.Request),
		Response: look.NewMessage(line, e.ResponseHeader, e.Response),
		Level:    2,
	}
}

// Endpoint returns the path without the query.
func (e Exchange) Endpoint() string {
	path, _, _ := strings.Cut(e.Path, "?")
	return path
}

// readable returns a path whose query is decoded, if it can be.
func readable(path string) string {
	before, query, ok := strings.Cut(path, "?")
	if !ok {
		return path
	}
	text, err := url.QueryUnescape(query)
	if err != nil || strings.ContainsFunc(text, unicode.IsControl) {
		return path
	}
	return before + "?" + text
}

// exchanges returns exchanges with the names of their apps and principals, as the caller may see them.
func (c *console) exchanges(ctx context.Context, v *Visit, q engine.AttemptQuery) ([]Exchange, error) {
	found, err := c.o.Reads.Attempts(ctx, q)
	if err != nil {
		return nil, err
	}
	return c.named(ctx, v, found)
}

func (c *console) named(ctx context.Context, v *Visit, found []engine.Attempt) ([]Exchange, error) {
	tenant := v.caller.Tenant
	labels, err := c.labels.of(ctx, tenant)
	if err != nil {
		return nil, err
	}
	about := map[string][]engine.Principal{}
	for _, a := range found {
		if p := (engine.Principal{Kind: a.Kind, ID: a.Principal}); strings.HasPrefix(a.App, tenant) && p.ID != "" {
			if !slices.Contains(about[a.App], p) {
				about[a.App] = append(about[a.App], p)
			}
		}
	}
	names := map[string]map[engine.Principal]string{}
	for app, principals := range about {
		if names[app], err = c.o.Host.Names(ctx, app, principals); err != nil {
			return nil, err
		}
	}
	out := make([]Exchange, 0, len(found))
	for i := range found {
		a := &found[i]
		if !strings.HasPrefix(a.App, tenant) {
			continue
		}
		short := strings.TrimPrefix(a.App, tenant)
		out = append(out, Exchange{
			ID: a.ID, App: short, Label: cmp.Or(labels.byID[a.App], short), Kind: string(a.Kind), Of: a.Principal,
			Name: cmp.Or(names[a.App][engine.Principal{Kind: a.Kind, ID: a.Principal}], a.Principal), At: a.At, Method: a.Method,
			Path: readable(control.RelativePath(a.URL)), Status: a.Status, Duration: a.Duration, Error: a.Error, URL: a.URL,
			RequestHeader: a.RequestHeader, ResponseHeader: a.ResponseHeader, Request: a.RequestBody,
			Response: a.ResponseBody, Curl: a.Curl(true), Run: a.Run,
		})
	}
	return out, nil
}

// requestFilter selects exchanges.
type requestFilter struct {
	App, Status, Query string
}

func filterOf(r *http.Request) requestFilter {
	q := r.URL.Query()
	return requestFilter{App: q.Get("app"), Status: q.Get("status"), Query: strings.TrimSpace(q.Get("q"))}
}

func (f *requestFilter) selects(e *Exchange) bool {
	if f.App != "" && f.App != e.App {
		return false
	}
	if q := strings.ToLower(f.Query); q != "" {
		text := strings.ToLower(strings.Join([]string{e.Method, e.Path, e.Name, e.Of, e.Label, e.Request, e.Response, e.Error}, "\n"))
		if !strings.Contains(text, q) {
			return false
		}
	}
	switch f.Status {
	case "ok":
		return e.Status >= 200 && e.Status < 300
	case "failed":
		return e.Status < 200 || e.Status >= 300
	case "4xx":
		return e.Status >= 400 && e.Status < 500
	case "5xx":
		return e.Status >= 500
	case "none":
		return e.Status == 0
	case "writes":
		return e.Method != http.MethodGet
	}
	return true
}

// RequestsPage lists exchanges, of all apps or of one.
type RequestsPage struct {
	*Head
	Filter  requestFilter
	Apps    []control.App // for the filter
	Rows    []Exchange
	Next    template.URL
	Partial bool   // the search stopped before the end
	Stream  string // path of the live updates with the same filter
	Last    int64  // id of the newest exchange of the page
}

const (
	requestsPage = 50
	// maxRead is the maximum number of exchanges that a filter reads per page.
	maxRead  = 2000
	readStep = 200
	// maxChoices is the maximum number of apps in the filter. With more apps, the text selects.
	maxChoices = 200
)

func (c *console) requests(w http.ResponseWriter, r *http.Request, v *Visit) {
	if !v.caller.May(engine.AccessRead) {
		c.fail(w, r, v, http.StatusForbidden, "You may not read the requests.", "Log in with a token that has the permission read.")
		return
	}
	c.listRequests(w, r, v, &RequestsPage{Filter: filterOf(r)}, "Requests")
}

func (c *console) appRequests(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "requests")
	if !ok {
		return
	}
	p := &RequestsPage{Head: &h, Filter: filterOf(r)}
	p.Filter.App = h.ID
	c.listRequests(w, r, v, p, "Requests of "+h.App.Label)
}

func (c *console) listRequests(w http.ResponseWriter, r *http.Request, v *Visit, p *RequestsPage, title string) {
	labels, err := c.labels.of(r.Context(), v.caller.Tenant)
	if err != nil {
		c.broken(w, r, v, err)
		return
	}
	for _, a := range labels.apps {
		if len(labels.apps) <= maxChoices {
			p.Apps = append(p.Apps, control.App{ID: strings.TrimPrefix(a.ID, v.caller.Tenant), Label: labels.byID[a.ID]})
		}
	}
	query := engine.AttemptQuery{Limit: requestsPage + 1, Before: int64(max(atoi(r.URL.Query().Get("before")), 0))}
	if p.Filter.App != "" {
		query.App = v.caller.Tenant + p.Filter.App
	}
	if p.Filter.Query != "" || p.Filter.Status != "" || v.caller.Tenant != "" {
		query.Limit = readStep
	}
	read, more := 0, false
	for {
		found, err := c.o.Reads.Attempts(r.Context(), query)
		if err != nil {
			c.broken(w, r, v, err)
			return
		}
		rows, err := c.named(r.Context(), v, found)
		if err != nil {
			c.broken(w, r, v, err)
			return
		}
		read += len(found)
		more = len(found) == query.Limit
		if more {
			query.Before = found[len(found)-1].ID
		}
		for i := range rows {
			if len(p.Rows) == requestsPage {
				more = true
				break
			}
			if p.Filter.selects(&rows[i]) {
				p.Rows = append(p.Rows, rows[i])
			}
		}
		if !more || len(p.Rows) == requestsPage {
			break
		}
		if read >= maxRead {
			p.Partial = true
			break
		}
	}
	if len(p.Rows) > 0 {
		p.Last = p.Rows[0].ID
	}
	if more {
		before := query.Before
		if len(p.Rows) == requestsPage {
			before = p.Rows[requestsPage-1].ID
		}
		p.Next = queryOf("app", p.Filter.App, "status", p.Filter.Status, "q", p.Filter.Query, "before", strconv.FormatInt(before, 10))
	}
	p.Stream = c.o.Base + "/requests/stream?" + string(queryOf("app", p.Filter.App, "status", p.Filter.Status, "q", p.Filter.Query))
	c.write(w, r, v, http.StatusOK, "requests", title, p)
}

// RequestPage shows one exchange, with the others of its sequence.
type RequestPage struct {
	E   Exchange
	Run []Exchange
}

// maxRun is the maximum number of exchanges of a sequence that the page of one of them lists.
const maxRun = 50

func (c *console) request(w http.ResponseWriter, r *http.Request, v *Visit) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		c.fail(w, r, v, http.StatusNotFound, "This request does not exist.", "Go to the list of requests.")
		return
	}
	app := r.PathValue("app")
	if _, err := c.client(v).App(r.Context(), app); err != nil { // the caller may read the app
		c.problem(w, r, v, err)
		return
	}
	found, err := c.exchanges(r.Context(), v, engine.AttemptQuery{App: v.caller.Tenant + app, Before: id + 1, Limit: 1})
	if err != nil {
		c.broken(w, r, v, err)
		return
	}
	if len(found) == 0 || found[0].ID != id {
		c.fail(w, r, v, http.StatusNotFound, "This request is no longer stored.", "The last requests of each user and group are stored; see the "+
			"list of requests.")
		return
	}
	p := RequestPage{E: found[0]}
	if p.E.Of != "" && p.E.Run != "" {
		all, err := c.exchanges(r.Context(), v, engine.AttemptQuery{
			App: v.caller.Tenant + app, Kind: engine.Kind(p.E.Kind), Principal: p.E.Of, Before: id + maxRun, Limit: 2 * maxRun,
		})
		if err != nil {
			c.broken(w, r, v, err)
			return
		}
		for _, e := range slices.Backward(all) {
			if e.Run == p.E.Run {
				p.Run = append(p.Run, e)
			}
		}
	}
	c.write(w, r, v, http.StatusOK, "request", p.E.Method+" "+p.E.Path, p)
}

// The limits of live pages.
const (
	maxStreams = 50                     // of this process
	feedStep   = 250 * time.Millisecond // interval of the search for new exchanges
	feedPage   = 200                    // exchanges per search; of more, the rest is reported as missing
	streamTime = 10 * time.Minute       // a stream ends, and the browser reconnects
	streamBeat = 15 * time.Second       // interval of comments, and of the checks of the session
	writeTime  = 10 * time.Second
	// maxPerStep is the maximum number of rows that a stream sends per search, so that a burst does not stall the browser.
	maxPerStep = 50
)

// feed shares the search for new exchanges among all live pages.
type feed struct {
	reads   Reads
	streams atomic.Int32

	mu     sync.Mutex
	at     time.Time
	latest []engine.Attempt
}

// read returns the latest exchanges, newest first. Callers within a step share one query.
func (f *feed) read(ctx context.Context) ([]engine.Attempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) < feedStep/2 {
		return f.latest, nil
	}
	found, err := f.reads.Attempts(ctx, engine.AttemptQuery{Limit: feedPage})
	if err != nil {
		return nil, err
	}
	f.at, f.latest = time.Now(), found
	return found, nil
}

var errGone = errors.New("the browser has disconnected")

// stream sends the rows of new exchanges as server-sent events.
func (c *console) stream(w http.ResponseWriter, r *http.Request, v *Visit) {
	if !v.caller.May(engine.AccessRead) {
		http.Error(w, "not permitted", http.StatusForbidden)
		return
	}
	if c.feed.streams.Add(1) > maxStreams {
		c.feed.streams.Add(-1)
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many live pages are open", http.StatusServiceUnavailable)
		return
	}
	defer c.feed.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies pass each event on
	s := &liveStream{c: c, v: v, filter: filterOf(r), w: w, rc: http.NewResponseController(w), seen: map[int64]bool{}}
	if err := s.run(r.Context(), int64(atoi(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))))); err != nil &&
		!errors.Is(err, errGone) && r.Context().Err() == nil {
		c.log.ErrorContext(r.Context(), "console live page", "error", err)
	}
}

// liveStream is the stream of one live page.
type liveStream struct {
	c      *console
	v      *Visit
	filter requestFilter
	w      http.ResponseWriter
	rc     *http.ResponseController
	// seen are the exchanges of the last search. Processes that share a database may store exchanges in another order than that of their ids.
	seen map[int64]bool
}

func (s *liveStream) run(ctx context.Context, after int64) error {
	found, err := s.c.feed.read(ctx)
	if err != nil {
		return err
	}
	for _, a := range found {
		s.seen[a.ID] = after == 0 || a.ID <= after
	}
	if err := s.send(":\n\n"); err != nil {
		return err
	}
	if err := s.step(ctx, found); err != nil {
		return err
	}
	tick, beat, end := time.NewTicker(feedStep), time.NewTicker(streamBeat), time.NewTimer(streamTime)
	defer tick.Stop()
	defer beat.Stop()
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return errGone
		case <-s.c.o.Done:
			return nil
		case <-end.C:
			return nil
		case <-beat.C:
			if over, err := s.over(ctx); err != nil || over {
				return err
			}
			if err := s.send(":\n\n"); err != nil {
				return err
			}
		case <-tick.C:
			found, err := s.c.feed.read(ctx)
			if err != nil {
				return err
			}
			if err := s.step(ctx, found); err != nil {
				return err
			}
		}
	}
}

// over reports whether the session has ended or its credential was revoked.
func (s *liveStream) over(ctx context.Context) (bool, error) {
	_, err := s.c.o.Sessions.Get(ctx, s.v.host, s.v.cookie)
	if err == nil {
		_, err = s.c.o.Host.Caller(ctx, s.v.session.Credential)
	}
	if errors.Is(err, session.ErrNone) || errors.Is(err, ErrNoCaller) {
		return true, nil
	}
	return false, err
}

// step sends the exchanges that the previous searches did not find.
func (s *liveStream) step(ctx context.Context, found []engine.Attempt) error {
	var fresh []engine.Attempt
	now := make(map[int64]bool, len(found))
	for _, a := range found {
		if !s.seen[a.ID] {
			fresh = append(fresh, a)
		}
		now[a.ID] = true
	}
	s.seen = now
	if len(fresh) == 0 {
		return nil
	}
	missed := len(fresh) == feedPage
	rows, err := s.c.named(ctx, s.v, fresh)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(e Exchange) bool { return !s.filter.selects(&e) })
	if len(rows) > maxPerStep {
		rows, missed = rows[:maxPerStep], true
	}
	if missed {
		if err := s.send("event: missed\ndata: {}\n\n"); err != nil {
			return err
		}
	}
	for i := range slices.Backward(rows) {
		var html bytes.Buffer
		out := view{Now: s.c.o.Now(), D: rows[i]}
		if err := s.c.render(&html, "requests", "exchange-row", out); err != nil {
			return err
		}
		data, err := json.Marshal(html.String())
		if err != nil {
			return err
		}
		if err := s.send(fmt.Sprintf("id: %d\nevent: row\ndata: %s\n\n", rows[i].ID, data)); err != nil {
			return err
		}
	}
	return nil
}

func (s *liveStream) send(text string) error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errGone
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return errGone
	}
	if err := s.rc.Flush(); err != nil {
		return errGone
	}
	return nil
}
