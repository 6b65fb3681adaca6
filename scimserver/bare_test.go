package scimserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
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
		return tx.Apply(b.Context(), `CREATE TABLE bare (seq INTEGER PRIMARY KEY, doc TEXT NOT NULL);
			CREATE TABLE bare_named (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doc TEXT NOT NULL)`)
	}))
	for i := range benchUsers {
		require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
			id := grownUser(i).ID
			text := send(h, http.MethodGet, "/Users/"+id, "").Body.Bytes()
			_, err := tx.Exec(b.Context(), "INSERT INTO bare_named (id, doc) VALUES (?, ?)", id, text)
			return err
		}))
	}
	constant := func(target string) http.Handler {
		body := send(h, http.MethodGet, target, "").Body.Bytes()
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", scim.MediaType)
			_, _ = w.Write(body)
		})
	}
	byName := "/Users?filter=" + url.QueryEscape(`userName eq "USER0000007"`)
	always := func(target string) func(int64) (string, string) {
		return func(int64) (string, string) { return target, "" }
	}
	posted := func(n int64) (target, body string) { return "/Users", benchUser(fmt.Sprintf("bare%d", n)) }
	patched := func(n int64) (target, body string) {
		return "/Users/" + grownUser(int(n*7919%benchUsers)).ID,
			fmt.Sprintf(`{"schemas":[%q],"Operations":[{"op":"replace","path":"nickName","value":"n%d"}]}`, scim.PatchOpMessage, n)
	}
	var made atomic.Int64
	for _, m := range []struct {
		name, method string
		request      func(n int64) (target, body string)
		bare         http.Handler
		want         int
	}{
		{"get", http.MethodGet, always("/Users/id-user0000007"), constant("/Users/id-user0000007"), http.StatusOK},
		{"userName-eq", http.MethodGet, always(byName), constant(byName), http.StatusOK},
		{"post", http.MethodPost, posted, bareInsert(db), http.StatusCreated},
		{"patch", http.MethodPatch, patched, barePatch(db), http.StatusOK},
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
						target, body := m.request(made.Add(1))
						return request(client, m.method, server.URL+target, []byte(body), m.want)
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
			b.ReportMetric(0, "ns/op") // has no meaning here
		})
	}
}

// bareInsert returns a handler that decodes the body and inserts it.
func bareInsert(db *sqldb.DB) http.Handler {
	return bareHandler(http.StatusCreated, func(r *http.Request, body []byte) ([]byte, error) {
		var v map[string]any
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		return body, db.Update(r.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(r.Context(), "INSERT INTO bare (doc) VALUES (?)", body)
			return err
		})
	})
}

// barePatch returns a handler that reads a document by id, sets the member that the body names, and updates the document.
func barePatch(db *sqldb.DB) http.Handler {
	return bareHandler(http.StatusOK, func(r *http.Request, body []byte) ([]byte, error) {
		var sent struct {
			Operations []struct {
				Path  string          `json:"path"`
				Value json.RawMessage `json:"value"`
			} `json:"Operations"`
		}
		if err := json.Unmarshal(body, &sent); err != nil {
			return nil, err
		}
		id := path.Base(r.URL.Path)
		var text []byte
		ctx := sqldb.Brief(r.Context(), db.Reader())
		if err := db.Reader().QueryRow(ctx, "SELECT doc FROM bare_named WHERE id = ?", id).Scan(&text); err != nil {
			return nil, err
		}
		var document map[string]json.RawMessage
		if err := json.Unmarshal(text, &document); err != nil {
			return nil, err
		}
		for _, op := range sent.Operations {
			document[op.Path] = op.Value
		}
		text, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		return text, db.Update(r.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(r.Context(), "UPDATE bare_named SET doc = ? WHERE id = ?", text, id)
			return err
		})
	})
}

// bareHandler returns a handler that responds with the result of a function of the body.
func bareHandler(status int, respond func(r *http.Request, body []byte) ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			body, err = respond(r, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", scim.MediaType)
		w.WriteHeader(status)
		_, _ = w.Write(body)
	})
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
