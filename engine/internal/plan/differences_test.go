package plan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

// TestDifferences checks that Differences returns the values a sequence would write, and lists the attributes ignored by the target
// separately.
func TestDifferences(t *testing.T) {
	parse := func(text string) *scim.Resource {
		r, err := scim.DecodeResource([]byte(text))
		require.NoError(t, err)
		return r
	}
	sent := func(value any) engine.IgnoredAttribute {
		sum := sha256.Sum256(scim.AppendValue(nil, value))
		return engine.IgnoredAttribute{Sent: hex.EncodeToString(sum[:8]), Rounds: plan.DefaultRounds, Ignored: true}
	}
	const schemas = `"schemas":["` + scim.UserSchema + `"]`
	have := parse(`{"id":"1",` + schemas + `,"userName":"ann","title":"Mr.","locale":"en"}`)
	want := parse(`{` + schemas + `,"userName":"ann","title":"Dr.","nickName":"A","password":"x"}`)

	differ, ignored := plan.Differences(have, want, nil)
	require.Empty(t, cmp.Diff([]engine.Mismatch{{Path: "title", Have: "Mr.", Want: "Dr."}, {Path: "nickName", Want: "A"}}, differ))
	require.Empty(t, ignored)

	differ, ignored = plan.Differences(have, want, map[string]engine.IgnoredAttribute{"title": sent("Dr."), "nickName": sent("B")})
	require.Empty(t, cmp.Diff([]engine.Mismatch{{Path: "nickName", Want: "A"}}, differ), "rounds are counted per value")
	require.Empty(t, cmp.Diff([]engine.Mismatch{{Path: "title", Have: "Mr.", Want: "Dr."}}, ignored))

	differ, _ = plan.Differences(have, nil, nil)
	require.Empty(t, differ)
}
