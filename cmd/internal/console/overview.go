package console

import (
	"cmp"
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const (
	appsPage = 25 // apps of a page of the overview
	maxNeeds = 8  // apps that the overview lists as needing attention
	// lateAfter is the age of the oldest pending change after which an app needs attention.
	lateAfter = 5 * time.Minute
)

// The states of apps in the overview, by urgency.
const (
	rankRejected = iota // the target rejects the credentials
	rankFailed          // changes failed or wait for a decision
	rankHold            // the lane is on hold
	rankLate            // changes retry, or are late
	rankWaiting         // changes are pending
	rankSync            // nothing is pending
	rankIdle            // the engine has no state
)

// OverviewPage is the first page.
type OverviewPage struct {
	Apps      int // of all apps of the caller, without the filter
	Sums      Sums
	Needs     []Need
	MoreNeeds int
	Rows      []AppRow
	Found     int // apps that the filter selects
	Query     string
	State     string
	Next      template.URL  // query of the next page
	Halts     []engine.Halt // for all apps
	Chart     *Chart
	Endpoints []Endpoint
}

// Sums are the numbers of all apps. The numbers of apps are those with at least one such principal.
type Sums struct {
	InSync, Failing, Waiting, Idle                 int // apps
	Due, Retrying, Accepted, Failed, Held, OnHolds int // principals; lanes on hold
	Oldest                                         time.Time
}

// Need is an app that needs attention.
type Need struct {
	ID, Label string
	Tone      string
	What      string // what is wrong
	Why       string // the reason, if known
	Since     time.Time
	Actions   []Action
	Tab       string // tab of the app with the details
}

// AppRow is an app in the list.
type AppRow struct {
	ID, Label string
	App       api.App
	Rank      int
}

// Waiting returns the number of principals with a pending change that did not fail.
func (a AppRow) Waiting() int {
	return a.App.Counts[engine.StatusDirty] + a.App.Counts[engine.StatusWaiting] + a.App.Counts[engine.StatusPending]
}

// ranked is an app with its lag.
type ranked struct {
	control.App

	short string // the id without the tenant
	lag   engine.Lag
	known bool
	rank  int
}

// labels caches the apps of tenants, because most pages need their names.
type labels struct {
	host Host
	mu   sync.Mutex
	all  map[string]labeled
}

type labeled struct {
	at   time.Time
	apps []control.App
	byID map[string]string
}

// labelTime is the time for which names of apps are cached.
const labelTime = 2 * time.Second

func (l *labels) of(ctx context.Context, tenant string) (labeled, error) {
	l.mu.Lock()
	found, ok := l.all[tenant]
	l.mu.Unlock()
	if ok && time.Since(found.at) < labelTime {
		return found, nil
	}
	apps, err := l.host.Apps(ctx, tenant)
	if err != nil {
		return labeled{}, err
	}
	found = labeled{at: time.Now(), apps: apps, byID: make(map[string]string, len(apps))}
	for _, a := range apps {
		found.byID[a.ID] = cmp.Or(strings.TrimPrefix(a.Label, tenant), a.ID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) > 100 {
		l.all = map[string]labeled{}
	}
	l.all[tenant] = found
	return found, nil
}

func (l *labels) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = nil
}

func (c *console) overview(w http.ResponseWriter, r *http.Request, v *Visit) {
	if !v.caller.May(engine.AccessRead) {
		c.fail(w, r, v, http.StatusForbidden, "You may not read the state of the engine.", "Log in with a token that has the permission read.")
		return
	}
	all, err := c.rank(r.Context(), v)
	if err != nil {
		c.broken(w, r, v, err)
		return
	}
	q := r.URL.Query()
	p := OverviewPage{Apps: len(all), Query: strings.TrimSpace(q.Get("q")), State: q.Get("state"), Endpoints: c.o.Endpoints}
	now := c.o.Now()
	for i := range all {
		p.Sums.add(&all[i])
		if need, ok := needOf(&all[i], now); ok {
			if len(p.Needs) < maxNeeds {
				p.Needs = append(p.Needs, need)
			} else {
				p.MoreNeeds++
			}
		}
	}
	shown := slices.DeleteFunc(all, func(a ranked) bool { return !p.selects(&a) })
	p.Found = len(shown)
	if after, err := strconv.Atoi(q.Get("after")); err == nil && after > 0 {
		shown = shown[min(after, len(shown)):]
	}
	if len(shown) > appsPage {
		shown = shown[:appsPage]
		next := url.Values{"after": {strconv.Itoa(appsPage + max(atoi(q.Get("after")), 0))}}
		if p.Query != "" {
			next.Set("q", p.Query)
		}
		if p.State != "" {
			next.Set("state", p.State)
		}
		p.Next = template.URL(next.Encode())
	}
	if p.Rows, err = c.rows(r.Context(), v, shown); err != nil {
		c.problem(w, r, v, err)
		return
	}
	if len(p.Rows) > 0 {
		for _, h := range p.Rows[0].App.Halts {
			if h.App == "" {
				p.Halts = append(p.Halts, h)
			}
		}
	}
	if c.o.Rate != nil && v.caller.Tenant == "" || c.o.Rate != nil && v.caller.May(engine.AccessFleet) {
		p.Chart = c.o.Rate.chart(time.Now())
	}
	c.write(w, r, v, http.StatusOK, "overview", "Overview", p)
}

// rowReaders is the number of apps of a page that are read concurrently.
const rowReaders = 4

// rows reads the apps of a page.
func (c *console) rows(ctx context.Context, v *Visit, shown []ranked) ([]AppRow, error) {
	client := c.client(v)
	rows, errs := make([]AppRow, len(shown)), make([]error, len(shown))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(rowReaders, len(shown)) {
		readers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(shown); i = int(next.Add(1)) - 1 {
				a := &shown[i]
				app, err := client.App(ctx, a.short)
				rows[i], errs[i] = AppRow{ID: a.short, Label: cmp.Or(app.Label, a.short), App: app, Rank: a.rank}, err
			}
		})
	}
	readers.Wait()
	var found []AppRow
	for i := range rows {
		switch {
		case api.IsNotFound(errs[i]): // deleted since the list was read
		case errs[i] != nil:
			return nil, errs[i]
		default:
			found = append(found, rows[i])
		}
	}
	return found, nil
}

