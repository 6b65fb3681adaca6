package sandbox

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/mgmtapi"
)

// settled reports whether the engine sends no more writes for a principal with this status, unless the principal changes. A principal whose
// change the target has accepted, but not carried out yet, is settled too: the engine does not send this change again.
func settled(s engine.Status) bool { return s.Outcome() != "" && s.Outcome() != engine.Transient }

// catchUp reports the results that the engine stored but had not reported when the process was killed. The engine stores each result before
// it reports it. catchUp runs before the engine starts.
func catchUp(ctx context.Context, eng *provision.Engine, b *bridge) error {
	err := statePages(ctx, eng, "", func(states []engine.State) error {
		unreported, err := unreportedStates(ctx, b.wanted, states)
		if err != nil {
			return err
		}
		reportStates(ctx, b, unreported)
		return nil
	})
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	return nil
}

// reportStates reports the results of states.
func reportStates(ctx context.Context, b *bridge, states []engine.State) {
	for _, s := range states {
		b.Result(ctx, engine.Result{App: s.App, Kind: s.Kind, ID: s.ID, Want: s.Want, Outcome: s.Status.Outcome(), Status: s.Status,
			RemoteID: s.RemoteID, Error: s.LastError, PasswordVersion: s.PasswordVersion})
	}
}

// unreportedStates returns the states that are settled (see settled) and whose results the management API does not have yet.
func unreportedStates(ctx context.Context, wanted *mgmtapi.Wanted, states []engine.State) ([]engine.State, error) {
	about := make([]mgmtapi.Principal, len(states))
	for i, s := range states {
		about[i] = principalOf(s.App, s.Kind, s.ID)
	}
	accounts, err := wanted.Accounts(ctx, about)
	if err != nil {
		return nil, err
	}
	var unreported []engine.State
	for i, s := range states {
		a, ok := accounts[about[i]]
		if ok && settled(s.Status) && !isReported(a, s) { // the engine still processes unsettled principals and reports their results
			unreported = append(unreported, s)
		}
	}
	return unreported, nil
}

// isReported reports whether an account in the management API already has the result that the engine stored.
func isReported(a mgmtapi.Account, s engine.State) bool {
	failed := s.LastError != "" && s.Status != engine.StatusSkipped
	return !a.Waiting && a.Failed == failed && (s.RemoteID == "" || a.RemoteID == s.RemoteID)
}
