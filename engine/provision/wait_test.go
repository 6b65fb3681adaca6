package provision_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// slowCount is a store that runs a function after it has counted the pending principals and before it returns the number.
type slowCount struct {
	*sqlstore.Store
	between func()
	once    sync.Once
}

func (s *slowCount) Pending(ctx context.Context, app string) (int, error) {
	n, err := s.Store.Pending(ctx, app)
	s.once.Do(s.between)
	return n, err
}

// TestWait_IncludesConcurrentChanges checks that Wait waits for a change that becomes pending while it counts.
func TestWait_IncludesConcurrentChanges(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.stop(w.engine)
	store := &slowCount{Store: w.store}
	w.engine = w.start(provision.Options{Store: store, RetryInitial: 100 * time.Millisecond, RetryMax: 100 * time.Millisecond})
	store.between = func() {
		w.fake.Inject(enginetest.Fault{Status: 503})
		changed := user("u-1", "ann")
		changed.Resource.Set("title", "director")
		w.set("u-1", changed)
		w.poll("the failure", func() bool { return w.state(engine.User, "u-1").Status == engine.StatusRetrying })
	}
	w.wait()
	require.Equal(t, "director", w.fake.Users()[0].Text("title"))
}
