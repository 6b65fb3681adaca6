package provision_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// lockedBuffer is the output of a logger.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// echoes are responses that contain a secret of the request.
var echoes = map[string]func(w http.ResponseWriter, secret string){
	"in a JSON detail": func(w http.ResponseWriter, secret string) {
		w.Header().Set("Content-Type", scim.MediaType)
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"schemas": []string{scim.ErrorMessage}, "status": "401", "scimType": secret, "detail": "«" + secret + "» is not valid",
		})
	},
	"in a JSON detail of an error": func(w http.ResponseWriter, secret string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"detail": "«" + secret + "» is not valid"})
	},
	"on an HTML page": func(w http.ResponseWriter, secret string) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<p>%s", strings.Repeat(secret+" ", 100))
	},
	"on an HTML page of an error": func(w http.ResponseWriter, secret string) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "<p>"+secret)
	},
	"at the end of an excerpt": func(w http.ResponseWriter, secret string) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("x", 190)+secret)
	},
	"in a Location": func(w http.ResponseWriter, secret string) {
		w.Header().Set("Location", "/login?was="+secret)
		w.WriteHeader(http.StatusFound)
	},
	"in plain text": func(w http.ResponseWriter, secret string) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "who is "+secret+"?")
	},
	"in text with the content type of JSON": func(w http.ResponseWriter, secret string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, secret)
	},
	"in any header": func(w http.ResponseWriter, secret string) {
		w.Header().Set("WWW-Authenticate", `Bearer error="`+secret+`"`)
		w.WriteHeader(http.StatusUnauthorized)
	},
}

// TestSecrets_EchoRedacted checks that secrets echoed by a target appear in no state, hold, result, exchange, log or connection test.
//
// Invariant 9
func TestSecrets_EchoRedacted(t *testing.T) {
	const token, password = "s3cr3t-token/1", "passw0rd-of-ann/2"
	for what, c := range map[string]struct {
		auth   engine.Auth
		onPost bool // echo the password in the response to the create
		forms  []string
	}{
		"bearer token": {auth: engine.Auth{Secret: token}},
		"raw token":    {auth: engine.Auth{Scheme: engine.Raw, Secret: token}},
		"user and password": {
			auth:  engine.Auth{Scheme: engine.Basic, Secret: "me:" + token},
			forms: []string{base64.StdEncoding.EncodeToString([]byte("me:" + token))},
		},
		"password of a user": {auth: engine.Auth{Secret: token}, onPost: true, forms: []string{password}},
	} {
		for how, echo := range echoes {
			t.Run(what+" "+how, func(t *testing.T) {
				log := &lockedBuffer{}
				w := newWorld(t, sqldbtest.SQLite(t), provision.Options{
					BreakerAfter: 1, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				})
				w.front(func(rw http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					switch {
					case !c.onPost:
						echo(rw, r.Header.Get("Authorization"))
					case r.Method == http.MethodPost:
						require.Contains(t, string(body), password)
						echo(rw, password)
					default:
						_, _ = io.WriteString(rw, `{"totalResults":0}`)
					}
				})
				w.as(func(t *engine.Target) { t.Auth = c.auth })
				u := user("u-1", "ann")
				u.Password = password
				w.set("u-1", u)
				w.poll("a result", func() bool { return len(w.resultsSoFar()) > 0 })
				testErr := w.engine.Targets().Test(t.Context(), w.target)
				w.stop(w.engine)

				lane, err := w.engine.Apps().Get(t.Context(), app)
				require.NoError(t, err)
				attempts, err := w.engine.Traces().Attempts(t.Context(), engine.AttemptQuery{App: app})
				require.NoError(t, err)
				require.NotEmpty(t, attempts)
				state := w.state(engine.User, "u-1")
				require.NotEmpty(t, state.LastError)
				for place, text := range map[string]string{
					"state": state.LastError, "hold": lane.Hold.Reason, "results": fmt.Sprintf("%+v", w.resultsSoFar()),
					"exchanges": fmt.Sprintf("%+v", attempts), "log": log.String(), "test of the connection": fmt.Sprint(testErr),
				} {
					for _, secret := range append(c.forms, token[:8], password[:8]) {
						require.NotContains(t, text, secret, place)
					}
				}
			})
		}
	}
}

