package slicetest_test

import (
	"net/http"
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Each filter is either rejected with its error code or selects events, the same ones each time.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		`eventType eq "x"`, `not (target.id pr) or actor.id ne "u"`, `published ge "2026-03-04T05:06:07Z"`, `debugContext.debugData.a.b co "x"`,
		`authenticationContext.authenticationStep le 1e99`, `request.ipChain.ip[x eq 1]`, `urn:a:b:eventType pr`, `device.x sw "y"`,
		`eventType eq null`, `(`,
	} {
		f.Add(seed)
	}
	e := apitest.New(f, sqldbtest.SQLite(f))
	e.Unrecorded()
	require.Equal(f, http.StatusOK, e.Do(f, "POST /api/v1/users", syslogUser("fuzz@example.com"), nil).Status)
	f.Fuzz(func(t *testing.T, expression string) {
		if !utf8.ValidString(expression) {
			return // the API rejects invalid UTF-8 before it parses the filter
		}
		do := "GET /api/v1/logs?filter=" + url.QueryEscape(expression)
		answer := e.Do(t, do, "", nil)
		if answer.Status != http.StatusOK {
			require.Equal(t, http.StatusBadRequest, answer.Status)
			require.Equal(t, string(rest.CodeLogFilter), answer.Value("errorCode"))
			return
		}
		require.JSONEq(t, string(answer.Body), string(e.Do(t, do, "", nil).Body))
	})
}
