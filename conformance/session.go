package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// A session is the state of one run. It belongs to one goroutine.
type session struct {
	target   Target
	base     *url.URL
	opts     Options
	run      string // the marker: part of every created object's name
	secrets  *secrets
	journal  *journal
	caps     *Capabilities
	naming   map[string]string // the attribute that names the objects of a collection
	fixtures map[*Fixture]*builtFixture
	shared   []*Created // what fixtures made; removed at the end of the run

	veil       *veil
	checking   string // the id of the check that runs
	pace       *rate.Limiter
	lag        time.Duration // how long what was written takes to be seen
	throttled  int           // requests that were sent again after a 429
	served     bool          // the target has answered something else than 429
	traffic    []Sent
	watches    []*watch
	sent       []string // the secrets that requests have carried, for the checks that watch
	requests   int
	unanswered int             // calls in a row that got no answer
	shown      map[string]bool // the attributes that answers have had: "/Users/nickname"
	departed   []farewell      // what the target says is gone
	leftovers  []Leftover
	bulk       []bulkEntry // what the bulk job under way may create
	broken     error       // the journal cannot be written: no further writes
}

type builtFixture struct {
	objects map[string]*Created
	blocked string // why there are no objects
}

func newSession(target Target, opts Options) (*session, error) {
	base, err := target.parse()
	if err != nil {
		return nil, err
	}
	if !opts.ReadOnly && !opts.AllowWrites && !isLoopback(base.Hostname()) {
		return nil, &ConsentError{Host: base.Host}
	}
	if target.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		// A run talks to one host, one request at a time.
		transport.MaxIdleConnsPerHost = 1
		target.Transport = transport
	}
	secrets := &secrets{values: []string{target.Token}}
	for _, values := range target.Header {
		for _, v := range values {
			// A header of the caller may be a credential of any kind: better too little in a report than too much.
			secrets.credentials(v)
		}
	}
	run := "scimconf-" + strings.ToLower(rand.Text()[:8])
	return &session{
		target: target, base: base, opts: opts, run: run, secrets: secrets,
		journal: &journal{path: opts.Journal, started: opts.JournalStarted, header: journalLine{Journal: journalVersion, Target: base.String(), Run: run, Started: opts.Now().UTC()}},
		naming:  naming(), shown: map[string]bool{}, fixtures: map[*Fixture]*builtFixture{},
		veil: &veil{run: run, seen: map[string]bool{}},
		pace: pacer(opts.Rate),
	}, nil
}

// pacer spreads requests evenly: a burst of one.
func pacer(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), 1)
}

// equip adds what creation needs on this target to an object that a check is about to create.
func (s *session) equip(resourceType string, doc Doc) Doc {
	return merge(doc, s.opts.Attributes[resourceType])
}

// naming is the attribute that names an object in each collection that a run knows from the start; see [T.Names].
func naming() map[string]string {
	return map[string]string{"/Users": "userName", "/Groups": "displayName"}
}

// collection returns the well-known collection that a POST to the path creates in, "" when it is no request that creates.
func collection(req Request) string {
	if req.Method != http.MethodPost || naming()[req.Path] == "" {
		return ""
	}
	return req.Path
}

// collection is the function of the same name for all collections that the run knows.
func (s *session) collection(req Request) string {
	if req.Method != http.MethodPost || s.naming[req.Path] == "" {
		return ""
	}
	return req.Path
}

// expect announces in the journal what a request may create, and returns the number of the entry, 0 for none.
func (s *session) expect(req Request) int {
	if req.Method == http.MethodPost && req.Path == bulkPath {
		s.expectBulk(req)
		return 0
	}
	where := s.collection(req)
	if where == "" {
		return 0
	}
	attribute := s.naming[where]
	entry, err := s.journal.next(where, attribute, nameIn(req.Body, attribute))
	if err != nil {
		// A write that could not be found again is not made.
		panic(noAnswer{err})
	}
	return entry
}

// nameOf returns a text of a document by its name, in whatever letter case the check has written it.
func nameOf(doc Doc, attribute string) string {
	for key, value := range doc {
		if name, ok := value.(string); ok && strings.EqualFold(key, attribute) {
			return name
		}
	}
	return ""
}

// A textMember is a member of a JSON object whose value is a text, as it may stand in a body that is no JSON as a whole.
var textMember = regexp.MustCompile(`["'](\w+)["']\s*:\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)')`)