// storedText returns the contents of the engine's tables.
func (w *world) storedText() string {
	w.t.Helper()
	var out strings.Builder
	for _, table := range []string{"sync_state", "sync_attempt", "app_lane", "member_state", "removal", "halt"} {
		rows, err := w.db.Reader().Query(w.t.Context(), "SELECT * FROM scimwright_"+table)
		require.NoError(w.t, err)
		columns, err := rows.Columns()
		require.NoError(w.t, err)
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			require.NoError(w.t, rows.Scan(into...))
			for i, v := range values {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				fmt.Fprintf(&out, "%s.%s=%v\n", table, columns[i], v)
			}
		}
		require.NoError(w.t, rows.Err())
		rows.Close()
	}
	return out.String()
}

// TestSecrets_SyncedPasswordRedacted checks that a synchronized password echoed by a target appears in no store, result or log.
func TestSecrets_SyncedPasswordRedacted(t *testing.T) {
	const password = `pa"ss\wo<rd>/ü of ann` + "\t2"
	forms := []string{password, `pa\"ss`, `ss\\wo`, "wo<rd>", `wo\u003crd`, "wo%3Crd", "ü of ann"}
	for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
		for how, echo := range echoes {
			t.Run(string(style)+" "+how, func(t *testing.T) {
				log := &lockedBuffer{}
				w := newWorld(t, sqldbtest.SQLite(t), provision.Options{
					BreakerAfter: 1, RetryInitial: time.Hour, RetryMax: time.Hour,
					Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				})
				sent := make(chan string, 10)
				w.front(func(rw http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPatch || r.Method == http.MethodPut {
						body, _ := io.ReadAll(r.Body)
						sent <- string(body)
						echo(rw, password)
						return
					}
					w.fake.ServeHTTP(rw, r)
				})
				w.as(func(t *engine.Target) { t.Style, t.SyncPasswords = style, true })
				w.set("u-1", user("u-1", "ann"))
				w.wait()
				u := user("u-1", "ann")
				u.Password, u.PasswordVersion = password, "7"
				w.set("u-1", u)
				require.Contains(t, <-sent, `ü of ann`, "the target receives the password")
				w.poll("a result", func() bool { return len(w.resultsSoFar()) > 1 })
				w.stop(w.engine)
				require.NotEmpty(t, w.state(engine.User, "u-1").LastError)
				require.Empty(t, w.state(engine.User, "u-1").PasswordVersion, "the result is a failure")
				stored := w.storedText()
				require.Contains(t, stored, "sync_attempt.method=P")
				for place, text := range map[string]string{
					"store": stored, "results": fmt.Sprintf("%+v", w.resultsSoFar()), "log": log.String(),
				} {
					for _, form := range forms {
						require.NotContains(t, text, form, place)
					}
				}
			})
		}
	}
}

// resultsSoFar returns the results so far.
func (w *world) resultsSoFar() []engine.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]engine.Result(nil), w.results...)
}

func TestSecrets_AbsentFromTraceAndPlan(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	u := user("u-1", "ann")
	u.Resource.Set("password", "hush-0")
	u.Resource.Set("urn:example:Door", map[string]any{"apiToken": "hush-1", "pin": map[string]any{"secret": "hush-2", "digits": 4}})
	w.set("u-1", u)
	w.wait()
	w.fake.Change("Users", "u1", func(r *scim.Resource) { r.Set("urn:example:Door", map[string]any{"apiToken": "hush-3"}) })
	trace, err := w.engine.Traces().DryRun(t.Context(), app, engine.User, "u-1")
	require.NoError(t, err)
	require.Contains(t, paths(trace.Diff), "urn:example:Door:apiToken", "the difference shows a change")
	proof, err := w.engine.Traces().Verify(t.Context(), app, engine.User, "u-1")
	require.NoError(t, err)
	require.Contains(t, proof.Differ, "urn:example:Door:apiToken")
	p, err := w.engine.Plans().Make(t.Context(), engine.PlanRequest{App: app, All: true})
	require.NoError(t, err)
	items, err := w.engine.Plans().Items(t.Context(), engine.PlanItemQuery{Plan: p.ID})
	require.NoError(t, err)
	for _, shown := range []any{trace, proof, items} {
		text, err := json.Marshal(shown)
		require.NoError(t, err)
		require.NotContains(t, string(text), "hush")
	}
}

func TestUserState_HidesPassword(t *testing.T) {
	u := user("u-1", "ann")
	u.Password = "hunter2"
	for _, text := range []string{fmt.Sprint(u), fmt.Sprintf("%+v", u), fmt.Sprintf("%#v", u), fmt.Sprintf("%v", &u)} {
		require.NotContains(t, text, "hunter2")
		require.Contains(t, text, "ann")
	}
	require.Equal(t, "hunter2", u.Password)
}
