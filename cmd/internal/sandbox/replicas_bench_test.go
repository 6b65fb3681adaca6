package sandbox_test

import (
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// BenchmarkRequest measures a small request to the management API and to a SCIM server, on each database, with and without rate limits.
func BenchmarkRequest(b *testing.B) {
	for _, c := range []struct {
		name     string
		postgres bool
		limits   bool
	}{{"sqlite", false, false}, {"sqlite/limits", false, true}, {"postgres", true, false}, {"postgres/limits", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			o := sandbox.Options{Listen: "127.0.0.1:0", Empty: true, NoRateLimits: !c.limits, HashCost: bcrypt.MinCost}
			if c.postgres {
				o.DB, o.SecretKeyFile = sqldbtest.PostgresURL(b, sqldbtest.Durable), filepath.Join(b.TempDir(), "secret.key")
			}
			s, err := sandbox.Start(b.Context(), o)
			require.NoError(b, err)
			defer s.Close(b.Context())
			r := s.Ready()
			for _, call := range [][3]string{
				{"management", r.BaseURL + "/api/v1/users/me", "SSWS " + r.APIToken},
				{"scim", r.SCIMURL + "/Users?count=1", "Bearer " + r.SCIMToken},
			} {
				for name, clients := range map[string]int{"one": 1, "eight": 4} { // RunParallel multiplies by the number of processors
					b.Run(call[0]+"/"+name, func(b *testing.B) {
						if c.limits && call[0] == "scim" {
							b.Skip("not limited")
						}
						request(b, call[1], call[2], clients)
					})
				}
			}
		})
	}
}

func request(b *testing.B, address, authorization string, clients int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	once := func() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
		if err == nil {
			req.Header.Set("Authorization", authorization)
			var res *http.Response
			if res, err = client.Do(req); err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}
		if err != nil {
			b.Error(err)
		}
	}
	once()
	if clients == 1 {
		for b.Loop() {
			once()
		}
		return
	}
	b.SetParallelism(clients)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			once()
		}
	})
}
