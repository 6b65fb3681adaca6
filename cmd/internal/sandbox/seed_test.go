package sandbox_test

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// TestSeed_ProvisionedAtStart checks that the start provisions the seed, and that the welcome text contains addresses, tokens and commands.
func TestSeed_ProvisionedAtStart(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{})
	r := s.Ready()
	wiki, err := listUsers(t.Context(), r.SCIMURL, r.SCIMToken, url.Values{})
	require.NoError(t, err)
	require.Equal(t, 19, wiki.TotalResults)
	chat, err := listUsers(t.Context(), r.BaseURL+"/t/chat/scim/v2", r.SCIMToken, url.Values{})
	require.NoError(t, err)
	require.Equal(t, 11, chat.TotalResults)
	inactive := 0
	for _, u := range chat.Resources {
		if !u.Active {
			inactive++
			require.Equal(t, "yusuf.demir@northwind.example", u.UserName)
		}
	}
	require.Equal(t, 1, inactive, "the leaver was provisioned and deactivated")

	var greeting bytes.Buffer
	s.PrintWelcome(t.Context(), &greeting)
	text := greeting.String()
	for _, part := range []string{r.BaseURL + "/api/v1", r.APIToken, r.SCIMURL, r.SCIMToken, "19 active users, 2 groups",
		"10 active users, 1 deactivated, 1 group", "scimwright console link --url " + r.BaseURL + " --api-token " + r.APIToken} {
		require.Contains(t, text, part)
	}
	lines := 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, "curl -sS") {
			lines++
		}
	}
	require.Equal(t, 3, lines, "three lines to paste:\n%s", text)
}

func TestGreeting_NamesFreeLogin(t *testing.T) {
	t.Parallel()
	s, api := startSandbox(t, sandbox.Options{})
	for _, login := range []string{"robin.example@northwind.example", "robin.example2@northwind.example", "robin.example3@northwind.example"} {
		var greeting bytes.Buffer
		s.PrintWelcome(t.Context(), &greeting)
		require.Contains(t, greeting.String(), `"login":"`+login+`"`)
		require.Contains(t, greeting.String(), `userName eq "`+login+`"`)
		newUser(t, api, login)
	}
}

// When the first command is run again, its output contains the error response.
func TestGreeting_CommandShowsRejection(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{})
	var greeting bytes.Buffer
	s.PrintWelcome(t.Context(), &greeting)
	line := regexp.MustCompile(`(?m)^  NEW=.*$`).FindString(greeting.String())
	require.NotEmpty(t, line)
	paste := func() string {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", line+`; echo "NEW is <$NEW>"`).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Regexp(t, `NEW is <00u[0-9A-Za-z]{17}>`, paste())
	second := paste()
	require.Contains(t, second, "NEW is <>")
	require.Contains(t, second, "E0000001", "the response of the API is printed")
}

// TestRestart_PreservesTokensAndSeed checks that a restart preserves tokens and data, and that the seeded apps use the new address.
func TestRestart_PreservesTokensAndSeed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first, api := startSandbox(t, sandbox.Options{Data: data})
	before := first.Ready()
	user := newUser(t, api, "kept@northwind.example")
	require.NoError(t, first.Close(t.Context()))

	second, api := startSandbox(t, sandbox.Options{Data: data})
	after := second.Ready()
	require.Equal(t, before.APIToken, after.APIToken)
	require.Equal(t, before.SCIMToken, after.SCIMToken)
	require.NotEqual(t, before.BaseURL, after.BaseURL, "the port differs")

	var apps []struct{ ID, Label string }
	do(t, api, http.MethodGet, "/api/v1/apps?q=Northwind%20Wiki", "", &apps)
	require.Len(t, apps, 1, "the seed is not created again")
	do(t, api, http.MethodPost, "/api/v1/apps/"+apps[0].ID+"/users", `{"id":"`+user+`"}`, nil)
	eventually(t, "the seeded app provisions at the new address", func() bool {
		list, err := find(t.Context(), after.SCIMURL, after.SCIMToken, "kept@northwind.example")
		return err == nil && list.TotalResults == 1
	})
}

func TestStart_RejectsSharedData(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	startSandbox(t, sandbox.Options{Data: data, Empty: true})
	_, err := sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", Data: data})
	require.ErrorContains(t, err, "another process is using this data")
}

func TestSecretKey_MismatchReported(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first, _ := startSandbox(t, sandbox.Options{Data: data, Empty: true})
	require.NoError(t, first.Close(t.Context()))
	other := filepath.Join(t.TempDir(), "other.key")
	_, err := sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", Data: data, SecretKeyFile: other})
	require.ErrorContains(t, err, "other.key", "no key is generated for an existing database")
	require.NoError(t, os.WriteFile(other, []byte(strings.Repeat("A", 43)+"="), 0o600))
	_, err = sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", Data: data, SecretKeyFile: other})
	require.ErrorContains(t, err, "the secret key does not match this database")
}

func TestSeed_ResumedAfterAbortedStart(t *testing.T) {
	t.Parallel()
	// If the target of the seed is unavailable, the sandbox does not start. The next start completes the seed.
	good := scimHandler(t)
	tg := newTarget(t, good)
	data := t.TempDir()
	tg.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		good.ServeHTTP(w, r)
	}))
	_, err := sandbox.Start(t.Context(),
		sandbox.Options{Listen: "127.0.0.1:0", Data: data, ExternalTarget: tg.URL, ExternalToken: scimToken, SeedTime: testSeedTime})
	require.ErrorContains(t, err, "seed")

	tg.set(good)
	_, api := startSandbox(t, sandbox.Options{Data: data, ExternalTarget: tg.URL, ExternalToken: scimToken})
	var apps []struct{ ID string }
	do(t, api, http.MethodGet, "/api/v1/apps", "", &apps)
	require.Len(t, apps, 2)
	list, err := listUsers(t.Context(), tg.URL, scimToken, url.Values{})
	require.NoError(t, err)
	require.Equal(t, 24, list.TotalResults)
}
