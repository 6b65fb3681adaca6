package directory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/internal/directory"
)

func TestAscending(t *testing.T) {
	full := make([]string, directory.Page)
	for i := range full {
		full[i] = fmt.Sprintf("u-%04d", i)
	}
	for name, c := range map[string]struct {
		pages [][]string
		reads int
		wrong string
	}{
		"no page":                     {[][]string{{}}, 1, ""},
		"one page":                    {[][]string{{"a", "b"}}, 1, ""},
		"a full page and the end":     {[][]string{full, {}}, 2, ""},
		"a full page and another one": {[][]string{full, {"u-z"}}, 2, ""},
		"out of order":                {[][]string{{"b", "a"}}, 1, `users are not in ascending order ("a" after "b")`},
		"a list that repeats itself":  {[][]string{full, full}, 2, `users are not in ascending order ("u-0000" after "u-0999")`},
	} {
		t.Run(name, func(t *testing.T) {
			reads, want := 0, []string(nil)
			for _, p := range c.pages {
				want = append(want, p...)
			}
			var got []string
			var failed error
			for page, err := range directory.Ascending("users", func(string) ([]string, error) {
				reads++
				return c.pages[reads-1], nil
			}) {
				got, failed = append(got, page...), err
			}
			require.Equal(t, c.reads, reads)
			if c.wrong != "" {
				require.EqualError(t, failed, c.wrong)
				return
			}
			require.NoError(t, failed)
			require.Equal(t, want, got)
		})
	}
}

// TestDigest checks that every part of the desired state changes the digest, except the password. A change of the password version does
// change the digest.
func TestDigest(t *testing.T) {
	const app = "app"
	user, group := engine.Principal{Kind: engine.User, ID: "u"}, engine.Principal{Kind: engine.Group, ID: "g"}
	d := &enginetest.Directory{}
	digest := func(p engine.Principal) string {
		out, err := directory.Digest(context.Background(), d, app, p)
		require.NoError(t, err)
		return out
	}
	state := engine.UserState{Want: engine.Active, UserName: "ann", Password: "one", PasswordVersion: "1"}
	d.SetUser(app, "u", state)
	before := digest(user)
	state.Password = "two"
	d.SetUser(app, "u", state)
	require.Equal(t, before, digest(user))
	state.PasswordVersion = "2"
	d.SetUser(app, "u", state)
	require.NotEqual(t, before, digest(user))

	d.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	d.SetMember(app, "g", "a", true)
	d.SetMember(app, "g", "b", true)
	before = digest(group)
	d.SetMember(app, "g", "b", false)
	require.NotEqual(t, before, digest(group), "members count")
}
