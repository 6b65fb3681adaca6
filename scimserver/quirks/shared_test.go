package quirks_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scimserver/quirks"
)

// sharedMemory is a quirks.Shared for replicas in one process.
type sharedMemory struct {
	mu    sync.Mutex
	draws map[string]int64
	fail  error
}

func (m *sharedMemory) Draw(_ context.Context, key string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draws == nil {
		m.draws = map[string]int64{}
	}
	m.draws[key]++
	return m.draws[key] - 1, m.fail
}

func (m *sharedMemory) Add(context.Context, string, string, time.Duration) error { return m.fail }

func (m *sharedMemory) Recent(context.Context, string) (map[string]bool, error) { return nil, m.fail }

// TestShared_ReplicasLikeOne checks that chaos affects the same requests to two replicas in turn as requests to one server.
func TestShared_ReplicasLikeOne(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for _, text := range []string{"error=502,p=0.3", "error=502,p=1,times=5", "error=502,p=0.5,times=40,seed=9,method=POST"} {
		setting, err := quirks.Parse(text)
		require.NoError(t, err)
		single, err := quirks.New(ok, setting)
		require.NoError(t, err)
		shared := &sharedMemory{}
		var replicas [2]*quirks.Switch
		for i := range replicas {
			replicas[i], err = quirks.New(ok)
			require.NoError(t, err)
			require.NoError(t, replicas[i].SetShared(shared, setting))
		}
		status := func(h http.Handler, method string) int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, "/Users", nil))
			return w.Code
		}
		affected := 0
		for i := range 3000 {
			method := []string{http.MethodPost, http.MethodPost, http.MethodGet}[i%3]
			want := status(single, method)
			require.Equal(t, want, status(replicas[i/7%2], method), "%s: request %d", text, i)
			if want != http.StatusOK {
				affected++
			}
		}
		require.Positive(t, affected)
	}
}

func TestShared_FailureReported(t *testing.T) {
	t.Parallel()
	setting, err := quirks.Parse("error=502,p=1")
	require.NoError(t, err)
	s, err := quirks.New(http.NotFoundHandler())
	require.NoError(t, err)
	require.NoError(t, s.SetShared(&sharedMemory{fail: errors.New("no database")}, setting))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/Users", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, w.Body.String(), "no database")
}
