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
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// The load of BenchmarkAgainstBare: the number of concurrent clients, and the number of requests per turn of a handler. Turns are short so
// that other load on the machine affects both handlers equally.
const (
	bareClients = 32
	bareTurn    = 500
)

// BenchmarkAgainstBare compares requests over loopback with minimal handlers of net/http that do comparable work. The two handlers take
// turns, two turns each per b.N requests. The metric "throughput" is the throughput of the server divided by that of the bare handler, the
// median of all pairs of turns. "cpu" is the processor time of a bare request, including its client, divided by that of a request to the
// server; other load on the machine affects it less.
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
	var made atomic.Int64
	for _, m := range []struct {
		name, method, target string
		bare                 http.Handler
		want                 int
	}{
		{"get", http.MethodGet, "/Users/id-user0000007", constant("/Users/id-user0000007"), http.StatusOK},
		{"userName-eq", http.MethodGet, byName, constant(byName), http.StatusOK},
		{"post", http.MethodPost, "/Users", insert, http.StatusCreated},
	} {
		b.Run(m.name, func(b *testing.B) {
			var turns [2]func(requests int) (elapsed, cpu time.Duration)
			for i, handler := range []http.Handler{m.bare, h} {
				server := httptest.NewServer(handler)
				defer server.Close()
				client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * bareClients}}
				defer client.CloseIdleConnections()
				turns[i] = func(requests int) (elapsed, cpu time.Duration) {
					cpu, started := cpuTime(), time.Now()
					requestAtOnce(b, requests, func() error {
						var body []byte
						if m.method == http.MethodPost {
							body = []byte(benchUser(fmt.Sprintf("bare%d", made.Add(1))))
						}
						return request(client, m.method, server.URL+m.target, body, m.want)
					})
					return time.Since(started), cpuTime() - cpu
				}
				turns[i](bareClients) // opens the connections
			}
			var took, cpu [2]time.Duration
			var ratios []float64
			b.ResetTimer()
			for left := b.N; left > 0; left -= bareTurn {
				var elapsed [2]time.Duration
				for i, turn := range turns {
					var busy time.Duration
					elapsed[i], busy = turn(min(left, bareTurn))
					took[i] += elapsed[i]
					cpu[i] += busy
				}
				ratios = append(ratios, elapsed[0].Seconds()/elapsed[1].Seconds())
			}
			b.ReportMetric(median(ratios), "throughput")
			b.ReportMetric(cpu[0].Seconds()/cpu[1].Seconds(), "cpu")
			b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "bare-ns/op")
			b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N), "scim-ns/op")
			b.ReportMetric(0, "ns/op") // removes the default metric, which would combine both handlers
		})
	}
}

// requestAtOnce sends requests from bareClients concurrent clients.
func requestAtOnce(b *testing.B, requests int, send func() error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(requests))
	var clients errgroup.Group
	for range bareClients {
		clients.Go(func() error {
			for left.Add(-1) >= 0 {
				if err := send(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, clients.Wait())
}

// request sends one request and reads its response.
func request(client *http.Client, method, target string, body []byte, want int) error {
	req, err := http.NewRequest(method, target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", scim.MediaType)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s: %s", method, target, resp.Status)
	}
	return nil
}
