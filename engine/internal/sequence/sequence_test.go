package sequence_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// room has the dependencies of a sequence, and a log of the calls.
type room struct {
	log    []string
	row    engine.State
	halts  []engine.Halt
	lost   error // of Finish
	finish store.Finish
	again  *engine.Mark
}

func (r *room) note(what string) { r.log = append(r.log, what) }

func (r *room) States(context.Context, engine.StateQuery) ([]engine.State, error) {
	r.note("States")
	return []engine.State{r.row}, nil
}

func (r *room) Current(context.Context, time.Time) ([]engine.Halt, error) {
	r.note("Halts")
	return r.halts, nil
}

func (r *room) Ahead() {}

func (r *room) AheadOfOthers() {}

func (r *room) Queue() (leave func()) { return func() {} }

func (r *room) Begin(_ context.Context, _ engine.Lease, intents []store.Intent) error {
	i := intents[0]
	if i.Creating {
		r.note("Begin a create")
	} else {
		r.note("Begin")
	}
	r.row.Want, r.row.RemoteName, r.row.MayExist = i.Want, i.Name, r.row.MayExist || i.Want == engine.Active
	return nil
}

func (r *room) Remove(context.Context, engine.Lease, engine.Kind, string, time.Time, engine.Guard) (int, error) {
	r.note("Remove")
	return 0, nil
}

func (r *room) Members(context.Context, string, store.MemberQuery) ([]store.Member, error) {
	return nil, errors.New("no group is pushed here")
}

func (r *room) SaveMembers(context.Context, engine.Lease, string, int64, []store.MemberAnswer) error {
	return errors.New("no group is pushed here")
}

func (r *room) EndWalk(context.Context, engine.Lease, string, int64, []store.MemberAnswer) error {
	return errors.New("no group is pushed here")
}

func (r *room) Progress(context.Context, engine.Lease, store.Progress) error {
	return errors.New("no group is pushed here")
}

func (r *room) Finish(_ context.Context, _ engine.Lease, f store.Finish) (engine.Status, error) {
	r.note("Finish")
	r.finish = f
	return f.Status, r.lost
}

func (r *room) Recheck(_ context.Context, _ time.Time, m engine.Mark) error {
	r.note("Recheck")
	r.again = &m
	return nil
}

func (r *room) Learned() engine.Learned { return engine.Learned{} }

func (r *room) Note(context.Context, func(*engine.Learned)) error { return nil }

// line logs the requests.
type line struct {
	*target.Line
	room *room
}

func (l line) Turn(ctx context.Context) (func(), error) {
	l.room.note("Turn")
	return l.Line.Turn(ctx)
}

func (l line) Do(ctx context.Context, q plan.Request) plan.Response {
	l.room.note(q.Method)
	return l.Line.Do(ctx, q)
}

// depsOf returns the dependencies of a sequence of the app "app", whose lease does not end. at has the address of the target, and the
// settings that only one test needs.
func depsOf(r interface {
	sequence.Ledger
	sequence.Halts
	sequence.Knowledge
}, d engine.Directory, at engine.Target, wrap func(*target.Line) sequence.Line) sequence.Deps {
	at.Auth, at.CreateUsers = engine.Auth{Secret: "t"}, true
	connector := target.NewConnector(target.Options{Network: &connect.Network{}, MaxCall: time.Minute, Concurrency: 2, Now: time.Now})
	connection := connector.Connect(at)
	return sequence.Deps{
		Settings: sequence.Settings{
			Now: time.Now, Logger: slog.New(slog.DiscardHandler), Backoff: lane.Backoff{Initial: time.Second, Max: time.Minute},
			CheckInitial: time.Second, CheckMax: time.Minute, KeepRounds: plan.DefaultRounds,
		},
		Ledger: r, Halts: r, Directory: d, Knowledge: r, Connection: connection, Lease: engine.Lease{App: "app"},
		Valid: func() bool { return true }, Draining: func() bool { return false },
		Sent: func() {},
		Line: func(record func(wirelog.Exchange), secrets ...string) sequence.Line {
			return wrap(connection.Line("", connector.RateLimiter("app"), record, secrets...))
		},
	}
}

// TestRun_Order checks what a sequence stores before it sends, what it checks before it writes, and what it requeues for the next owner.
func TestRun_Order(t *testing.T) {
	ann := func(externalID string) engine.UserState {
		r := &scim.Resource{}
		r.Set("userName", "ann")
		if externalID != "" {
			r.Set("externalId", externalID)
		}
		return engine.UserState{Want: engine.Active, UserName: "ann", Resource: r}
	}
	for name, c := range map[string]struct {
		state engine.UserState
		halts []engine.Halt
		late  bool  // the lease ends while the last request is sent
		lost  error // of Finish
		log   []string
		end   engine.Status
	}{
		"a create without an identifier is stored before it is sent": {
			state: ann(""), end: engine.StatusClean,
			log: []string{"Begin", "States", "Turn", "GET", "Halts", "Begin a create", "Turn", "Halts", "POST", "sent", "Finish"},
		},
		"a create with an identifier is not stored before": {
			state: ann("u-1"), end: engine.StatusClean,
			log: []string{"Begin", "States", "Turn", "GET", "Turn", "Halts", "POST", "sent", "Finish"},
		},
		"halts are checked after the turn, and a halt prevents the request": {
			state: ann("u-1"), halts: []engine.Halt{{Operation: engine.OpCreate, Reason: "an incident"}}, end: engine.StatusHeld,
			log: []string{"Begin", "States", "Turn", "GET", "Turn", "Halts", "Finish"},
		},
		"a change that is sent as the lease ends is requeued": {
			state: ann("u-1"), late: true, lost: engine.ErrLeaseLost,
			log: []string{"Begin", "States", "Turn", "GET", "Turn", "Halts", "POST", "sent", "Finish", "Recheck"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(enginetest.NewTarget())
			defer server.Close()
			d := &enginetest.Directory{}
			d.SetUser("app", "u-1", c.state)
			r := &room{row: engine.State{App: "app", Kind: engine.User, ID: "u-1", Desired: 3}, halts: c.halts, lost: c.lost}
			deps := depsOf(r, d, engine.Target{BaseURL: server.URL}, func(l *target.Line) sequence.Line { return line{l, r} })
			deps.Valid = func() bool { return !c.late || r.log[len(r.log)-1] != "POST" }
			deps.Sent = func() { r.log = append(r.log, "sent") }
			end, err := deps.Run(t.Context(), r.row, false)
			require.ErrorIs(t, err, c.lost)
			require.Equal(t, c.log, r.log)
			require.Equal(t, c.end, end.Status)
			require.EqualValues(t, 3, r.finish.Gen, "the generation that was read before")
			require.Equal(t, c.late, r.again != nil)
		})
	}
}
