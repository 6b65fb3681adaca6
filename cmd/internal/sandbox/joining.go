package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
)

const (
	// homeInterval is the interval between two checks for ended replicas: of their unreported results, and of the address of the seeded apps'
	// connections.
	homeInterval = 5 * time.Second
	// reportGrace is the time after which a result that a live engine has stored is also reported.
	reportGrace = 5 * time.Second
)

// joinReplicas makes this sandbox one of the replicas on its database. On SQLite it does nothing.
func (s *Sandbox) joinReplicas(ctx context.Context, p *parts, clk *clock, servers *providers) error {
	if p.replicas == nil {
		return nil
	}
	if err := clk.create(ctx); err != nil {
		return err
	}
	if err := servers.create(ctx); err != nil {
		return err
	}
	if err := p.replicas.join(ctx, servers.alone); err != nil {
		return err
	}
	s.OnClose(p.replicas.start(ctx))
	p.following = &following{store: p.store, clock: clk, servers: servers}
	return nil
}

// followReplicas starts the work that keeps this replica up with the others. On SQLite it does nothing.
func (s *Sandbox) followReplicas(ctx context.Context, p *parts) {
	if p.replicas == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	failed := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			s.options.Logger.ErrorContext(ctx, what, "err", err)
		}
	}
	var running sync.WaitGroup
	running.Go(func() {
		each(ctx, replicaBeat, func() { failed("following the other replicas failed", p.following.follow(ctx)) })
	})
	running.Go(func() {
		each(ctx, homeInterval, func() {
			if dead := p.replicas.dead.Swap(0); dead > 0 {
				s.options.Logger.InfoContext(ctx, "replicas ended without a shutdown", "replicas", dead)
				failed("reporting the results of an ended replica failed", catchUpLate(ctx, p))
			}
			failed("connecting the seeded applications failed", s.home(ctx, p))
		})
	})
	s.OnClose(func(context.Context) error { stop(); running.Wait(); return nil })
}

// served reports whether this sandbox, or a replica of it, serves the address in the connections of the seeded apps.
func (s *Sandbox) served(ctx context.Context, p *parts) (bool, error) {
	if s.settings.BaseURL == s.ready.BaseURL || p.replicas == nil {
		return s.settings.BaseURL == s.ready.BaseURL, nil
	}
	addresses, err := p.replicas.list(ctx, "address")
	return slices.Contains(addresses, s.settings.BaseURL), err
}

// home connects the seeded apps to this sandbox if the replica that they were connected to has ended.
func (s *Sandbox) home(ctx context.Context, p *parts) error {
	if !s.changing.TryLock() {
		return nil // a seed or a reset is running
	}
	kept, err := storedSettings(ctx, p.store, p.stored)
	if err == nil {
		s.settings = kept
	}
	served := true
	if err == nil && kept.Seeded {
		served, err = s.served(ctx, p)
	}
	s.changing.Unlock()
	if err != nil || served {
		return err
	}
	return s.seed(ctx, p)
}

// catchUpLate reports the results that the engine of an ended replica has stored but not reported. The engines of live replicas report
// their results soon after they store them, so that only results that are unreported for reportGrace are reported here.
func catchUpLate(ctx context.Context, p *parts) error {
	var before []engine.State
	err := statePages(ctx, p.engine, "", func(states []engine.State) error {
		unreported, err := unreportedStates(ctx, p.bridge.wanted, states)
		before = append(before, unreported...)
		return err
	})
	if err != nil || len(before) == 0 {
		return err
	}
	wait := time.NewTimer(reportGrace)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
	}
	for _, was := range before {
		now, err := p.engine.State(ctx, was.App, was.Kind, was.ID)
		if err != nil || now.Desired != was.Desired || !now.UpdatedAt.Equal(was.UpdatedAt) {
			continue // the app was deleted, or an engine works on the principal again and reports the result
		}
		late, err := unreportedStates(ctx, p.bridge.wanted, []engine.State{now})
		if err != nil {
			return err
		}
		reportStates(ctx, p.bridge, late)
	}
	return nil
}
