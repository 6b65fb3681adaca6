package target

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/plan"
)

// configTTL is the time during which a ServiceProviderConfig is used without reading it again.
const configTTL = 24 * time.Hour

// Learner is the part of a store that Knowledge uses.
type Learner interface {
	Learn(ctx context.Context, l engine.Lease, change func(*engine.Learned)) (engine.Learned, error)
}

// Knowledge has the learned properties of the target of an app, as stored with the lane. Each owner of a lease has its own Knowledge.
type Knowledge struct {
	store Learner
	lease engine.Lease
	now   func() time.Time
	value atomic.Pointer[engine.Learned]
}

// NewKnowledge returns the Knowledge of a lease owner. It has no properties until Recall.
func NewKnowledge(store Learner, lease engine.Lease, now func() time.Time) *Knowledge {
	k := &Knowledge{store: store, lease: lease, now: now}
	k.value.Store(&engine.Learned{})
	return k
}

// Learned returns the current knowledge.
func (k *Knowledge) Learned() engine.Learned {
	l := *k.value.Load()
	l.Traits, l.Probed = maps.Clone(l.Traits), maps.Clone(l.Probed)
	return l
}

// Note changes the knowledge and stores it.
func (k *Knowledge) Note(ctx context.Context, change func(*engine.Learned)) error {
	l, err := k.store.Learn(ctx, k.lease, change)
	if err != nil {
		return fmt.Errorf("engine: store the learned properties of the target of %s: %w", k.lease.App, err)
	}
	k.value.Store(&l)
	return nil
}

// Recall takes the stored knowledge over, and discards it if it belongs to another base URL. Recall also reads the ServiceProviderConfig of
// the target, if the style requires it and the stored one is missing or too old.
func (k *Knowledge) Recall(ctx context.Context, c *Connection, stored engine.Learned) error {
	k.value.Store(&stored)
	if stored.BaseURL != c.Target.BaseURL {
		if err := k.Note(ctx, func(l *engine.Learned) { *l = engine.Learned{BaseURL: c.Target.BaseURL} }); err != nil {
			return err
		}
	}
	config := c.Config(ctx, k.Learned(), k.now())
	if config == nil {
		return nil
	}
	return k.Note(ctx, func(l *engine.Learned) { l.Config = config })
}

// Config reads the ServiceProviderConfig of the target if the style requires it and the known one is missing or too old. It returns nil if
// no read is required, or if the ServiceProviderConfig is unavailable: the sequences then report the cause.
func (c *Connection) Config(ctx context.Context, known engine.Learned, now time.Time) *engine.Config {
	if c.Client == nil || c.Target.Style != engine.Auto || known.Config != nil && now.Sub(known.Config.ReadAt) < configTTL {
		return nil
	}
	return readConfig(ctx, c.Client, now)
}

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

// refuses reports whether a ServiceProviderConfig declares a feature as unsupported.
func refuses(r plan.Response, feature string) bool {
	supported, told := r.Body.Complex(feature).Bool("supported")
	return told && !supported
}
