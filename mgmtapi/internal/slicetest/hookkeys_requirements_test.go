package slicetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves A-hookkeys-02, A-hookkeys-05, A-hookkeys-07, A-hookkeys-13.
func TestHookKey_OnlyNameChanges(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	const created, changed = "2026-03-04T05:06:07.000Z", "2026-03-04T06:06:07.000Z"
	body := `{"name":"n","id":"HKY00000000000000000","keyId":"mine","isUsed":true,"created":"2001-01-01T00:00:00.000Z",` +
		`"_embedded":{"n":"AQAB"}}`
	first := e.Do(t, "POST "+keys, body, nil)
	second := e.Do(t, "POST "+keys, `{"name":"m"}`, nil)
	require.Equal(t, []string{created, created}, []string{first.Value("created"), first.Value("lastUpdated")})
	require.NotEqual(t, "mine", first.Value("keyId"))
	require.NotEqual(t, first.Value("keyId"), second.Value("keyId"))
	require.NotEqual(t, first.Value("_embedded.kid"), second.Value("_embedded.kid"))
	e.Clock.Advance(time.Hour)
	same := map[string]any{"name": "other", "created": created, "lastUpdated": changed, "isUsed": false}
	for _, member := range []string{"id", "keyId", "_embedded.n", "_embedded.kid"} {
		same[member] = first.Value(member)
	}
	e.Run(t,
		apitest.Step{Do: "PUT " + keys + "/" + first.Value("id"),
			Body: `{"name":"other","id":"x","keyId":"mine","isUsed":true,"created":"2001-01-01T00:00:00.000Z"}`, Equal: same},
		apitest.Step{Do: "GET " + keys + "/" + first.Value("id"), Equal: same},
	)
}
