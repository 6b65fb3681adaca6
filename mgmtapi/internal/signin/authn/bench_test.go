package authn_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// BenchmarkRefusedSignIn measures a sign-in with a wrong password at the minimum hash cost: what remains is the count of attempts and the
// log.
func BenchmarkRefusedSignIn(b *testing.B) {
	e := apitest.New(b, sqldbtest.SQLite(b))
	e.Unrecorded()
	require.Equal(b, http.StatusOK, e.Do(b, create, isaac(credentials), nil).Status)
	try := func(password string) int {
		return e.Do(b, "POST /api/v1/authn", `{"username":"isaac","password":"`+password+`"}`, public).Status
	}
	for n := 1; b.Loop(); n++ {
		if n%(maxAttempts-1) == 0 { // the next failure would lock the user out: a successful sign-in resets the count
			b.StopTimer()
			require.Equal(b, http.StatusOK, try(first))
			b.StartTimer()
		}
		require.Equal(b, http.StatusUnauthorized, try("wrong"))
	}
}
