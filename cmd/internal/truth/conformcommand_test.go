package truth_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// contents returns the JSON of all objects of a target by path.
func contents(t *testing.T, h http.Handler) map[string]string {
	t.Helper()
	held := map[string]string{}
	for collection := range namesOf {
		for start := 1; ; {
			r := httptest.NewRequest(http.MethodGet, "/scim/v2"+collection+"?count=100&startIndex="+strconv.Itoa(start), nil)
			r.Header.Set("Authorization", "Bearer "+referenceToken)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			list, err := scim.Decode(w.Body.Bytes())
			require.NoError(t, err)
			items := list.Array("Resources")
			for _, item := range items {
				o := item.(*scim.Object)
				text, err := o.MarshalJSON()
				require.NoError(t, err)
				held[collection+"/"+o.Text("id")] = string(text)
			}
			if start += len(items); len(items) == 0 {
				break
			}
		}
	}
	return held
}

// The process is killed after the target has created an object and before the response reaches the suite. The cleanup command then
// deletes all objects of the run and no other object.
func TestKilledRun_CleanupRestoresTarget(t *testing.T) {
	type moment struct {
		only  string // the selected checks; empty means all
		at    int    // the process is killed after the creation with this number
		fault string // a mutant in front of the reference server
	}
	var moments []moment
	for _, at := range []int{1, 2, 44, 45, 47, 50, 120, 300, 500} {
		moments = append(moments, moment{at: at})
	}
	// The areas of checks that together create each type of object with each type of request, and the number of creations between two
	// tested moments.
	steps := map[string]int{"bulk": 6, "types": 3, "characteristics": 12, "groups": 12, "concurrency": 4, "create": 9, "body": 3, "put": 6,
		"traffic": 1}
	for _, only := range slices.Sorted(maps.Keys(steps)) {
		for k := range 3 {
			moments = append(moments, moment{only: only, at: 1 + k*steps[only]})
		}
	}
	// Faults that create an object where a correct server rejects the request.
	for fault, only := range map[string]string{"create.nameless": "create.missing-user-name",
		"create.stored-before-checked": "create.wrong-types", "groups.nameless": "groups.missing-display-name",
		"put.creates": "put.never-creates"} {
		moments = append(moments, moment{only: only, at: 1, fault: fault})
	}
	faults := map[string]mutants.Mutant{}
	for _, m := range mutants.All() {
		faults[m.ID] = m
	}
	for _, moment := range alltest.Sample(moments, 6) {
		at := moment.at
		t.Run(strings.TrimSpace(moment.fault+" "+moment.only+" at creation "+strconv.Itoa(at)), func(t *testing.T) {
			t.Parallel()
			reference := newReferenceServer(t)
			front := reference
			if moment.fault != "" {
				require.Contains(t, faults, moment.fault)
				front = faults[moment.fault].Wrap(reference)
			}
			before := contents(t, reference)
			require.NotEmpty(t, before, "the target has objects of other clients")

			var mu sync.Mutex
			created, child := 0, (*exec.Cmd)(nil)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost && r.Method != http.MethodPut || strings.HasSuffix(r.URL.Path, "/.search") {
					front.ServeHTTP(w, r)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				held := len(holdings(reference))
				recorder := httptest.NewRecorder()
				front.ServeHTTP(recorder, r)
				if len(holdings(reference)) > held {
					if created++; created == at {
						_ = child.Process.Kill()
						panic(http.ErrAbortHandler)
					}
				}
				for name, values := range recorder.Header() {
					w.Header()[name] = values
				}
				w.WriteHeader(recorder.Code)
				_, _ = w.Write(recorder.Body.Bytes())
			}))
			server.Config.ErrorLog = nil
			defer server.Close()

			journal := filepath.Join(t.TempDir(), "run.journal")
			mu.Lock()
			args := []string{"run", server.URL + "/scim/v2", "--journal", journal}
			if moment.only != "" {
				args = append(args, "--only", moment.only)
			}
			child = exec.CommandContext(t.Context(), os.Args[0], args...)
			child.Env = append(os.Environ(), childVariable+"=1", "SCIM_TOKEN="+referenceToken)
			var out bytes.Buffer
			child.Stdout, child.Stderr = &out, &out
			err := child.Start()
			mu.Unlock()
			require.NoError(t, err)
			require.Error(t, child.Wait(), "the process was not killed: %s", out.String())
			require.Contains(t, out.String(), "remove its objects with")
			require.Greater(t, len(contents(t, reference)), len(before), "the run left objects behind")

			code := conform.Run(t.Context(), "scim-conformance", []string{"cleanup", journal, "--token", referenceToken}, &out, &out, os.LookupEnv)
			require.Equal(t, conform.ExitClean, code, out.String())
			// cmp.Diff prints only the difference: some objects are too large for require.Equal.
			require.Empty(t, cmp.Diff(before, contents(t, reference)), "the target has the same objects as before the run: %s", out.String())
			require.NoFileExists(t, journal)
			code = conform.Run(t.Context(), "scim-conformance", []string{"cleanup", journal, "--token", referenceToken}, io.Discard, io.Discard,
				os.LookupEnv)
			require.Equal(t, conform.ExitUsage, code, "the journal was deleted")
		})
	}
}

