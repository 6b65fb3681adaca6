package daemon_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

// keyed adds the header Idempotency-Key to requests.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Idempotency-Key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// TestWebhooks_CreateRepeated repeats the creation of an endpoint, also concurrently, as a client does whose response was lost.
func TestWebhooks_CreateRepeated(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		d, _ := start(t, daemon.Options{DB: databaseURL})
		c := callerOf(t, d)
		c.http = &http.Client{Transport: keyed("setup-1")}
		type created struct{ ID, Secret string }
		const body = `{"url":"https://idp.example.com/","types":["user.created"]}`
		results := make([]created, 5)
		var sending sync.WaitGroup
		for i := range results {
			sending.Go(func() {
				r, err := c.send(http.MethodPost, "/webhooks", "application/json", strings.NewReader(body))
				if assert.NoError(t, err) && assert.Equal(t, http.StatusCreated, r.status, r.body) {
					results[i] = created{ID: member(t, r.body, "id"), Secret: member(t, r.body, "secret")}
				}
			})
		}
		sending.Wait()
		for _, r := range results {
			require.Equal(t, results[0], r)
		}
		var all []created
		c.do(http.StatusOK, http.MethodGet, "/webhooks", "", &all)
		require.Len(t, all, 1)
		r := c.do(http.StatusConflict, http.MethodPost, "/webhooks", `{"url":"https://idp.example.com/other"}`)
		require.NotContains(t, r.body, results[0].Secret)
		other := c.as("acme", "write", "secrets")
		var made created
		other.do(http.StatusCreated, http.MethodPost, "/webhooks", body, &made)
		require.NotEqual(t, results[0], made, "another tenant")
		c.do(http.StatusOK, http.MethodPost, "/webhooks/"+results[0].ID+"/rotate", "")
		c.do(http.StatusConflict, http.MethodPost, "/webhooks", body)
		c.http = &http.Client{Transport: keyed(strings.Repeat("k", 201))}
		c.do(http.StatusBadRequest, http.MethodPost, "/webhooks", body)
		c.http = nil
		c.do(http.StatusCreated, http.MethodPost, "/webhooks", body)
		c.do(http.StatusOK, http.MethodGet, "/webhooks", "", &all)
		require.Len(t, all, 2)
	})
}

func member(t *testing.T, body, name string) string {
	t.Helper()
	_, after, ok := strings.Cut(body, `"`+name+`":"`)
	require.True(t, ok, body)
	value, _, _ := strings.Cut(after, `"`)
	return value
}
