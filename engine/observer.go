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
	Want      Want // what was worked towards; the directory may say something else by now
	Operation Operation
	Outcome   Class
	Status    Status        // as stored: StatusDirty when a mark came meanwhile, so that another result follows
	RemoteID  string        // id at the target, empty when not known
	HTTP      int           // status that decided, 0 for none
	Error     string        // empty unless something is wrong, or users are waited for
	Steps     []Step        // what was sent, in order
	Duration  time.Duration // from the question to the directory until the result was stored
	// PasswordVersion is the UserState.PasswordVersion that the account of a user is known to have, empty for none.
	PasswordVersion string
	// Confirmed is the operation of a change that the target had accepted before, and was seen to have carried out; empty for none.
	Confirmed Operation
	// Lapsed says that such a change was not carried out in time: Error is not about what was sent now.
	Lapsed bool
	// IgnoredAttributes are the attributes of a user that the target did not keep as they were sent, by path.
	IgnoredAttributes map[string]IgnoredAttribute
}

// Step is one request of a sequence and its response.
type Step struct {
	Method string
	Path   string
	Status int // 0 if there was no response
	// Message is why the request has failed, in the words of the target if it gave any; empty for a success.
	Message string
	// Alternative names the form of the request and the reason for it, if it is not the one that Target.Style names first.
	Alternative string
}

// Observer learns of results.
//
// Result is called after the result is stored, outside of any transaction, and in order for each principal; the principal
// is not worked on meanwhile, so it should be quick. A crash between storing and calling loses the call, never the state:
// Engine.States tells after a restart.
type Observer interface {
	Result(ctx context.Context, r Result)
}

// ObserverFunc is a function as an Observer.
type ObserverFunc func(ctx context.Context, r Result)

// Result calls f.
func (f ObserverFunc) Result(ctx context.Context, r Result) { f(ctx, r) }

// Observers returns an Observer that tells all of them, in their order; of overdue deactivations those that are an OverdueObserver.
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

// OverdueObserver is an Observer that also learns of overdue deactivations.
//
// Overdue is called once for each, by one of the engines that share a store, whatever the reason for the delay: a target that is
// down or refuses, a lane that is held, paused or in maintenance, a guard that waits for an approval. The directory was asked
// first, so that a deactivation that nobody has worked towards yet is noticed; in a large backlog that can take
// some minutes more. A crash right before the call loses the call.
type OverdueObserver interface {
	Overdue(ctx context.Context, o Overdue)
}