// nameIn is nameOf for every body that a check may send. What is broken on purpose is searched for the first member of that
// name, because the target may make something of it.
func nameIn(body any, attribute string) string {
	switch body := body.(type) {
	case Doc:
		return nameOf(body, attribute)
	case []byte:
		for _, member := range textMember.FindAllSubmatch(body, -1) {
			if !strings.EqualFold(string(member[1]), attribute) {
				continue
			}
			name := string(member[3])
			if member[2] != nil && json.Unmarshal(member[2], &name) != nil {
				continue
			}
			return name
		}
	}
	return ""
}

// settle puts what an answer says was created, or is gone, into the ledger and the journal.
func (s *session) settle(ledger *[]*Created, entry int, req Request, res *Response) {
	switch {
	case req.Method == http.MethodPost && req.Path == bulkPath:
		s.settleBulk(ledger, req, res)
	case entry > 0 && res.Status >= http.StatusInternalServerError:
		return // a target that breaks half-way may have stored it: the entry stays open
	case entry > 0 && !res.OK():
		s.note(s.journal.gone(entry))
	case entry > 0:
		id := identify(res)
		if id == "" {
			if nameIn(req.Body, s.naming[s.collection(req)]) == "" {
				s.leave(&Created{Collection: s.collection(req)}, res.Name+" answered "+statusText(res.Status)+" to a body without a name, and told no id")
			}
			s.journal.claim(entry)
			return // the entry stays open: it is looked up by name at the end of the run
		}
		where := s.collection(req)
		doc, _ := req.Body.(Doc)
		s.own(ledger, &Created{ID: id, Collection: where, Sent: doc, Resource: res.Object(), entry: entry, name: nameIn(req.Body, s.naming[where])})
	case req.Method == http.MethodPut && res.OK():
		// A PUT that creates is a fault, but what it made has to go as well.
		where, id := path.Split(req.Path)
		where = strings.TrimSuffix(where, "/")
		if s.naming[where] == "" || slices.ContainsFunc(*ledger, func(c *Created) bool { return c.Path() == req.Path }) {
			return
		}
		if id, err := url.PathUnescape(id); err == nil {
			entry, err := s.journal.next(where, s.naming[where], "")
			s.note(err)
			s.own(ledger, &Created{ID: id, Collection: where, entry: entry})
		}
	case req.Method == http.MethodDelete && (res.OK() || res.Status == http.StatusNotFound):
		for _, c := range *ledger {
			if c.Path() == req.Path && !c.gone {
				s.depart(c, res.Status)
			}
		}
	}
}

func (s *session) own(ledger *[]*Created, c *Created) {
	s.note(s.journal.created(c.entry, c.Collection, c.ID))
	*ledger = append(*ledger, c)
}

// note remembers that the journal could not be written; the run ends after the check.
func (s *session) note(err error) { s.broken = errors.Join(s.broken, err) }

// identify returns the id of a created resource: from the body, else from the end of the Location header.
//
// A target may answer with what [Response.Object] refuses to read, above all after a hostile body: half a surrogate pair, a
// name that comes twice, nesting without end. The id is looked for in there as well, or the object could not be removed.
func identify(res *Response) string {
	if id := res.Object().Text("id"); id != "" {
		return id
	}
	var loose struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(res.Body, &loose) == nil && loose.ID != "" {
		return loose.ID
	}
	location, err := url.Parse(res.Header.Get("Location"))
	if err != nil || location.Path == "" {
		return ""
	}
	return path.Base(location.Path)
}

// remove deletes what a ledger holds, newest first. What cannot be deleted becomes a leftover. A run that was interrupted
// gives it a context of its own.
func (s *session) remove(ctx context.Context, ledger []*Created) {
	for _, c := range slices.Backward(ledger) {
		if c.gone {
			continue
		}
		res, err := s.call(ctx, Request{Method: http.MethodDelete, Path: c.Path()}, true)
		switch {
		case err != nil:
			s.leave(c, err.Error())
		case res.OK(), res.Status == http.StatusNotFound:
			s.depart(c, res.Status)
		default:
			s.leave(c, res.Name+" answered "+statusText(res.Status))
		}
	}
}

func (s *session) leave(c *Created, reason string) {
	s.leftovers = append(s.leftovers, Leftover{Path: c.Path(), Name: c.name, Reason: reason})
}

// fixture builds a fixture once and hands it to every check that names it.
func (s *session) fixture(ctx context.Context, t *T, f *Fixture) (map[string]*Created, string) {
	built, ok := s.fixtures[f]
	if !ok {
		built = &builtFixture{}
		s.fixtures[f] = built
		builder := &T{Capabilities: t.Capabilities, session: s, check: t.check, prefix: s.run + "-" + f.Name + "-", ledger: &s.shared, outcome: Pass}
		builder.run(func() { built.objects = f.Build(ctx, builder) })
		if built.objects == nil {
			built.blocked = builder.reason
		}
	}
	return built.objects, built.blocked
}
