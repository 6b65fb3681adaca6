package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

func asAPI(err error) (*api.Error, bool) { return errors.AsType[*api.Error](err) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Head is the head of all pages of an app: its name, its state and the tabs.
type Head struct {
	App api.App
	ID  string
	Tab string
}

// head reads the app of a page. It has sent a response if ok is false.
func (c *console) head(w http.ResponseWriter, r *http.Request, v *Visit, tab string) (h Head, ok bool) {
	app, err := c.client(v).App(r.Context(), r.PathValue("app"))
	if err != nil {
		c.problem(w, r, v, err)
		return h, false
	}
	return Head{App: app, ID: app.ID, Tab: tab}, true
}

// AppPage is the first tab of an app.
type AppPage struct {
	Head
	Latest  []Exchange
	Failing []api.Task
	More    int // further tasks
}

const latestOnApp = 10

func (c *console) app(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "overview")
	if !ok {
		return
	}
	p := AppPage{Head: h}
	tasks, err := c.client(v).Tasks(r.Context(), h.ID)
	if err != nil {
		c.problem(w, r, v, err)
		return
	}
	sortTasks(tasks)
	p.Failing = tasks[:min(len(tasks), latestOnApp)]
	p.More = len(tasks) - len(p.Failing)
	p.Latest, err = c.exchanges(r.Context(), v, engine.AttemptQuery{App: v.caller.Tenant + h.ID, Limit: latestOnApp})
	if err != nil {
		c.broken(w, r, v, err)
		return
	}
	c.write(w, r, v, http.StatusOK, "app", h.App.Label, p)
}

// PeoplePage lists the users and groups of an app.
type PeoplePage struct {
	Head
	Kind, Status, Query string
	Rows                []api.Principal
	Next                template.URL // query of the next page
	Searched            bool         // the search has a limit, and was not complete
}

const (
	peoplePage = 50
	// maxSearched is the number of principals that a search by name reads at most per page.
	maxSearched = 5000
	searchStep  = 1000
)

func (c *console) people(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "people")
	if !ok {
		return
	}
	q := r.URL.Query()
	p := PeoplePage{Head: h, Kind: q.Get("kind"), Status: q.Get("status"), Query: strings.TrimSpace(q.Get("q"))}
	limit, after := peoplePage, q.Get("after")
	if p.Query != "" {
		limit = searchStep
	}
	needle := strings.ToLower(p.Query)
	more := false
	for read := 0; ; {
		found, err := c.client(v).Principals(r.Context(), h.ID, api.PrincipalOptions{
			Kind: engine.Kind(p.Kind), Status: engine.Status(p.Status), After: positionOf(after), Limit: limit,
		})
		if err != nil {
			c.problem(w, r, v, err)
			return
		}
		read += len(found)
		more = len(found) == limit
		for i := range found {
			f := &found[i]
			after = string(f.Kind) + ":" + f.ID
			if needle == "" || contains(f, needle) {
				p.Rows = append(p.Rows, *f)
			}
			if len(p.Rows) == peoplePage {
				more = more || i+1 < len(found)
				break
			}
		}
		if !more || len(p.Rows) == peoplePage {
			break
		}
		if read >= maxSearched {
			p.Searched = true
			break
		}
	}
	if more {
		p.Next = queryOf("kind", p.Kind, "status", p.Status, "q", p.Query, "after", after)
	}
	c.write(w, r, v, http.StatusOK, "people", "Users and groups of "+h.App.Label, p)
}

// positionOf parses the start of a page, kind:id.
func positionOf(text string) engine.Principal {
	kind, id, _ := strings.Cut(text, ":")
	return engine.Principal{Kind: engine.Kind(kind), ID: id}
}

func contains(p *api.Principal, needle string) bool {
	return strings.Contains(strings.ToLower(p.Name), needle) || strings.Contains(strings.ToLower(p.ID), needle) ||
		strings.Contains(strings.ToLower(p.State.RemoteID), needle) || strings.Contains(strings.ToLower(p.State.Error), needle)
}

// queryOf returns the query of alternating names and values without the empty ones.
func queryOf(pairs ...string) template.URL {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return template.URL(values.Encode())
}

// TasksPage lists the failed and waiting changes of an app.
type TasksPage struct {
	Head
	Rows     []api.Task
	Status   string
	Query    string
	Count    map[string]int // tasks by status
	Removals int            // blocked by the deletion guard
	Limited  bool           // the API lists only the first maxTasks tasks
	Next     template.URL   // query of the next page
}

// maxTasks is the maximum number of tasks that the API lists.
const maxTasks = 1000

// tasksPage is the maximum number of tasks on a page.
const tasksPage = 50

