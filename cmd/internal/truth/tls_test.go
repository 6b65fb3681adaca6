package truth_test

import (
	"crypto/tls"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
)

// encrypted sets the TLS version of every response, none for 0.
type encrypted struct {
	inProcess
	version uint16
}

func (t encrypted) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.inProcess.RoundTrip(r)
	if err == nil && t.version != 0 {
		res.TLS = &tls.ConnectionState{Version: t.version}
	}
	return res, err
}

func TestSuite_ReportsWeakTLS(t *testing.T) {
	t.Parallel()
	selected, err := conformance.Selection{Only: []string{"auth.tls"}}.Apply(checks.All())
	require.NoError(t, err)
	for _, tt := range []struct {
		name, url string
		version   uint16
		want      conformance.Outcome
	}{
		{"TLS 1.3 passes", "https://scim.example.com/scim/v2", tls.VersionTLS13, conformance.Pass},
		{"TLS 1.2 passes", "https://scim.example.com/scim/v2", tls.VersionTLS12, conformance.Pass},
		{"TLS 1.1 fails", "https://scim.example.com/scim/v2", tls.VersionTLS11, conformance.Fail},
		{"no TLS fails", "http://scim.example.com/scim/v2", 0, conformance.Fail},
		{"loopback is skipped", "http://127.0.0.1/scim/v2", 0, conformance.Skip},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target := conformance.Target{URL: tt.url, Token: referenceToken, Transport: encrypted{inProcess{newReferenceServer(t)}, tt.version}}
			r, err := conformance.Run(t.Context(), target, conformance.Options{Checks: selected, ReadOnly: true})
			require.NoError(t, err)
			require.Len(t, r.Checks, 1)
			require.Equal(t, tt.want, r.Checks[0].Outcome, "%s", describe(r.Checks[0]))
		})
	}
}
