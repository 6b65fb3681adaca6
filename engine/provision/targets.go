package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/probe"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/store"
)

// Targets are the connections to targets, and what is known about each. See [Engine.Targets].
type Targets struct{ e *Engine }

// Targets returns the handle of the targets.
func (e *Engine) Targets() Targets { return Targets{e} }

// Test asks the target for its first page of users with the given credentials. It returns nil when the answer is 200 with a
// ListResponse within 5 s, and otherwise an error that may be shown to an administrator.
func (t Targets) Test(ctx context.Context, to engine.Target) error {
	return t.e.targets.Connect(to).Test(ctx)
}

// TestApp is Test for the target that an app has or is to have, and records the exchange among the attempts of the app. Only a SCIM
// message is recorded as it is: the address may be that of anything, whose answer is not for administrators of the app to read.
func (t Targets) TestApp(ctx context.Context, app string, to engine.Target) error {
	attempts, err := t.e.can.attempts.get()
	if err != nil {
		return err
	}
	sent, failure := t.e.targets.Connect(to).TestRecorded(ctx)
	if len(sent) == 0 {
		return failure
	}
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
	defer cancel()
	if err := attempts.Record(record, app, sent); err != nil {
		t.e.o.Logger.ErrorContext(ctx, "the test of a connection is not recorded", "app", app, "error", err)
	}
	return failure
}

// Probe finds out what a target really does, on a user and a group of its own that it removes again. It returns an error if the
// target cannot be reached or rejects the credentials, or if ctx ends; the profile then has what was found before. Nothing is stored;
// [Targets.ProbeApp] stores it.
func (t Targets) Probe(ctx context.Context, to engine.Target, o engine.ProbeOptions) (engine.Profile, error) {
	c := t.e.targets.Connect(to)
	if c.Broken != nil {
		return engine.Profile{}, c.Broken
	}
	return probe.Run(ctx, c.Client, o)
}

// ProbeApp finds out what the target of an app really does, as [Targets.Probe] does, and stores it: the sequences that follow send
// each request in the form that was seen to work. It asks the target at once, whatever rests the lane of the app keeps.
//
// An incomplete profile, which comes with an error, is not stored. The error of an app that has no target is ErrUnknownApp.
func (t Targets) ProbeApp(ctx context.Context, app string, o engine.ProbeOptions) (engine.Profile, error) {
	e := t.e
	profiles, err := e.can.profiles.get()
	if err != nil {
		return engine.Profile{}, err
	}
	to, err := e.o.Directory.Target(ctx, app)
	if err != nil {
		return engine.Profile{}, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	if o.Now == nil {
		o.Now = e.o.Now
	}
	p, err := t.Probe(ctx, to, o)
	if err != nil {
		return p, fmt.Errorf("engine: probe of %s: %w", app, err)
	}
	err = profiles.SaveProfile(ctx, app, e.o.Now(), store.TargetProfile{BaseURL: to.BaseURL, Profile: p}, func(l *engine.Learned) {
		if l.BaseURL != to.BaseURL {
			*l = engine.Learned{BaseURL: to.BaseURL}
		}
		l.Probed, l.ProbedAt = probe.TraitsOf(p), p.At
		for trait := range l.Probed {
			delete(l.Traits, trait) // the probe is younger
		}
	})
	if err != nil {
		return p, err
	}
	e.Wake(app)
	return p, nil
}

// Profile returns what the last [Targets.ProbeApp] found. The error is ErrNotFound when there was none, or when the app's target has
// another base URL by now.
func (t Targets) Profile(ctx context.Context, app string) (engine.Profile, error) {
	s, err := t.e.can.profiles.get()
	if err != nil {
		return engine.Profile{}, err
	}
	c, err := s.Profile(ctx, app)
	if err != nil {
		return engine.Profile{}, err
	}
	to, err := t.e.o.Directory.Target(ctx, app)
	switch {
	case err != nil:
		return engine.Profile{}, fmt.Errorf("engine: target of %s: %w", app, err)
	case to.BaseURL != c.BaseURL:
		return engine.Profile{}, fmt.Errorf("engine: the profile of %s is about %s: %w", app, c.BaseURL, engine.ErrNotFound)
	}
	return c.Profile, nil
}

// ResetLearned forgets what was found out about the target of an app, e.g. after it was upgraded: every request is first sent in the
// form that the app's style says. It may be called while the lane works.
func (t Targets) ResetLearned(ctx context.Context, app string) error {
	s, err := t.e.can.profiles.get()
	if err != nil {
		return err
	}
	return s.ResetLearned(ctx, app)
}
