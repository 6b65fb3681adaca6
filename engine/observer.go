package engine

import (
	"context"
	"time"
)

// Result is the end of one sequence for one principal.
type Result struct {
	App       string
	Kind      Kind
	ID        string
	Want      Want // desired state at the start of the sequence; the desired state may have changed since
	Operation Operation
	Outcome   Class
	Status    Status        // status in the store. StatusDirty: the principal was marked during the sequence, and another result follows
	RemoteID  string        // id on the target, empty if unknown
	HTTP      int           // status of the response that determined the outcome, 0 for none
	Error     string        // empty on success, unless the principal waits for users
	Steps     []Step        // the requests, in order
	Duration  time.Duration // from the directory query until the result was stored
	// PasswordVersion is the UserState.PasswordVersion that the account of a user is known to have, empty if unknown.
	PasswordVersion string
	// Confirmed is the operation of an earlier accepted change (202), if a read of this sequence showed that the target has carried it out. It
	// is empty if no change was confirmed.
	Confirmed Operation
	// Lapsed reports that the target did not carry out an earlier accepted change in time. Error then describes that change, not a request of
	// this sequence.
	Lapsed bool
	// IgnoredAttributes are the attributes of a user that the target did not store as sent, by path.
	IgnoredAttributes map[string]IgnoredAttribute
}

// Step is one request of a sequence and its response.
type Step struct {
	Method string
	Path   string
	Status int // 0 if no response was received
	// Message is the reason why the request failed, quoted from the target if possible; empty on success.
	Message string
	// Alternative describes a request that does not have the preferred form of Target.Style: the form that was sent, and the reason. It is
	// empty for the preferred form.
	Alternative string
}

// Observer receives the results of sequences.
//
// Result is called after the result is stored, outside of any transaction, and in order for each principal. The principal is not processed
// during the call, so the call should be quick. A crash after the result is stored and before the call loses the call, but not the state:
// Engine.States returns the state after a restart.
type Observer interface {
	Result(ctx context.Context, r Result)
}

// ObserverFunc implements Observer by a function.
type ObserverFunc func(ctx context.Context, r Result)

// Result calls f.
func (f ObserverFunc) Result(ctx context.Context, r Result) { f(ctx, r) }

// Observers returns an Observer that calls all given observers in order. It passes overdue deactivations and takeovers to those that
// implement OverdueObserver and TakeoverObserver.
func Observers(all ...Observer) Observer { return observers(all) }

type observers []Observer

func (all observers) Result(ctx context.Context, r Result) {
	for _, o := range all {
		o.Result(ctx, r)
	}
}

func (all observers) Overdue(ctx context.Context, d Overdue) {
	for _, o := range all {
		if o, ok := o.(OverdueObserver); ok {
			o.Overdue(ctx, d)
		}
	}
}

func (all observers) Takeover(ctx context.Context, t Takeover) {
	for _, o := range all {
		if o, ok := o.(TakeoverObserver); ok {
			o.Takeover(ctx, t)
		}
	}
}

// TakeoverObserver is an Observer that also receives takeovers: the engine has taken over the lanes of a dead process. The call should be
// quick.
type TakeoverObserver interface {
	Takeover(ctx context.Context, t Takeover)
}

// OverdueObserver is an Observer that also receives overdue deactivations.
//
// Overdue is called once per overdue deactivation, by one of the engines that share a store, whatever the cause. Causes are, for example, a
// target that is unavailable or rejects the request, a lane that is on hold, paused or in maintenance, or a guard that waits for an
// approval. Before the call, the engine reads the desired state of the user from the directory, so that it also detects deactivations that
// it has not attempted yet. If many users wait, the call can be some minutes late. A crash right before the call loses the call.
type OverdueObserver interface {
	Overdue(ctx context.Context, o Overdue)
}
