package conformance

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
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
	departed   []farewell      // what the target says is gone
	shown      map[string]bool // the attributes that answers have had: "/Users/nickname"
	leftovers  []Leftover
	owned      map[string]bool // the paths of what the run has created and not removed
	refused    bool            // a write with the run's own credentials answered 401 or 403
	wrote      bool            // something was created
	probed     bool            // whether a plain object can be created has been asked
	denied     string          // why nothing is written any more: the credentials may not
	broken     error           // the journal cannot be written: no further writes
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
	if err := checkAttributes(opts.Attributes); err != nil {
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
		journal: &journal{path: opts.Journal, started: opts.JournalStarted,
			header: journalLine{Journal: journalVersion, Target: base.String(), Run: run, Started: opts.Now().UTC()}},
		naming: naming(), shown: map[string]bool{}, fixtures: map[*Fixture]*builtFixture{}, owned: map[string]bool{},
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
	where := c.Path()
	if c.ID == "" {
		where = c.Collection
	}
	s.leftovers = append(s.leftovers, Leftover{Path: where, Name: c.name, Reason: reason})
}

// fixture builds a fixture once and hands it to every check that names it.
func (s *session) fixture(ctx context.Context, t *T, f *Fixture) (map[string]*Created, string) {
	built, ok := s.fixtures[f]
	if !ok {
		built = &builtFixture{}
		s.fixtures[f] = built
		builder := &T{Capabilities: t.Capabilities, session: s, check: t.check, prefix: s.run + "-" + f.Name + "-", ledger: &s.shared,
			outcome: Pass}
		builder.run(func() { built.objects = f.Build(ctx, builder) })
		if built.objects == nil {
			built.blocked = builder.reason
		}
	}
	return built.objects, built.blocked
}
