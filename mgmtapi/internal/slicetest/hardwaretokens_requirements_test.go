package slicetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves B-tokens-01, B-tokens-06, B-tokens-07, B-tokens-09.
func TestHardwareToken_Members(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	saved := e.Run(t,
		apitest.Step{Do: "POST " + hardwareRoot, Body: seed("1", "cccccccccccb"), Save: map[string]string{"id": "id"}},
		apitest.Step{Do: "POST /api/v1/users", Body: hardwareUser("ada@example.com", "ada@example.com"), Save: map[string]string{"user": "id"}},
	)
	e.Clock.Advance(time.Hour)
	assign(t, e, saved["id"], saved["user"])
	const created, later = "2026-03-04T05:06:07.000Z", "2026-03-04T06:06:07.000Z"
	e.Run(t, apitest.Step{Do: "GET " + hardwareRoot + "/" + saved["id"], Equal: map[string]any{
		"id": saved["id"], "created": created, "activated": later, "lastVerified": later, "lastUpdated": later, "status": "ACTIVE",
		"profile.serial": "000000000001",
	}, Has: []string{"_links.self.href", "_links.user.href", "_links.deactivate.href"}})
	for _, filter := range []string{
		`profile.email+eq+%22ada@example.com%22`, `profile.serial+eq+%221%22`, `activated+eq+%22` + later + `%22`, `user.id+eq+%22` +
			saved["user"] + `%22`,
		`created+eq+%22` + created + `%22`, `status+eq+%22ACTIVE%22`, `lastVerified+eq+%22` + later + `%22`,
	} {
		e.Run(t, apitest.Step{Do: "GET " + hardwareRoot + "?filter=" + filter, Equal: map[string]any{"#": 1, "0.id": saved["id"],
			"header:Content-Type": "application/json"}})
	}
	for i := range 20 {
		a := e.Do(t, "POST "+hardwareRoot, seed(fmt.Sprint(i+2),
			"cccccccccc"+string("cbdefghijklnrtuv"[i/16])+string("cbdefghijklnrtuv"[i%16])), nil)
		if a.Status != 200 { // the first token already has this public id
			a = e.Do(t, "POST "+hardwareRoot, seed(fmt.Sprint(i+2), "vvvvvvvvvvvv"), nil)
		}
		require.Equal(t, 200, a.Status, "%s", a.Body)
	}
	e.Run(t, apitest.Step{Do: "GET " + hardwareRoot, Equal: map[string]any{"#": 20}, Has: []string{"link:next"}})
}
