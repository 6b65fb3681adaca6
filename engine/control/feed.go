package control

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/rest"
)

// DefaultStreams is the default of Options.Streams.
const DefaultStreams = 100

const (
	streamBeat  = 15 * time.Second // interval of comments in a stream
	streamTime  = 10 * time.Minute // a stream ends, so that the caller is authorized again; it reconnects automatically
	streamPage  = 100              // events that are read at a time
	streamRetry = "5"              // seconds until a caller may retry if there are too many streams
	feedPoll    = 500 * time.Millisecond
)

// missedEvents is the type of an event of a stream that reports missing events: they were removed before the stream has read them.
const missedEvents = "events.missed"

// Feed reports new lifecycle events to the callers of an API that wait for them. Pass it to Options.Feed, and its method Wake to
// sqlstore.Options.Recorded. The zero value is ready to use.
type Feed struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool // by app
	closed  bool
	ended   chan struct{}
}

// Wake reports that an app has new events. It does not wait.
func (f *Feed) Wake(app string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.waiting[app] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Close ends all streams and waits, and those that start later. So does the end of the engine. http.Server.Shutdown waits for them: stop
// the engine before, or pass Close to http.Server.RegisterOnShutdown.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.end())
	}
}

// end returns a channel that Close closes. The caller holds the lock.
func (f *Feed) end() chan struct{} {
	if f.ended == nil {
		f.ended = make(chan struct{})
	}
	return f.ended
}

// join returns a channel that has an element after each Wake of the app, and one that Close closes.
func (f *Feed) join(app string) (woken, ended chan struct{}, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan struct{}, 1)
	if f.waiting == nil {
		f.waiting = map[string]map[chan struct{}]bool{}
	}
	if f.waiting[app] == nil {
		f.waiting[app] = map[chan struct{}]bool{}
	}
	f.waiting[app][c] = true
	return c, f.end(), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(f.waiting[app], c); len(f.waiting[app]) == 0 {
			delete(f.waiting, app)
		}
	}
}

// follow calls each with the events of an app after a number, as they are stored, until each returns false, ctx ends or the feed is closed.
// It calls each without an event after the time beat without one.
func (a *api) follow(
	ctx context.Context, app string, after int64, beat time.Duration, each func(events []engine.Event) (more bool, err error),
) error {
	woken, ended, leave := a.o.Feed.join(app)
	defer leave()
	poll, quiet := time.NewTicker(cmp.Or(a.o.Poll, feedPoll)), time.NewTimer(beat)
	defer poll.Stop()
	defer quiet.Stop()
	for ctx.Err() == nil {
		found, err := a.o.Engine.Apps().Events(ctx, engine.EventQuery{App: app, After: after, Limit: streamPage})
		if err != nil {
			return err
		}
		if len(found) > 0 {
			after = found[len(found)-1].Seq
			if more, err := each(found); err != nil || !more {
				return err
			}
			quiet.Reset(beat)
			continue
		}
		select {
		case <-ctx.Done():
		case <-ended:
			return nil
		case <-a.o.Engine.Done():
			return nil
		case <-woken:
		case <-poll.C:
		case <-quiet.C:
			if more, err := each(nil); err != nil || !more {
				return err
			}
			quiet.Reset(beat)
		}
	}
	return nil
}

// enter counts a stream or a wait. It returns an error response if there are too many.
func (a *api) enter() (leave func(), err error) {
	select {
	case a.streams <- struct{}{}:
		return func() { <-a.streams }, nil
	default:
		return nil, &rest.Error{
			Code: rest.CodeRateLimit, Summary: "Too many callers wait for events.", Header: http.Header{"Retry-After": {streamRetry}},
		}
	}
}

// listEvents lists events. If there are none, it waits for the first ones for the time of the request.
func (a *api) listEvents(ctx context.Context, r *eventsRequest) ([]client.Event, error) {
	found, err := a.events(ctx, r.App, engine.Principal{}, r.eventPage)
	if err != nil || len(found) > 0 || r.Wait == 0 {
		return found, err
	}
	leave, err := a.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	err = a.follow(ctx, r.App, r.After, time.Duration(r.Wait)*time.Second, func([]engine.Event) (bool, error) { return false, nil })
	if err != nil {
		return nil, err
	}
	return a.events(ctx, r.App, engine.Principal{}, r.eventPage)
}

type streamRequest struct {
	appRequest
	After int64  `query:"after" min:"0" doc:"only events with a greater number; without it and the header: all stored events"`
	Last  string `header:"Last-Event-ID" doc:"id of the last received event; takes precedence over the parameter after"`
}

// streamEvents sends events as they are stored.
func (a *api) streamEvents(ctx context.Context, r *streamRequest) (rest.EventStream, error) {
	after := r.After
	if r.Last != "" {
		n, err := strconv.ParseInt(r.Last, 10, 64)
		if err != nil || n < 0 {
			return rest.EventStream{}, rest.Invalid("Last-Event-ID", "The value must be the number of an event.")
		}
		after = n
	}
	if after > 0 { // the numbers of an app that was removed and created again start at 1
		found, err := a.o.Engine.Apps().Events(ctx, engine.EventQuery{App: r.App, After: after - 1, Limit: 1})
		if err != nil {
			return rest.EventStream{}, err
		}
		if len(found) == 0 {
			return rest.EventStream{}, rest.Invalid("after", "The app has no event with this or a greater number. Start again without a number.")
		}
	}
	leave, err := a.enter()
	if err != nil {
		return rest.EventStream{}, err
	}
	return rest.EventStream{Run: func(ctx context.Context, w *rest.EventWriter) error {
		defer leave()
		ctx, cancel := context.WithTimeout(ctx, streamTime)
		defer cancel()
		s := &eventStream{a: a, app: r.App, w: w, last: after}
		return a.follow(ctx, r.App, after, cmp.Or(a.o.Beat, streamBeat), func(events []engine.Event) (bool, error) {
			return true, s.send(ctx, events)
		})
	}}, nil
}

// eventStream is the stream of one caller.
type eventStream struct {
	a    *api
	app  string
	w    *rest.EventWriter
	last int64
}

// missed is the data of an event of the type missedEvents.
type missed struct {
	From int64 `json:"from"` // number of the first missing event
	To   int64 `json:"to"`
}

func (s *eventStream) send(ctx context.Context, events []engine.Event) error {
	if len(events) == 0 {
		return s.w.Beat()
	}
	if first := events[0].Seq; first > s.last+1 {
		if err := s.w.Send(strconv.FormatInt(first-1, 10), missedEvents, missed{s.last + 1, first - 1}); err != nil {
			return err
		}
	}
	shown, err := s.a.shownEvents(ctx, s.app, events)
	if err != nil {
		return err
	}
	for i := range shown {
		if err := s.w.Send(strconv.FormatInt(shown[i].Seq, 10), string(shown[i].Type), shown[i]); err != nil {
			return err
		}
		s.last = shown[i].Seq
	}
	return nil
}