// The target returns request data in headers and bodies and has users of its own. No report contains these data.
func TestReports_RedactSecretsAndUsers(t *testing.T) {
	t.Parallel()
	reference := newReferenceServer(t)
	const secret = "marked-token-4711"
	create := func(body string) {
		r := httptest.NewRequest(http.MethodPost, "/scim/v2/Users", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+referenceToken)
		w := httptest.NewRecorder()
		reference.ServeHTTP(w, r)
		require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	}
	create(`{"schemas":["` + scim.UserSchema +
		`"],"userName":"grace.hopper@corp.test","name":{"givenName":"Gracemarked","familyName":"Hoppermarked"},` +
		`"emails":[{"value":"grace@home-marked.test"}],"phoneNumbers":[{"value":"+1 555 190619"}]}`)
	passwords := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		said := r.Header.Get("Authorization")
		if said == "Bearer "+secret {
			r.Header.Set("Authorization", "Bearer "+referenceToken)
		}
		recorder := httptest.NewRecorder()
		reference.ServeHTTP(recorder, r)
		if recorder.Header().Get("Location") == "" {
			recorder.Header().Set("Location", "http://"+r.Host+r.URL.Path+"?said="+strings.TrimPrefix(said, "Bearer "))
		}
		answer := recorder.Body.Bytes()
		if sent, err := scim.Decode(body); err == nil && sent.Text("password") != "" {
			passwords[sent.Text("password")] = true
			if o, err := scim.Decode(answer); err == nil && recorder.Code < 300 {
				o.Set("password", sent.Text("password"))
				o.Set("nickName", sent.Text("password")+" with "+said)
				answer, _ = o.MarshalJSON()
			}
		}
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("X-Echo", said)
		w.Header().Set("X-Another", "a header of the caller: "+r.Header.Get("X-Api-Tenant"))
		w.Header().Del("Content-Length")
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(answer)
	}))
	defer server.Close()

	dir := t.TempDir()
	args := []string{"run", server.URL + "/scim/v2", "--token", secret, "--header", "X-Api-Tenant: marked-header-4711", "--skipped",
		"--profile", "rfc,okta,entra", "--color", "always"}
	forms := []string{"text", "json", "html", "markdown", "junit", "sarif", "har", "badge", "shields"}
	for _, form := range forms {
		args = append(args, "--output", form+"="+filepath.Join(dir, form))
	}
	var stdout, stderr bytes.Buffer
	code := conform.Run(t.Context(), "scim-conformance", args, &stdout, &stderr, os.LookupEnv)
	require.Equal(t, conform.ExitFindings, code, stderr.String())
	require.NotEmpty(t, passwords, "the suite has sent passwords, and the target has returned them")

	texts := map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}
	for _, form := range forms {
		data, err := os.ReadFile(filepath.Join(dir, form))
		require.NoError(t, err)
		require.NotEmpty(t, data)
		texts[form] = string(data)
	}
	marks := []string{secret, "marked-header-4711", "grace.hopper@corp.test", "grace@home-marked.test", "Gracemarked", "Hoppermarked",
		"555 190619"}
	for password := range passwords {
		if len(password) >= 6 { // shorter passwords may equal words of a report
			marks = append(marks, password)
		}
	}
	for name, text := range texts {
		for _, mark := range marks {
			if i := strings.Index(text, mark); i >= 0 {
				t.Errorf("%s contains %q: …%s…", name, mark, text[max(0, i-150):min(len(text), i+60)])
			}
		}
	}
	require.Contains(t, texts["har"], wirelog.Redacted)
	require.Contains(t, texts["har"], "[masked]", "the archive contains the query for all users")
}
