package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/probe"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/store"
)

// Targets has operations on the connections to targets. See [Engine.Targets].
type Targets struct{ e *Engine }

// Targets returns the handle of the targets.
func (e *Engine) Targets() Targets { return Targets{e} }

// Test requests the first page of users from the target with the given credentials. It returns nil if the response is a 200 with a
// ListResponse within 5s. Otherwise it returns an error that may be shown to an administrator.
func (t Targets) Test(ctx context.Context, to engine.Target) error {
	return t.e.targets.Connect(to).Test(ctx)
}

// TestApp does the same as Test, for the current or future target of an app. It also records the exchange for [Traces.Attempts]. It records
// the body of the response only if the body is a SCIM message, because the address may belong to any server, and administrators of the app
// must not read the responses of that server.
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

// Probe determines the features of a target with a temporary user and group that it removes again. It returns an error if the target cannot
// be reached or rejects the credentials, or if ctx ends. The profile then has the features that were determined before the error. Probe
// stores nothing: [Targets.ProbeApp] stores the profile.
func (t Targets) Probe(ctx context.Context, to engine.Target, o engine.ProbeOptions) (engine.Profile, error) {
	c := t.e.targets.Connect(to)
	if c.Broken != nil {
		return engine.Profile{}, c.Broken
	}
	return probe.Run(ctx, c.Client, o)
}

// ProbeApp determines the features of the target of an app, as [Targets.Probe] does, and stores the profile. The following sequences send
// each request in the form that worked in the probe. ProbeApp calls the target immediately, regardless of any hold or suspension of the
// lane.
//
// An incomplete profile, which is returned with an error, is not stored. The error for an app without a target is ErrUnknownApp.
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
			delete(l.Traits, trait) // the result of the probe replaces the trait that sequences have detected before
		}
	})
	if err != nil {
		return p, err
	}
	e.Wake(app)
	return p, nil
}

// Profile returns the result of the last [Targets.ProbeApp]. The error is ErrNotFound if the app was never probed, or if the base URL of
// its target has changed since.
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
		return engine.Profile{}, fmt.Errorf("engine: the last probe of %s was a probe of an earlier target, %s: %w",
			app, c.BaseURL, engine.ErrNotFound)
	}
	return c.Profile, nil
}

// ResetLearned removes the learned properties of the target of an app, for example after the target was upgraded. Every request is then
// first sent in the form of the app's style. ResetLearned may be called while the lane is running.
func (t Targets) ResetLearned(ctx context.Context, app string) error {
	s, err := t.e.can.profiles.get()
	if err != nil {
		return err
	}
	return s.ResetLearned(ctx, app)
}
