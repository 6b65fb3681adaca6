package drift_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/drift"
	"github.com/scimwright/scimwright/scim"
)

func resource(t *testing.T, body string) *scim.Resource {
	t.Helper()
	r, err := scim.DecodeResource([]byte(body))
	require.NoError(t, err)
	return r
}

// TestUser_ComparedAsInSequence checks that User reports the differences that a sequence would write.
func TestUser_ComparedAsInSequence(t *testing.T) {
	const wanted = `{"schemas":["` + scim.UserSchema + `"],"userName":"ann","name":{"givenName":"Ann"},"title":null}`
	same := `"schemas":["` + scim.UserSchema + `"],"id":"r1","userName":"ann"`
	differs := func(path string, have, want any) engine.Finding {
		return engine.Finding{What: engine.DriftDiffers, Values: []engine.Mismatch{{Path: path, Have: have, Want: want}}}
	}
	activity := func(have, want bool) engine.Finding {
		return engine.Finding{What: engine.DriftActivity, Values: []engine.Mismatch{{Path: "active", Have: have, Want: want}}}
	}
	all := drift.UserWant{Want: engine.Active, Update: true, Deactivate: true}
	with := func(change func(*drift.UserWant)) drift.UserWant { w := all; change(&w); return w }
	for name, c := range map[string]struct {
		want drift.UserWant
		have string
		says []engine.Finding
	}{
		"the target has more attributes": {all, `{` + same + `,"name":{"givenName":"Ann","familyName":"Lee"},"nickName":"A","active":true}`,
			nil},
		"a sub-attribute": {all, `{` + same + `,"name":{"givenName":"Anna"}}`,
			[]engine.Finding{differs("name.givenName", "Anna", "Ann")}},
		"an attribute that should be empty": {all, `{` + same + `,"name":{"givenName":"Ann"},"title":"Dr."}`,
			[]engine.Finding{differs("title", "Dr.", nil)}},
		"inactive": {all, `{` + same + `,"name":{"givenName":"Ann"},"active":false}`,
			[]engine.Finding{activity(false, true)}},
		"both": {all, `{` + same + `,"name":{"givenName":"X"},"active":"False"}`,
			[]engine.Finding{differs("name.givenName", "X", "Ann"), activity(false, true)}},
		"updates are off": {with(func(w *drift.UserWant) { w.Update = false }), `{` + same + `,"name":{"givenName":"X"},"active":false}`,
			[]engine.Finding{activity(false, true)}},
		"deactivations are off": {with(func(w *drift.UserWant) { w.Deactivate, w.Want = false, engine.Inactive }), `{` + same + `}`, nil},
		"should be inactive": {with(func(w *drift.UserWant) { w.Want = engine.Inactive }), `{` + same + `,"name":{"givenName":"X"}}`,
			[]engine.Finding{activity(true, false)}},
		"absent and inactive": {with(func(w *drift.UserWant) { w.Want = engine.Absent }), `{` + same + `,"active":false}`, nil},
		"keep":                {with(func(w *drift.UserWant) { w.Want = engine.Keep }), `{"id":"r1","userName":"other","active":false}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Resource = resource(t, wanted)
			require.Empty(t, cmp.Diff(c.says, drift.User(c.want, resource(t, c.have))))
		})
	}
}

func TestCompareMembers_AsSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.IntRange(0, 30))
		want, have := ids.Draw(t, "want"), ids.Draw(t, "have")
		text := func(of []int) (out []string) {
			for _, n := range of {
				out = append(out, fmt.Sprint(n))
			}
			return out
		}
		set := func(of []int) map[int]bool {
			out := map[int]bool{}
			for _, n := range of {
				out[n] = true
			}
			return out
		}
		lacking, surplus := 0, 0
		for n := range set(want) {
			if !set(have)[n] {
				lacking++
			}
		}
		for n := range set(have) {
			if !set(want)[n] {
				surplus++
			}
		}
		f, differ := drift.CompareMembers(text(want), text(have))
		if f.Lacking != lacking || f.Surplus != surplus || differ != (lacking+surplus > 0) || len(f.Examples) != min(lacking+surplus, 10) {
			t.Fatalf("%+v, want %d lacking and %d surplus", f, lacking, surplus)
		}
	})
}

// TestMemberIDs_MembersHidden checks that MemberIDs distinguishes an empty member list from an omitted one.
func TestMemberIDs_MembersHidden(t *testing.T) {
	ids, listed := drift.MemberIDs(resource(t, `{"id":"g","members":[{"value":"a"},{"display":"b"}]}`))
	require.True(t, listed)
	require.Equal(t, []string{"a", ""}, ids)
	_, listed = drift.MemberIDs(resource(t, `{"id":"g","members":[]}`))
	require.True(t, listed)
	_, listed = drift.MemberIDs(resource(t, `{"id":"g"}`))
	require.False(t, listed)
}
