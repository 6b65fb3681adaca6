package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/probe"
)

// ProbeApp finds out what the target of an app really does, as [Engine.Probe] does, and stores it: the sequences that follow send
// each request in the form that was seen to work. It asks the target at once, whatever rests the lane of the app keeps.
//
// An incomplete profile, which comes with an error, is not stored. The error of an app that has no target is ErrUnknownApp.
func (e *Engine) ProbeApp(ctx context.Context, app string, o engine.ProbeOptions) (engine.Profile, error) {
	t, err := e.o.Directory.Target(ctx, app)
	if err != nil {
		return engine.Profile{}, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	if o.Now == nil {
		o.Now = e.o.Now
	}
	p, err := e.Probe(ctx, t, o)
	if err != nil {
		return p, fmt.Errorf("engine: probe of %s: %w", app, err)
	}
	err = e.o.Store.SaveProfile(ctx, app, e.o.Now(), engine.Capabilities{BaseURL: t.BaseURL, Profile: p}, func(l *engine.Learned) {
		if l.BaseURL != t.BaseURL {
			*l = engine.Learned{BaseURL: t.BaseURL}
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

// Profile returns what the last [Engine.ProbeApp] found. The error is ErrNotFound when there was none, or when the app's target has
// another base URL by now.
func (e *Engine) Profile(ctx context.Context, app string) (engine.Profile, error) {
	c, err := e.o.Store.Profile(ctx, app)
	if err != nil {
		return engine.Profile{}, err
	}
	t, err := e.o.Directory.Target(ctx, app)
	switch {
	case err != nil:
		return engine.Profile{}, fmt.Errorf("engine: target of %s: %w", app, err)
	case t.BaseURL != c.BaseURL:
		return engine.Profile{}, fmt.Errorf("engine: the profile of %s is about %s: %w", app, c.BaseURL, engine.ErrNotFound)
	}
	return c.Profile, nil
}