func (c *console) tasks(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "tasks")
	if !ok {
		return
	}
	all, err := c.client(v).Tasks(r.Context(), h.ID)
	if err != nil {
		c.problem(w, r, v, err)
		return
	}
	sortTasks(all)
	p := TasksPage{Head: h, Status: r.URL.Query().Get("status"), Query: strings.TrimSpace(r.URL.Query().Get("q")), Count: map[string]int{},
		Limited: len(all) == maxTasks}
	from := max(atoi(r.URL.Query().Get("from")), 0)
	matching := 0
	needle := strings.ToLower(p.Query)
	for _, t := range all {
		p.Count[string(t.Status)]++
		if t.Status == engine.StatusHeld && slices.Contains(removals, t.Operation) {
			p.Removals++
		}
		matches := needle == "" || strings.Contains(strings.ToLower(t.Name+" "+t.ID+" "+t.Error), needle)
		if !matches || p.Status != "" && p.Status != string(t.Status) {
			continue
		}
		if matching >= from && matching < from+tasksPage {
			p.Rows = append(p.Rows, t)
		}
		matching++
	}
	if next := from + tasksPage; next < matching {
		p.Next = queryOf("status", p.Status, "q", p.Query, "from", strconv.Itoa(next))
	}
	c.write(w, r, v, http.StatusOK, "tasks", "Tasks of "+h.App.Label, p)
}

// sortTasks sorts tasks by urgency: those that wait for an operator first, then those that the engine retries.
func sortTasks(all []api.Task) {
	order := []engine.Status{engine.StatusFailed, engine.StatusHeld, engine.StatusRetrying, engine.StatusDirty, engine.StatusPending}
	slices.SortStableFunc(all, func(a, b api.Task) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)), cmp.Compare(a.Created, b.Created))
	})
}

// PlansPage lists the plans of an app.
type PlansPage struct {
	Head
	Rows []engine.Plan
}

func (c *console) plans(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "plans")
	if !ok {
		return
	}
	rows, err := c.client(v).Plans(r.Context(), h.ID)
	if err != nil {
		c.problem(w, r, v, err)
		return
	}
	c.write(w, r, v, http.StatusOK, "plans", "Plans of "+h.App.Label, PlansPage{h, rows})
}

// PlanPage shows a plan with its items.
type PlanPage struct {
	Head
	Plan      engine.Plan
	Items     []api.PlanItem
	Operation string
	Outcome   string
	Next      template.URL
	Open      bool // can be applied
}

const planPage = 25

func (c *console) plan(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "plans")
	if !ok {
		return
	}
	q := r.URL.Query()
	p := PlanPage{Head: h, Operation: q.Get("operation"), Outcome: q.Get("outcome")}
	var err error
	if p.Plan, err = c.client(v).Plan(r.Context(), h.ID, r.PathValue("plan")); err != nil {
		c.problem(w, r, v, err)
		return
	}
	p.Open = p.Plan.Status == engine.PlanOpen || p.Plan.Status == engine.PlanPartial
	p.Items, err = c.client(v).PlanItems(r.Context(), h.ID, p.Plan.ID, api.ItemOptions{
		Operation: engine.Operation(p.Operation), Outcome: engine.Class(p.Outcome), After: max(atoi(q.Get("after")), 0), Limit: planPage,
	})
	if err != nil {
		c.problem(w, r, v, err)
		return
	}
	if len(p.Items) == planPage {
		p.Next = queryOf("operation", p.Operation, "outcome", p.Outcome, "after", strconv.Itoa(p.Items[planPage-1].Seq))
	}
	c.write(w, r, v, http.StatusOK, "plan", "Plan of "+h.App.Label, p)
}

// ImportsPage lists the imports of an app.
type ImportsPage struct {
	Head
	Rows []engine.ImportRun
}

func (c *console) imports(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "imports")
	if !ok {
		return
	}
	rows, err := c.o.Reads.Imports(r.Context(), v.caller.Tenant+h.ID)
	if err != nil {
		c.broken(w, r, v, err)
		return
	}
	c.write(w, r, v, http.StatusOK, "imports", "Imports of "+h.App.Label, ImportsPage{h, rows})
}

// ImportPage shows an import with the objects that it found.
type ImportPage struct {
	Head
	Job     string
	Import  api.Import
	Objects []engine.RemoteObject
	Verdict string
	Next    template.URL
	Running bool
	Matched int
}

const importPage = 50

