package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/cmd/internal/doctor"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// find returns the results of a check.
func find(t *testing.T, r doctor.Report, check string) []doctor.Result {
	t.Helper()
	var found []doctor.Result
	for _, result := range r.Results {
		if result.Check == check {
			found = append(found, result)
		}
	}
	require.NotEmpty(t, found, "%s: %+v", check, r)
	return found
}

// run runs the checks with a new data directory and a free address unless the options have others.
func run(t *testing.T, o doctor.Options) doctor.Report {
	t.Helper()
	if o.DB == "" && o.Data == "" && o.Config == "" {
		o.Data = t.TempDir()
	}
	if o.Listen == nil && o.Config == "" {
		o.Listen = []string{"127.0.0.1:0"}
	}
	r := doctor.Run(t.Context(), o)
	for _, result := range r.Results {
		require.Equal(t, result.Status == doctor.OK, result.Do == "", "each problem says what to do: %+v", result)
	}
	return r
}

func TestRun_HealthyMachine(t *testing.T) {
	dir := t.TempDir()
	r := run(t, doctor.Options{Build: "scimwright v1", Date: "2026-01-01", Data: filepath.Join(dir, "a", "b")})
	require.Zero(t, r.Problems, "%+v", r)
	require.Contains(t, find(t, r, "data")[0].Text, "the sandbox creates it; "+dir+" is writable")
	require.Equal(t, "does not exist yet; the first start creates it", find(t, r, "database")[0].Text)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "nothing remains")

	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Regexp(t, `(?m)^ok       program        scimwright v1$`, text.String())
	for line := range strings.Lines(text.String()) {
		require.LessOrEqual(t, len(line), 101+len(dir), line)
	}
}

func TestRun_ClockBeforeBuild(t *testing.T) {
	r := run(t, doctor.Options{Date: "2999-01-01"})
	require.Equal(t, doctor.Problem, find(t, r, "clock")[0].Status)
}

func TestRun_Ports(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	ready := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(ready.Close)
	r := run(t, doctor.Options{Listen: []string{
		other.Listener.Addr().String(), ready.Listener.Addr().String(), "192.0.2.1:80", "nonsense",
	}})
	var got []string
	for _, result := range find(t, r, "port") {
		got = append(got, string(result.Status)+": "+result.Text)
	}
	require.Equal(t, []string{
		"problem: in use by another program", "ok: in use by scimwright serve engine, which responds",
		"problem: this machine does not have the address", "problem: address nonsense: missing port in address",
	}, got)
}

func TestRun_Directory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	r := run(t, doctor.Options{Data: file})
	require.Equal(t, doctor.Problem, find(t, r, "data")[0].Status)
	r = run(t, doctor.Options{DB: "sqlite:" + filepath.Join(t.TempDir(), "missing", "x.db")})
	require.Contains(t, find(t, r, "data")[0].Do, "mkdir -p -m 0700 ")
	if os.Getuid() != 0 {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o500)) //nolint:gosec // a directory without write permission
		r = run(t, doctor.Options{Data: dir})
		require.Contains(t, find(t, r, "data")[0].Text, "this user cannot write")
	}
}

// started starts a daemon with a database and stops it.
func started(t *testing.T, database string) {
	t.Helper()
	dir := t.TempDir()
	d, err := daemon.Start(t.Context(), daemon.Options{
		Listen: "127.0.0.1:0", DB: database, AdminToken: strings.Repeat("t", 40), Keys: daemon.KeyOptions{File: keyFile(t, dir)},
	})
	require.NoError(t, err)
	require.NoError(t, d.Close(context.WithoutCancel(t.Context())))
}

func keyFile(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(file, []byte("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="), 0o600))
	return file
}

// TestSteps_Current checks that the known schemas are those that a daemon creates, on both databases.
func TestSteps_Current(t *testing.T) {
	for name, database := range map[string]string{
		"SQLite": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "PostgreSQL": sqldbtest.PostgresURL(t),
	} {
		t.Run(name, func(t *testing.T) {
			started(t, database)
			r := run(t, doctor.Options{DB: database})
			require.Zero(t, r.Problems, "%+v", r)
			results := find(t, r, "database")
			require.Contains(t, results[0].Text, name+" ")
			var parts []string
			for _, schema := range []string{"console", "daemon", "desired", "engine", "webhooks"} {
				parts = append(parts, schema+" "+big.NewInt(int64(doctor.Steps[schema])).String())
			}
			require.Equal(t, "schema "+strings.Join(parts, ", ")+", up to date", results[1].Text)
			if name == "PostgreSQL" {
				require.Equal(t, "the clock of the database agrees with that of this machine", results[2].Text)
			}
		})
	}
}

func TestRun_OtherSchemaVersion(t *testing.T) {
	database := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	started(t, database)
	known := doctor.Steps["daemon"]
	t.Cleanup(func() { doctor.Steps["daemon"] = known })
	doctor.Steps["daemon"] = known + 1
	require.Contains(t, find(t, run(t, doctor.Options{DB: database}), "database")[1].Text, "the next start upgrades it")
	doctor.Steps["daemon"] = known - 1
	r := run(t, doctor.Options{DB: database})
	require.Contains(t, find(t, r, "database")[1].Text, "this program knows only")
	require.Equal(t, 1, r.Problems)
}

