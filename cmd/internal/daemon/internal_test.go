package daemon

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestAudit_Bounded removes old entries by number and by age, and continues the numbers after a restart.
func TestAudit_Bounded(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		d, err := openTables(t.Context(), db)
		require.NoError(t, err)
		now := time.Unix(1_000_000, 0)
		open := func() *recorder {
			r := newRecorder(d, slog.New(slog.DiscardHandler))
			t.Cleanup(func() { _ = r.close(t.Context()) })
			return r
		}
		count := func() (seqs []int64) {
			all, err := d.entries(t.Context(), "", 0, 1000)
			require.NoError(t, err)
			for _, e := range all {
				seqs = append(seqs, e.Seq)
			}
			return seqs
		}
		r := open()
		limits := AuditLimits{Age: time.Hour, Rows: 3}
		prune := func() { require.NoError(t, d.pruneAudit(t.Context(), limits, now)) }
		for range 10 {
			_, err := r.begin(t.Context(), entry{At: now, Tenant: "a", Operation: "op"})
			require.NoError(t, err)
		}
		prune()
		require.Equal(t, []int64{8, 9, 10}, count())
		now = now.Add(2 * time.Hour)
		prune()
		require.Equal(t, []int64{10}, count(), "the last entry remains")
		r.end(10, http.StatusOK)
		require.NoError(t, r.close(t.Context()))
		all, err := d.entries(t.Context(), "a", 9, 10)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, all[0].Status, "the end of the recorder writes the statuses")
		_, err = r.begin(t.Context(), entry{At: now})
		require.ErrorIs(t, err, errStopping)
		seq, err := open().begin(t.Context(), entry{At: now})
		require.NoError(t, err)
		require.Equal(t, int64(11), seq)
	})
}

// TestSkew_Reported compares the clock of this machine with that of the database.
func TestSkew_Reported(t *testing.T) {
	db := sqldbtest.Postgres(t)
	d, err := openTables(t.Context(), db)
	require.NoError(t, err)
	text, err := d.skew(t.Context(), time.Now)
	require.NoError(t, err)
	require.Empty(t, text)
	text, err = d.skew(t.Context(), func() time.Time { return time.Now().Add(-time.Hour) })
	require.NoError(t, err)
	require.Contains(t, text, "differ by 1h0m0s")
}

func TestCertificate_Validity(t *testing.T) {
	from := time.Unix(1_700_000_000, 0)
	secure := &tls.Config{Certificates: []tls.Certificate{{Leaf: &x509.Certificate{NotBefore: from, NotAfter: from.Add(90 * day)}}}}
	for after, says := range map[time.Duration]string{
		-time.Hour: "is the clock", time.Hour: "", 80 * day: "expires at 2024-02-12", 91 * day: "expired at 2024-02-12",
	} {
		text := certificateText(secure, from.Add(after))
		require.Contains(t, text, says)
		require.Equal(t, says == "", text == "")
	}
	require.Empty(t, certificateText(nil, from))
}

// TestSteadyBody_LongUpload uploads to a server whose time limit for the whole request has passed before the body is read.
func TestSteadyBody_LongUpload(t *testing.T) {
	steady := true
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if steady {
			r.Body = &steadyBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n != 4<<20 {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}))
	server.Config.ReadHeaderTimeout, server.Config.ReadTimeout = time.Minute, time.Nanosecond
	server.Start()
	defer server.Close()
	send := func() (int, error) {
		res, err := server.Client().Post(server.URL, "application/x-ndjson", io.LimitReader(rand.Reader, 4<<20))
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	status, err := send()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	steady = false
	status, err = send()
	assert.True(t, err != nil || status == http.StatusRequestTimeout, "without it, the upload fails")
}
