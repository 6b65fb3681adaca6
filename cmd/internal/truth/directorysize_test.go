package truth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

// maxListed is the largest list that a check needs, in bytes: a page of 200 users has about 100 KB.
const maxListed = 128 << 10

// noPageLimit is larger than the number of users of the test, so that a page has as many users as the client requests.
const noPageLimit = 100_000

// TestSuite_LargeDirectory checks that many users of other clients cost no more requests and change no result, and that no response
// contains all of them although the server permits it.
func TestSuite_LargeDirectory(t *testing.T) {
	t.Parallel()
	users := 2_500 // more users than any check reads page by page
	if alltest.All() && !raceDetector {
		users = 20_000
	}
	small := suite(t, crowdedServer(t, 1))
	large := &listMeter{inner: crowdedServer(t, users)}
	r := suite(t, large)
	t.Logf("%d requests with 1 user, %d with %d users; the largest list has %d bytes: %s", small.Requests, r.Requests, users, large.largest,
		large.query)
	require.LessOrEqual(t, r.Requests, small.Requests+1)
	require.Less(t, large.largest, maxListed, large.query)
	skipped := 0
	for i, c := range r.Checks {
		if c.Outcome == conformance.Skip && small.Checks[i].Outcome == conformance.Pass {
			skipped++ // a check that would have to page through all users
			continue
		}
		assert.Equal(t, small.Checks[i].Outcome, c.Outcome, "%s", describe(c))
	}
	require.LessOrEqual(t, skipped, 3)
}

// crowdedServer returns a server with users of another client and without a page limit.
func crowdedServer(t *testing.T, users int) http.Handler {
	t.Helper()
	types, err := schema.Load(os.DirFS(filepath.Join("testdata", "referencetypes")))
	require.NoError(t, err)
	h, err := scimserver.New(scimserver.Options{
		Store: memstore.New(), Types: types, Tokens: scimserver.StaticTokens(referenceToken), Prefix: "/scim/v2", PasswordCost: 4,
		Limits: scimserver.Limits{MaxBulkOperations: 50, MaxBulkPayload: 64 << 10, MaxPage: noPageLimit, DefaultPage: noPageLimit},
	})
	require.NoError(t, err)
	for i := range users {
		body := fmt.Sprintf(`{"schemas":[%q],"userName":"member%d@example.org","displayName":"Member %d","active":true,`+
			`"name":{"givenName":"Member","familyName":"Number %d"},"emails":[{"value":"member%d@example.org","type":"work"}]}`,
			scim.UserSchema, i, i, i, i)
		r := httptest.NewRequest(http.MethodPost, "/scim/v2/Users", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+referenceToken)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
	}
	return h
}

// listMeter records the largest list that a server returns.
type listMeter struct {
	inner   http.Handler
	largest int
	query   string
}

// ServeHTTP implements http.Handler.
func (m *listMeter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counted := &countingWriter{ResponseWriter: w}
	m.inner.ServeHTTP(counted, r)
	single := strings.HasPrefix(r.URL.Path, "/scim/v2/Users/") && !strings.HasSuffix(r.URL.Path, "/.search")
	if (r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/.search")) && !single && counted.n > m.largest {
		m.largest, m.query = counted.n, r.Method+" "+r.URL.RequestURI()
	}
}

type countingWriter struct {
	http.ResponseWriter
	n int
}

// Write implements http.ResponseWriter.
func (w *countingWriter) Write(p []byte) (int, error) {
	w.n += len(p)
	return w.ResponseWriter.Write(p)
}
