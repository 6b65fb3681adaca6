package provision

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/plan"
)

// configFor is how long the ServiceProviderConfig of a target is believed.
const configFor = 24 * time.Hour

// batch is how many members one request may carry.
func batch(l engine.Learned, wanted int) int {
	if wanted <= 0 {
		wanted = plan.DefaultBatch
	}
	if l.MemberBatch > 0 {
		return min(l.MemberBatch, wanted)
	}
	return wanted
}

// learn stores what a sequence found out about the target, unless nothing is to be learned about it.
func (w *work) learn(ctx context.Context, t engine.Target, o plan.Outcome) error {
	if t.Fallback == engine.FallbackNone {
		return nil
	}
	known, now := w.learned(), w.e.o.Now()
	grown := 0
	if o.Batch == 0 && o.Class == engine.Done && o.Operation == engine.OpMembers && known.MemberBatch > 0 {
		grown = known.MemberBatch + max(known.MemberBatch/4, 1)
	}
	if len(o.Learned) == 0 && o.Batch == 0 && grown == 0 {
		return nil
	}
	return w.note(ctx, func(l *engine.Learned) {
		for trait, holds := range o.Learned {
			delete(l.Probed, trait)
			if !holds {
				delete(l.Traits, trait)
				continue
			}
			if l.Traits == nil {
				l.Traits = map[engine.Trait]time.Time{}
			}
			l.Traits[trait] = now
		}
		switch limit := batch(engine.Learned{}, t.MemberBatch); {
		case o.Batch > 0:
			l.MemberBatch = o.Batch
		case grown >= limit:
			l.MemberBatch = 0
		case grown > 0:
			l.MemberBatch = grown
		}
	})
}

// note changes what is known about the target.
func (w *work) note(ctx context.Context, change func(*engine.Learned)) error {
	l, err := w.e.o.Store.Learn(ctx, w.tenure.Lease, change)
	if err != nil {
		return fmt.Errorf("engine: learn about %s: %w", w.app(), err)
	}
	w.knowledge.Store(&l)
	return nil
}

// learned is what is known now.
func (w *work) learned() engine.Learned {
	l := *w.knowledge.Load()
	l.Traits, l.Probed = maps.Clone(l.Traits), maps.Clone(l.Probed)
	return l
}

// recall reads what is known about the target, and its configuration when it is to be followed and not known.
func (w *work) recall(ctx context.Context, c *connection) error {
	row, err := w.e.o.Store.Lane(ctx, w.app())
	if err != nil {
		return err
	}
	w.knowledge.Store(&row.Learned)
	if row.Learned.BaseURL != c.target.BaseURL {
		if err := w.note(ctx, func(l *engine.Learned) { *l = engine.Learned{BaseURL: c.target.BaseURL} }); err != nil {
			return err
		}
	}
	known := w.learned()
	if c.client == nil || configured(known, c.target.Style, w.e.o.Now()) {
		return nil
	}
	config := readConfig(ctx, c.client, w.e.o.Now())
	if config == nil {
		return nil // it cannot say now; the sequences will tell why
	}
	return w.note(ctx, func(l *engine.Learned) { l.Config = config })
}

// configured says whether the configuration of a target is known as far as it is to be followed.
func configured(l engine.Learned, s engine.Style, now time.Time) bool {
	return s != engine.Auto || l.Config != nil && now.Sub(l.Config.ReadAt) < configFor
}

// readConfig asks a target for its configuration. It returns nil when that cannot be told now.
func readConfig(ctx context.Context, client *connect.Client, now time.Time) *engine.Config {
	answer := client.Do(ctx, plan.Request{Method: http.MethodGet, Path: "/ServiceProviderConfig"})
	if answer.Err != nil || answer.Status != http.StatusOK && answer.Status != http.StatusNotFound {
		return nil
	}
	config := &engine.Config{ReadAt: now}
	if answer.Body != nil {
		config.NoPatch = refuses(answer, "patch")
		config.NoFilter = refuses(answer, "filter")
	}
	return config
}

// refuses says whether a ServiceProviderConfig declares a feature as not supported.
func refuses(r plan.Response, feature string) bool {
	supported, told := r.Body.Complex(feature).Bool("supported")
	return told && !supported
}