func TestRun_DatabaseUnreachable(t *testing.T) {
	r := run(t, doctor.Options{DB: "postgres://user:secret@127.0.0.1:1/x?sslpassword=hidden"})
	result := find(t, r, "database")[0]
	require.Equal(t, doctor.Problem, result.Status)
	require.NotContains(t, result.Subject+result.Text, "secret")
	require.NotContains(t, result.Subject+result.Text, "hidden")
	r = run(t, doctor.Options{DB: "mysql://x"})
	require.Contains(t, find(t, r, "database")[0].Text, "not supported")
	text := filepath.Join(t.TempDir(), "text.db")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 1000)), 0o600))
	require.Contains(t, find(t, run(t, doctor.Options{DB: "sqlite:" + text}), "database")[0].Text, "not a database")
}

func TestRun_PooledDatabase(t *testing.T) {
	r := run(t, doctor.Options{DB: sqldbtest.PooledURL(t)})
	require.Zero(t, r.Problems, "%+v", r)
	require.Contains(t, find(t, r, "database")[0].Text, "through a pooler in transaction mode")
}

func TestRun_Configuration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "engine.yaml")
	require.NoError(t, os.WriteFile(file, []byte("listen: 127.0.0.1:0\ndb: sqlite:"+filepath.Join(dir, "x.db")+"\n"), 0o600))
	r := run(t, doctor.Options{Config: file})
	require.Zero(t, r.Problems, "%+v", r)
	require.Equal(t, "127.0.0.1:0", find(t, r, "port")[0].Subject)
	require.Equal(t, dir, find(t, r, "data")[0].Subject)

	require.NoError(t, os.WriteFile(file, []byte("listn: x\n"), 0o600))
	r = run(t, doctor.Options{Config: file, Data: dir})
	require.Contains(t, find(t, r, "configuration")[0].Text, `did you mean "listen"?`)
}

// authority creates certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a := authority{t: t, key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	return a
}

// server starts a TLS server with a certificate for a name that is valid until a time.
func (a authority) server(name string, until time.Time, config *tls.Config, handler http.HandlerFunc) *httptest.Server {
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-100 * time.Hour), NotAfter: until}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	require.NoError(a.t, err)
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: a.key}}
	s := httptest.NewUnstartedServer(handler)
	s.TLS = config
	s.StartTLS()
	a.t.Cleanup(s.Close)
	return s
}

func TestRun_Targets(t *testing.T) {
	const local = "127.0.0.1"
	ca := newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	year := time.Now().Add(365 * 24 * time.Hour)
	ok := func(http.ResponseWriter, *http.Request) {}
	plain := httptest.NewServer(http.HandlerFunc(ok))
	t.Cleanup(plain.Close)
	selfSigned := httptest.NewTLSServer(http.HandlerFunc(ok))
	t.Cleanup(selfSigned.Close)
	good := ca.server(local, year, &tls.Config{}, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/scim/v2/ServiceProviderConfig", r.URL.Path)
		w.WriteHeader(http.StatusUnauthorized)
	})
	old := ca.server(local, year, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, ok) //nolint:gosec // an old server
	tests := map[string]struct {
		url, text string
		status    doctor.Status
	}{
		"good":         {good.URL + "/scim/v2", "TLS 1.3, certificate for 127.0.0.1, valid until", doctor.OK},
		"credentials":  {good.URL + "/scim/v2", "requires credentials", doctor.OK},
		"expired":      {ca.server(local, time.Now().Add(-time.Hour), &tls.Config{}, ok).URL, "expired on", doctor.Problem},
		"expires soon": {ca.server(local, time.Now().Add(time.Hour), &tls.Config{}, ok).URL, "expires within 1 day", doctor.Warning},
		"another name": {ca.server("scim.example.com", year, &tls.Config{}, ok).URL, "is for scim.example.com, not for 127.0.0.1",
			doctor.Problem},
		"unknown authority": {newAuthority(t).server(local, year, &tls.Config{}, ok).URL, "sends only its own certificate, issued by CN=Test CA",
			doctor.Problem},
		"self-signed":      {selfSigned.URL, "self-signed", doctor.Problem},
		"old protocol":     {old.URL, "supports only TLS 1.1 or earlier", doctor.Problem},
		"https without":    {strings.Replace(plain.URL, "http:", "https:", 1), "does not use TLS: begin it with http://", doctor.Problem},
		"http for https":   {strings.Replace(good.URL, "https:", "http:", 1), "uses TLS: begin it with https://", doctor.Problem},
		"no server":        {"http://127.0.0.1:1", "refused", doctor.Problem},
		"no host":          {"http://name.invalid/scim/v2", "name.invalid", doctor.Problem},
		"with credentials": {"https://a:b@example.com", "not an absolute http or https URL", doctor.Problem},
		"plain loopback":   {plain.URL, "responds (200 OK)", doctor.OK},
		"clock of server": {ca.server(local, year, &tls.Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
		}).URL, "the clock of the target and that of this machine differ by", doctor.Problem},
		"another path": {ca.server(local, year, &tls.Config{}, http.NotFound).URL, "returns 404", doctor.Warning},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, doctor.Options{Targets: []string{tt.url}, Roots: roots})
			var found bool
			for _, result := range find(t, r, "target") {
				if strings.Contains(result.Text, tt.text) {
					found = true
					require.Equal(t, tt.status, result.Status, "%+v", result)
				}
			}
			require.True(t, found, "%+v", r.Results)
		})
	}
}
