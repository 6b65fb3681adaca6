package scimserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// BenchmarkAgainstBare compares requests over loopback with handlers of net/http that do the least that could be called the
// same. The metric "throughput" is that of the server in parts of that of the bare handler.
func BenchmarkAgainstBare(b *testing.B) {
	db := sqldbtest.SQLite(b, sqldbtest.Durable)
	store := storeOn(b, db)
	h, err := scimserver.New(scimserver.Options{Store: store, Tokens: scimserver.StaticTokens(token)})
	require.NoError(b, err)
	for i := range benchUsers {
		_, err := store.Create(b.Context(), grownUser(i), nil)
		require.NoError(b, err)
	}
	require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(b.Context(), "CREATE TABLE bare (seq INTEGER PRIMARY KEY, doc TEXT NOT NULL)")
		return err
	}))
	constant := func(target string) http.Handler {
		body := send(h, http.MethodGet, target, "").Body.Bytes()
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", scim.MediaType)
			_, _ = w.Write(body)
		})
	}
	insert := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var v map[string]any
		if err == nil {
			err = json.Unmarshal(text, &v)
		}
		if err == nil {
			err = db.Update(r.Context(), func(tx *sqldb.Tx) error {
				_, err := tx.Exec(r.Context(), "INSERT INTO bare (doc) VALUES (?)", text)
				return err
			})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", scim.MediaType)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(text)
	})
	byName := "/Users?filter=" + url.QueryEscape(`userName eq "USER0000007"`)
	for _, m := range []struct {
		name, method, target string
		bare                 http.Handler
		want                 int
	}{
		{"get", http.MethodGet, "/Users/id-user0000007", constant("/Users/id-user0000007"), http.StatusOK},
		{"userName-eq", http.MethodGet, byName, constant(byName), http.StatusOK},
		{"post", http.MethodPost, "/Users", insert, http.StatusCreated},
	} {
		var bare float64
		var n atomic.Int64
		for _, kind := range []struct {
			name    string
			handler http.Handler
		}{{"bare", m.bare}, {"scim", h}} {
			b.Run(m.name+"/"+kind.name, func(b *testing.B) {
				server := httptest.NewServer(kind.handler)
				defer server.Close()
				client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
				defer client.CloseIdleConnections()
				b.SetParallelism(16)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						var body []byte
						if m.method == http.MethodPost {
							body = []byte(benchUser(fmt.Sprintf("bare%d", n.Add(1))))
						}
						req, _ := http.NewRequest(m.method, server.URL+m.target, bytes.NewReader(body))
						req.Header.Set("Authorization", "Bearer "+token)
						req.Header.Set("Content-Type", scim.MediaType)
						resp, err := client.Do(req)
						if err != nil {
							b.Error(err)
							return
						}
						_, _ = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
						if resp.StatusCode != m.want {
							b.Errorf("%s %s: %s", m.method, m.target, resp.Status)
							return
						}
					}
				})
				cost := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				if kind.name == "bare" {
					bare = cost
				} else if bare > 0 {
					b.ReportMetric(bare/cost, "throughput")
				}
			})
		}
	}
}
