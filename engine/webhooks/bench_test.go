package webhooks_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// withStore opens a Service that a store wakes, and a producer of events in this store.
func withStore(t testing.TB, db *sql.DB, d sqlstore.Dialect, poll time.Duration) (*webhooks.Service, *producer) {
	t.Helper()
	var s *webhooks.Service
	p := newProducer(t, db, sqlstore.Options{Dialect: d, Recorded: func(app string) {
		if s != nil {
			s.Wake(app)
		}
	}})
	source, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: d})
	require.NoError(t, err)
	o := webhooks.Options{Dialect: d, Source: source, Seal: newSeal(t), AllowHTTP: true, Poll: poll}
	s, err = webhooks.Open(t.Context(), db, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	return s, p
}

// A new event is delivered without the search for events: Recorded wakes the Service.
func TestDelivery_WokenByStore(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db := p.Open(t)
		s, producer := withStore(t, db, sqlstore.Dialect(p.Dialect.String()), 24*time.Hour)
		x := newReceiver(t, nil)
		_, _, err := s.Create(t.Context(), webhooks.Endpoint{App: "crm", URL: x.URL}, webhooks.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, s.Start(t.Context()))
		for n := range 3 {
			require.NoError(t, producer.add(t.Context(), "u-1", n))
			require.Eventually(t, func() bool { return len(x.requests()) == n+1 }, patience, time.Millisecond)
		}
	})
}

// BenchmarkDelivery measures the time from the commit of an event until its message arrives. One iteration is one event, 10 ms after the
// previous one, for four endpoints.
func BenchmarkDelivery(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchDelivery(b, sqldbtest.SQLitePlace(b)) })
	b.Run("postgres", func(b *testing.B) { benchDelivery(b, sqldbtest.PostgresPlace(b)) })
}

func benchDelivery(b *testing.B, p sqldbtest.Place) {
	b.Helper()
	const endpoints, pace = 4, 10 * time.Millisecond
	db := p.Open(b)
	s, producer := withStore(b, db, sqlstore.Dialect(p.Dialect.String()), 0)
	var mu sync.Mutex
	arrived := map[int64][]time.Time{} // by number of the event
	x := newReceiver(b, func(_ http.ResponseWriter, r request) int {
		mu.Lock()
		defer mu.Unlock()
		arrived[r.Data.Seq] = append(arrived[r.Data.Seq], time.Now())
		return http.StatusOK
	})
	for range endpoints {
		_, _, err := s.Create(b.Context(), webhooks.Endpoint{App: "crm", URL: x.URL}, webhooks.CreateOptions{})
		require.NoError(b, err)
	}
	require.NoError(b, s.Start(b.Context()))
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	var committed []time.Time
	for b.Loop() {
		n := len(committed)
		require.NoError(b, producer.add(b.Context(), fmt.Sprint("u-", n%users), n))
		committed = append(committed, time.Now())
		<-ticker.C
	}
	b.StopTimer()
	require.Eventually(b, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(arrived) == len(committed) && len(arrived[int64(len(committed))]) == endpoints
	}, patience, time.Millisecond)
	var took []time.Duration
	for i, at := range committed {
		for _, a := range arrived[int64(i+1)] {
			took = append(took, max(a.Sub(at), 0))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50_ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99_ms")
}