// lags caches the delays of all apps, so that many open pages do not read them more than once per lagTime.
type lags struct {
	reads Reads
	mu    sync.Mutex
	at    time.Time
	all   []engine.Lag
}

// lagTime is the time for which delays are cached. An action ends it.
const lagTime = time.Second

func (l *lags) read(ctx context.Context) ([]engine.Lag, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < lagTime {
		return l.all, nil
	}
	found, err := l.reads.Lags(ctx)
	if err != nil {
		return nil, err
	}
	l.at, l.all = time.Now(), found
	return found, nil
}

func (l *lags) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text) // 0 if it is not a number
	return n
}

// rank returns the apps of the caller's tenant, the most urgent first.
func (c *console) rank(ctx context.Context, v *Visit) ([]ranked, error) {
	tenant := v.caller.Tenant
	named, err := c.labels.of(ctx, tenant)
	if err != nil {
		return nil, err
	}
	lags, err := c.lags.read(ctx)
	if err != nil {
		return nil, err
	}
	byApp := make(map[string]*engine.Lag, len(lags))
	for i := range lags {
		byApp[lags[i].App] = &lags[i]
	}
	now := c.o.Now()
	all := make([]ranked, 0, len(named.apps))
	for _, a := range named.apps {
		one := ranked{App: a, short: strings.TrimPrefix(a.ID, tenant), rank: rankIdle}
		one.Label = named.byID[a.ID]
		if lag := byApp[a.ID]; lag != nil {
			one.lag, one.known, one.rank = *lag, true, rankOf(lag, now)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

func rankOf(l *engine.Lag, now time.Time) int {
	held := l.Hold.Kind != engine.HoldNone
	switch {
	case l.Hold.Kind == engine.HoldQuarantine && (l.Due > 0 || !l.Hold.Until.IsZero()): // otherwise released, and nothing is to be sent
		return rankRejected
	case l.Failed+l.Held > 0:
		return rankFailed
	case held && l.Due > 0:
		return rankHold
	case l.Retrying > 0, !l.Oldest.IsZero() && now.Sub(l.Oldest) > lateAfter:
		return rankLate
	case l.Due > 0:
		return rankWaiting
	}
	return rankSync
}

func (s *Sums) add(a *ranked) {
	l := &a.lag
	s.Due, s.Retrying, s.Accepted = s.Due+l.Due, s.Retrying+l.Retrying, s.Accepted+l.Accepted
	s.Failed, s.Held = s.Failed+l.Failed, s.Held+l.Held
	if l.Hold.Kind != engine.HoldNone && a.known {
		s.OnHolds++
	}
	switch {
	case a.rank <= rankLate:
		s.Failing++
	case a.rank == rankWaiting:
		s.Waiting++
	case a.rank == rankIdle:
		s.Idle++
	default:
		s.InSync++
	}
	if !l.Oldest.IsZero() && (s.Oldest.IsZero() || l.Oldest.Before(s.Oldest)) {
		s.Oldest = l.Oldest
	}
}

// selects reports whether the filter selects an app.
func (p *OverviewPage) selects(a *ranked) bool {
	if !strings.Contains(strings.ToLower(a.Label+"\n"+a.short), strings.ToLower(p.Query)) {
		return false
	}
	switch p.State {
	case "attention":
		return a.rank <= rankLate
	case "waiting":
		return a.rank == rankWaiting
	case "sync":
		return a.rank >= rankSync
	}
	return true
}

// needOf returns why an app needs attention, and what an operator can do.
func needOf(a *ranked, now time.Time) (Need, bool) {
	l := &a.lag
	n := Need{ID: a.short, Label: a.Label, Since: l.Oldest, Why: l.Hold.Reason}
	at := map[string]string{"app": a.short}
	switch a.rank {
	case rankRejected:
		n.Tone, n.What, n.Tab = "bad", "The target rejects the credentials.", "target"
		if l.Due > 0 || l.Hold.Until.After(now) {
			n.What += " Nothing is sent."
		}
		n.Actions = []Action{{"testApp", at}, {"releaseApp", at}}
		if l.Failed > 0 { // the end of the hold sends only pending changes
			n.What += " " + plural(l.Failed, "change") + " rejected."
			n.Actions = append(n.Actions, Action{"retryAllProvisioningTasks", at})
		}
	case rankFailed:
		n.Tone, n.Tab = "bad", "tasks"
		switch {
		case l.Failed == 0:
			n.Tone, n.What = "warn", plural(l.Held, "change")+" on hold, for a decision."
		case l.Held == 0:
			n.What = plural(l.Failed, "change") + " rejected by the target."
		default:
			n.What = plural(l.Failed, "change") + " rejected by the target, " + plural(l.Held, "change") + " on hold for a decision."
		}
		if l.Failed > 0 {
			n.Actions = append(n.Actions, Action{"retryAllProvisioningTasks", at})
		}
		if l.Held > 0 {
			n.Actions = append(n.Actions, Action{"approveRemovals", map[string]string{"app": a.short, "expected": strconv.Itoa(l.Held)}})
		}
	case rankHold:
		n.Tone, n.Tab = "warn", "target"
		n.What = "Paused: " + pillOf(string(l.Hold.Kind)).Word + ". " + plural(l.Due, "change") + " pending."
		n.Actions = []Action{{"releaseApp", at}}
	case rankLate:
		n.Tone, n.Tab = "warn", "tasks"
		if l.Retrying > 0 {
			n.What = plural(l.Retrying, "change") + " failed and retried automatically."
		} else {
			n.What = plural(l.Due, "change") + " pending for more than " + span(now.Sub(l.Oldest)) + "."
		}
		n.Actions = []Action{{"retryAllProvisioningTasks", at}}
	default:
		return n, false
	}
	return n, true
}
