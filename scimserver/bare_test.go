package scimserver_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/processor"
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

// The data of BenchmarkAgainstBare.
const (
	bareUsers = 100_000 // number of users
	bareGroup = 1000    // number of members of the group
	barePage  = 100     // number of users per page
	bareSeek  = 50      // number of places at which pages start
)

// BenchmarkAgainstBare compares requests over loopback with minimal handlers of net/http that do comparable work. The two handlers take
// turns, two turns each per b.N requests. The metric "throughput" is the throughput of the server divided by that of the bare handler, the
// median of all pairs of turns. "cpu" is the processor time of a bare request, including its client, divided by that of a request to the
// server; other load on the machine affects it less. The users that are read are drawn at random.
func BenchmarkAgainstBare(b *testing.B) {
	db := sqldbtest.SQLite(b, sqldbtest.Durable)
	store := storeOn(b, db)
	h, err := scimserver.New(scimserver.Options{Store: store, Tokens: scimserver.StaticTokens(token)})
	require.NoError(b, err)
	growUsers(b, store, bareUsers)
	growGroup(b, store, "thousand", bareUsers, bareGroup)
	pages := make([]string, bareSeek)
	for i := range pages {
		cursor := ""
		if i > 0 {
			o, err := scim.Decode(send(h, http.MethodGet, pages[i-1], "").Body.Bytes())
			require.NoError(b, err)
			cursor = o.Text("nextCursor")
		}
		pages[i] = fmt.Sprintf("/Users?count=%d&cursor=%s", barePage, cursor)
	}
	pages = pages[1:] // the first page counts all users
	anyUser := func() string { return fmt.Sprintf("user%07d", rand.IntN(bareUsers)) }
	bare := newBareTables(b, db, h, pages)
	require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
		err := tx.Apply(b.Context(), `CREATE TABLE bare_named (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doc TEXT NOT NULL)`)
		for i := range benchUsers {
			if err == nil {
				id := grownUser(i).ID
				_, err = tx.Exec(b.Context(), "INSERT INTO bare_named (id, doc) VALUES (?, "+
					"?)", id, send(h, http.MethodGet, "/Users/"+id, "").Body.Bytes())
			}
		}
		return err
	}))
	var made atomic.Int64
	for _, m := range []struct {
		name, method string
		target       func() string
		bare         http.Handler
		want         int
	}{
		{"get", http.MethodGet, func() string { return "/Users/id-" + anyUser() }, bare.constant(b, h, "/Users/id-user0000007"), http.StatusOK},
		{"userName-eq", http.MethodGet, func() string {
			return "/Users?filter=" + url.QueryEscape(`userName eq "`+strings.ToUpper(anyUser())+`"`)
		}, bare.constant(b, h, "/Users?filter="+url.QueryEscape(`userName eq "USER0000007"`)), http.StatusOK},
		{"page", http.MethodGet, func() string { return pages[rand.IntN(len(pages))] }, http.HandlerFunc(bare.page), http.StatusOK},
		{"group", http.MethodGet, same("/Groups/id-thousand"), http.HandlerFunc(bare.group), http.StatusOK},
		{"post", http.MethodPost, same("/Users"), http.HandlerFunc(bare.insert), http.StatusCreated},
		{"patch", http.MethodPatch, func() string { return "/Users/" + grownUser(rand.IntN(benchUsers)).ID }, barePatch(db), http.StatusOK},
	} {
		b.Run(m.name, func(b *testing.B) {
			againstBare(b, m.bare, h, func(client *http.Client, server string) error {
				var body []byte
				switch m.method {
				case http.MethodPost:
					body = []byte(benchUser(fmt.Sprintf("bare%d", made.Add(1))))
				case http.MethodPatch:
					body = fmt.Appendf(nil, `{"schemas":[%q],"Operations":[{"op":"replace","path":"nickName","value":"n%d"}]}`, scim.PatchOpMessage,
						made.Add(1))
				}
				return request(client, m.method, server+m.target(), body, m.want)
			})
		})
	}
}

func same(text string) func() string { return func() string { return text } }

