package drift_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/drift"
	"github.com/scimwright/scimwright/scim"
)

func TestObjectOf(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want drift.Object
	}{
		"a user": {`{"id":"r1","userName":"ann@x","externalId":"e","emails":[{"value":"b@x"},{"value":"a@x","primary":true},{"value":""}],` +
			`"name":{"givenName":"Ann","familyName":"Lee"}}`,
			drift.Object{RemoteID: "r1", UserName: "ann@x", ExternalID: "e", Emails: []string{"a@x", "b@x"}, DisplayName: "Ann Lee"}},
		"a formatted name": {`{"id":"r1","userName":"ann","name":{"formatted":"Dr. Ann"}}`,
			drift.Object{RemoteID: "r1", UserName: "ann", DisplayName: "Dr. Ann"}},
		"a group":                 {`{"id":"g1","displayName":"Tea"}`, drift.Object{RemoteID: "g1", UserName: "Tea", DisplayName: "Tea"}},
		"nothing":                 {`{}`, drift.Object{}},
		"emails of another shape": {`{"id":"r1","emails":["a@x"]}`, drift.Object{RemoteID: "r1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := scim.DecodeResource([]byte(c.body))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(c.want, drift.ObjectOf(r)))
		})
	}
}

// TestFind_FirstMatchingRule checks that the first rule with a match decides, in the order the caller chose.
func TestFind_FirstMatchingRule(t *testing.T) {
	all := []engine.MatchRule{engine.MatchExternalID, engine.MatchUserName, engine.MatchEmail}
	ann := engine.Candidate{ID: "ann", UserName: "ann@x.org", ExternalID: "E1", Emails: []string{"ann@x.org", "lee@x.org"},
		DisplayName: "Ann Lee"}
	bob := engine.Candidate{ID: "bob", UserName: "bob@x.org", ExternalID: "E2", Emails: []string{"bob@x.org"}, DisplayName: "Bob Ray"}
	both := []engine.Candidate{bob, ann}
	for name, c := range map[string]struct {
		object  drift.Object
		among   []engine.Candidate
		rules   []engine.MatchRule
		partial bool
		want    drift.Match
	}{
		"by identifier although the name belongs to another candidate": {drift.Object{ExternalID: "E1", UserName: "bob@x.org"}, both, all, false,
			drift.Match{Verdict: engine.VerdictMatched, Rule: engine.MatchExternalID, IDs: []string{"ann"}}},
		"the precedence is the caller's": {drift.Object{ExternalID: "E1", UserName: "bob@x.org"}, both,
			[]engine.MatchRule{engine.MatchUserName, engine.MatchExternalID}, false,
			drift.Match{Verdict: engine.VerdictMatched, Rule: engine.MatchUserName, IDs: []string{"bob"}}},
		"a name in another case": {drift.Object{UserName: "ANN@X.org"}, both, all, false,
			drift.Match{Verdict: engine.VerdictMatched, Rule: engine.MatchUserName, IDs: []string{"ann"}}},
		"an identifier in another case differs": {drift.Object{ExternalID: "e1"}, both, all, false,
			drift.Match{Verdict: engine.VerdictUnmatched}},
		"by a second address": {drift.Object{UserName: "al", Emails: []string{"x@y", "Lee@x.org"}}, both, all, false,
			drift.Match{Verdict: engine.VerdictMatched, Rule: engine.MatchEmail, IDs: []string{"ann"}}},
		"two with the same address": {drift.Object{Emails: []string{"bob@x.org", "ann@x.org"}}, both, all, false,
			drift.Match{Verdict: engine.VerdictAmbiguous, Rule: engine.MatchEmail, IDs: []string{"ann", "bob"}}},
		"a candidate that is returned twice": {drift.Object{UserName: "ann@x.org"}, []engine.Candidate{ann, ann}, all, false,
			drift.Match{Verdict: engine.VerdictMatched, Rule: engine.MatchUserName, IDs: []string{"ann"}}},
		"empty values match nothing": {drift.Object{}, []engine.Candidate{{ID: "x"}}, all, true,
			drift.Match{Verdict: engine.VerdictUnmatched}},
		"the part before the @": {drift.Object{UserName: "Ann@other.org"}, both, all, true,
			drift.Match{Verdict: engine.VerdictPartial, IDs: []string{"ann"}}},
		"the display name": {drift.Object{UserName: "1234", DisplayName: "bob ray"}, both, all, true,
			drift.Match{Verdict: engine.VerdictPartial, IDs: []string{"bob"}}},
		"no partial match unless requested": {drift.Object{UserName: "Ann@other.org"}, both, all, false,
			drift.Match{Verdict: engine.VerdictUnmatched}},
		"no candidates": {drift.Object{UserName: "ann@x.org"}, nil, all, true, drift.Match{Verdict: engine.VerdictUnmatched}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(c.want, drift.Find(c.object, c.among, c.rules, c.partial)))
		})
	}
}
