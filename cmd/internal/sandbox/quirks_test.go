package sandbox_test

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

func TestControlPort_ChangesQuirks(t *testing.T) {
	t.Parallel()
	s, api := startSandbox(t, sandbox.Options{Empty: true, Quirks: []string{"lookup-404"}})
	const path = "/sandbox/v1/scim/default/quirks"
	var list struct {
		Active    []string `json:"active"`
		Available []struct {
			Usage, Category, Does string
		} `json:"available"`
	}
	do(t, api, http.MethodGet, path, "", &list)
	require.Equal(t, []string{"lookup-404"}, list.Active)
	require.Greater(t, len(list.Available), 40)
	nobody := url.Values{"filter": {`userName eq "nobody"`}}
	_, err := listUsers(t.Context(), s.Ready().SCIMURL, s.Ready().SCIMToken, nobody)
	require.ErrorContains(t, err, "404")

	do(t, api, http.MethodPut, path, `{"active":["error=502,p=1","no-patch"]}`, &list)
	require.Equal(t, []string{"no-patch", "error=502,p=1,seed=1"}, list.Active)
	_, err = listUsers(t.Context(), s.Ready().SCIMURL, s.Ready().SCIMToken, nobody)
	require.ErrorContains(t, err, "502")
	other, err := listUsers(t.Context(), s.Ready().BaseURL+"/t/chat/scim/v2", s.Ready().SCIMToken, url.Values{})
	require.NoError(t, err, "the quirks of other providers do not change")
	require.Zero(t, other.TotalResults)

	require.ErrorContains(t, api.Do(t.Context(), http.MethodPut, path, map[string]any{"active": []string{"no-such"}}, nil), "no-such")
	require.ErrorContains(t, api.Do(t.Context(), http.MethodGet, "/sandbox/v1/scim/elsewhere/quirks", nil, nil), "elsewhere")
	do(t, api, http.MethodPut, path, `{"active":[]}`, &list)
	require.Empty(t, list.Active)
	_, err = listUsers(t.Context(), s.Ready().SCIMURL, s.Ready().SCIMToken, nobody)
	require.NoError(t, err)
}

func TestQuirkFlags_ListedAndValidated(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, cli.ExitOK, cli.Run(t.Context(), []string{"serve", "scim", "--list-quirks"}, &out, &errs, os.LookupEnv), errs.String())
	require.Contains(t, out.String(), "patch-members[=N]")
	for _, command := range [][]string{{"serve", "scim"}, {"sandbox"}} {
		errs.Reset()
		args := append(command, "--listen", "127.0.0.1:0", "--quirk", "drop,p=0.5,seed=2", "--quirk", "nonsense")
		require.Equal(t, cli.ExitUsage, cli.Run(t.Context(), args, &out, &errs, os.LookupEnv))
		require.Contains(t, errs.String(), `unknown quirk "nonsense"`, "a comma does not separate settings")
	}
}