func (c *console) oneImport(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "imports")
	if !ok {
		return
	}
	q := r.URL.Query()
	p := ImportPage{Head: h, Job: r.PathValue("job"), Verdict: q.Get("verdict")}
	var err error
	if p.Import, err = c.client(v).Import(r.Context(), h.ID, p.Job); err != nil {
		c.problem(w, r, v, err)
		return
	}
	p.Running, p.Matched = p.Import.Status == engine.ImportRunning, p.Import.Verdicts[engine.VerdictMatched]
	p.Objects, err = c.client(v).ImportedObjects(r.Context(), h.ID, p.Job, api.ObjectOptions{
		Verdict: engine.Verdict(p.Verdict), After: q.Get("after"), Limit: importPage,
	})
	if err != nil {
		c.problem(w, r, v, err)
		return
	}
	if len(p.Objects) == importPage {
		p.Next = queryOf("verdict", p.Verdict, "after", p.Objects[importPage-1].RemoteID)
	}
	c.write(w, r, v, http.StatusOK, "import", "Import of "+h.App.Label, p)
}

// TargetPage shows the connection of an app, and what is known about its target.
type TargetPage struct {
	Head
	Profile *engine.Profile // nil before the first probe
	Traits  []Trait
	// Settings is the app in the desired state with its mapping, as JSON. It is empty if the API has no such document.
	Settings string
	Offers   []Action // of sections
}

// Trait is a detected deviation of a target.
type Trait struct{ Name, Value string }

func (c *console) target(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "target")
	if !ok {
		return
	}
	p := TargetPage{Head: h}
	profile, err := c.client(v).Profile(r.Context(), h.ID)
	switch {
	case err == nil:
		p.Profile = &profile
	case !api.IsNotFound(err):
		c.problem(w, r, v, err)
		return
	}
	var settings json.RawMessage
	err = c.client(v).Do(r.Context(), http.MethodGet, "/apps/"+url.PathEscape(h.ID), nil, &settings)
	if e, ok := asAPI(err); err != nil && (!ok || e.Status >= http.StatusInternalServerError) {
		c.problem(w, r, v, err)
		return
	}
	p.Settings = string(settings)
	for _, o := range c.offerings {
		p.Offers = append(p.Offers, o.Offer(r.Context(), v, h.ID)...)
	}
	p.Traits = traitsOf(h.App.Learned, c.o.Now())
	c.write(w, r, v, http.StatusOK, "target", "Connection of "+h.App.Label, p)
}

// traitsOf describes what the engine has learned about a target.
func traitsOf(l engine.Learned, now time.Time) (all []Trait) {
	for _, t := range sortedKeys(l.Traits) {
		all = append(all, Trait{string(t), "detected " + ago(now, l.Traits[t])})
	}
	for _, t := range sortedKeys(l.Probed) {
		value := "absent, probed "
		if l.Probed[t] {
			value = "present, probed "
		}
		all = append(all, Trait{string(t), value + ago(now, l.ProbedAt)})
	}
	if l.MemberBatch > 0 {
		all = append(all, Trait{"members per request", num(l.MemberBatch)})
	}
	if l.Rate > 0 {
		all = append(all, Trait{"requests per second", strconv.FormatFloat(l.Rate, 'g', 3, 64)})
	}
	return all
}

// EventsPage lists the lifecycle events of an app, newest first.
type EventsPage struct {
	Head
	Rows  []api.Event
	Older template.URL // query of the next page
}

const eventsPage = 100

func (c *console) events(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "events")
	if !ok {
		return
	}
	last := int64(atoi(r.URL.Query().Get("before"))) - 1
	if last < 0 {
		var err error
		if last, err = c.lastEvent(r.Context(), v, h.ID); err != nil {
			c.problem(w, r, v, err)
			return
		}
	}
	p := EventsPage{Head: h}
	if n := min(last, eventsPage); n > 0 {
		rows, err := c.client(v).Events(r.Context(), h.ID, api.EventOptions{After: last - n, Limit: int(n)})
		if err != nil {
			c.problem(w, r, v, err)
			return
		}
		p.Rows = slices.DeleteFunc(rows, func(e api.Event) bool { return e.Seq > last })
		slices.Reverse(p.Rows)
		if len(p.Rows) == eventsPage {
			p.Older = queryOf("before", strconv.FormatInt(p.Rows[eventsPage-1].Seq, 10))
		}
	}
	c.write(w, r, v, http.StatusOK, "events", "Events of "+h.App.Label, p)
}

// lastEvent returns the number of the last event of an app, 0 if there is none. The API lists events in ascending order, and their numbers
// have no gaps.
func (c *console) lastEvent(ctx context.Context, v *Visit, app string) (int64, error) {
	follows := func(n int64) (bool, error) {
		found, err := c.client(v).Events(ctx, app, api.EventOptions{After: n, Limit: 1})
		return len(found) > 0, err
	}
	low, high := int64(0), int64(1) // events follow low, unless low is 0; no event follows high
	for {
		more, err := follows(high)
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
		low, high = high, high*4
	}
	for low < high {
		middle := (low + high) / 2
		more, err := follows(middle)
		if err != nil {
			return 0, err
		}
		if more {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}