// againstBare sends b.N requests to each of the handlers, in turns.
func againstBare(b *testing.B, bare, h http.Handler, send func(client *http.Client, server string) error) {
	var turns [2]func(requests int) (elapsed, cpu time.Duration)
	for i, handler := range []http.Handler{bare, h} {
		server := httptest.NewServer(handler)
		defer server.Close()
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * bareClients}}
		defer client.CloseIdleConnections()
		turns[i] = func(requests int) (elapsed, cpu time.Duration) {
			cpu, started := processor.Used(), time.Now()
			requestAtOnce(b, requests, func() error { return send(client, server.URL) })
			return time.Since(started), processor.Used() - cpu
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
}

// bareTables are the tables of the bare handlers, in the database of the server.
type bareTables struct{ db *sqldb.DB }

// newBareTables fills the tables with what the server sends: one row for each user on the pages, and for each member of the group.
func newBareTables(b *testing.B, db *sqldb.DB, h http.Handler, pages []string) *bareTables {
	b.Helper()
	texts := func(target, list string) (out [][]byte) {
		o, err := scim.Decode(send(h, http.MethodGet, target, "").Body.Bytes())
		require.NoError(b, err)
		for _, v := range o.Array(list) {
			out = append(out, scim.AppendValue(nil, v))
		}
		return out
	}
	require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
		err := tx.Apply(b.Context(), `CREATE TABLE bare (seq INTEGER PRIMARY KEY, doc TEXT NOT NULL);
			CREATE TABLE bare_user (seq INTEGER PRIMARY KEY, doc TEXT NOT NULL);
			CREATE TABLE bare_member (seq INTEGER PRIMARY KEY, grp TEXT NOT NULL, doc TEXT NOT NULL);
			CREATE INDEX bare_member_grp ON bare_member (grp)`)
		for _, page := range pages {
			for _, doc := range texts(page, "Resources") {
				if err == nil {
					_, err = tx.Exec(b.Context(), "INSERT INTO bare_user (doc) VALUES (?)", doc)
				}
			}
		}
		for _, doc := range texts("/Groups/id-thousand", "members") {
			if err == nil {
				_, err = tx.Exec(b.Context(), "INSERT INTO bare_member (grp, doc) VALUES ('id-thousand', ?)", doc)
			}
		}
		return err
	}))
	return &bareTables{db}
}

// constant returns a handler whose response is always that of the server to one request.
func (bareTables) constant(b *testing.B, h http.Handler, target string) http.Handler {
	w := send(h, http.MethodGet, target, "")
	require.Equal(b, http.StatusOK, w.Code)
	body := w.Body.Bytes()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", scim.MediaType)
		_, _ = w.Write(body)
	})
}

// page reads a page of users by one statement and writes their texts as a list.
func (t *bareTables) page(w http.ResponseWriter, r *http.Request) {
	t.list(w, r, "SELECT doc FROM bare_user WHERE seq > ? ORDER BY seq LIMIT 100", rand.IntN((bareSeek-2)*barePage))
}

// group reads the members of a group by one statement and writes them as a list.
func (t *bareTables) group(w http.ResponseWriter, r *http.Request) {
	t.list(w, r, "SELECT doc FROM bare_member WHERE grp = ? ORDER BY seq", "id-thousand")
}

func (t *bareTables) list(w http.ResponseWriter, r *http.Request, query string, arg any) {
	rows, err := t.db.Reader().Query(r.Context(), query, arg)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer rows.Close()
	body := append(make([]byte, 0, firstBody), '[')
	var doc sql.RawBytes
	for rows.Next() {
		if err = rows.Scan(&doc); err != nil {
			break
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(body, doc...)
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", scim.MediaType)
	_, _ = w.Write(append(body, ']'))
}

// firstBody is the initial size of the bodies of the bare handlers.
const firstBody = 64 << 10

// insert decodes a body and stores it.
func (t *bareTables) insert(w http.ResponseWriter, r *http.Request) {
	bareHandler(http.StatusCreated, func(r *http.Request, body []byte) ([]byte, error) {
		var v map[string]any
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		return body, t.db.Update(r.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(r.Context(), "INSERT INTO bare (doc) VALUES (?)", body)
			return err
		})
	}).ServeHTTP(w, r)
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
