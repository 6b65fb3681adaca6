package sandbox_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// runPython runs a script of testdata/interop/scim2 and returns the tab-separated fields of each line. It requires python3 and the
// registry, so it skips the test unless SCIMWRIGHT_TEST_INTEROP=1.
func runPython(t *testing.T, script string, args ...string) [][]string {
	t.Helper()
	root := alltest.Installs(t, "SCIMWRIGHT_TEST_INTEROP")
	folder := filepath.Join("testdata", "interop", "scim2")
	python := filepath.Join(root, "scim2-tools", "venv", "bin", "python")
	for _, command := range [][]string{
		{"python3", "-m", "venv", filepath.Dir(filepath.Dir(python))},
		{python, "-m", "pip", "install", "--quiet", "--requirement", filepath.Join(folder, "requirements.txt")},
	} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run := exec.Command(python, append([]string{filepath.Join(folder, script)}, args...)...)
	run.Stderr = os.Stderr
	out, err := run.Output()
	require.NoError(t, err)
	var lines [][]string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Split(strings.TrimSpace(line), "\t"))
	}
	return lines
}

// A third-party tester finds no error. scim2-client validates every response with its strict models. SCIMWRIGHT_TEST_INTEROP=1 go test -run
// SCIM2Tester ./cmd/internal/sandbox
func TestInteropSCIM2Tester(t *testing.T) {
	t.Parallel()
	s, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{Listen: "127.0.0.1:0", Tokens: []string{scimToken}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	passed := 0
	for _, line := range runPython(t, "run.py", s.URL(), s.Token()) {
		switch line[0] {
		case "SUCCESS", "COMPLIANT", "ACCEPTABLE":
			passed++
		default:
			t.Error(line)
		}
	}
	t.Logf("%d successful results", passed)
	require.Greater(t, passed, 100, "the tester has run its tests")
}

// The strict models of a third-party client accept every kind of response. SCIMWRIGHT_TEST_INTEROP=1 go test -run SCIM2Client
// ./cmd/internal/sandbox
func TestInteropSCIM2Client(t *testing.T) {
	types, err := schema.Load(fstest.MapFS{"schema.json": {Data: []byte(tourSchema)}, "type.json": {Data: []byte(tourType)}})
	require.NoError(t, err)
	start := func(change func(*scimserver.Options)) string {
		layout := scimstore.NewLayout("scim", types...)
		docs, err := docstore.Open(t.Context(), sqldbtest.SQLite(t), nil, layout.Tables()...)
		require.NoError(t, err)
		o := scimserver.Options{Store: scimstore.New(docs, layout), Types: types, Tokens: tourTokens{}, Prefix: "/scim/v2", PasswordCost: 4}
		change(&o)
		h, err := scimserver.New(o)
		require.NoError(t, err)
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL + "/scim/v2"
	}
	base := start(func(*scimserver.Options) {})
	hasty := start(func(o *scimserver.Options) { o.Limits.MaxResults, o.Cursors.Timeout = 1, time.Nanosecond })
	lines := runPython(t, "tour.py", base, scimToken, hasty)
	for _, line := range lines {
		if line[0] != "PASS" {
			t.Error(line)
		}
	}
	t.Logf("%d steps", len(lines))
	require.Greater(t, len(lines), 25, "the script has run all steps")
}

// tourTokens accepts the token of the tests, and "me:ID" as the token of the user ID.
type tourTokens struct{}

func (tourTokens) VerifyToken(_ context.Context, token string) (scimserver.Grant, error) {
	if id, ok := strings.CutPrefix(token, "me:"); ok {
		return scimserver.Grant{Subject: scimserver.Subject{Type: "User", ID: id}}, nil
	}
	return scimserver.StaticTokens(scimToken).VerifyToken(context.Background(), token)
}

const (
	tourSchema = `{"schemas":["` + scim.SchemaSchema +
		`"],"id":"urn:example:schemas:Device","name":"Device","description":"A device","attributes":[
		{"name":"serial","required":true,"caseExact":true,"uniqueness":"server","description":"Serial number"},
		{"name":"on","type":"boolean","description":"Whether it is on"}, {"name":"weight","type":"decimal","description":"In kilograms"},
		{"name":"ports","type":"integer","description":"How many"}, {"name":"bought","type":"dateTime","description":"When"},
		{"name":"notes","returned":"request","description":"Notes"},
		{"name":"pin","mutability":"writeOnly","returned":"never","description":"PIN"},
		{"name":"aliases","multiValued":true,"description":"Other names"},
		{"name":"disks","type":"complex","multiValued":true,"description":"Disks","subAttributes":[
			{"name":"name","required":true,"description":"Name"},{"name":"size","type":"integer","description":"Size"}]}]}`
	tourType = `{"schemas":["` + scim.ResourceTypeSchema +
		`"],"id":"Device","name":"Device","endpoint":"/Devices","description":"A device","schema":"urn:example:schemas:Device"}`
)
