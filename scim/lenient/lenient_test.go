package lenient_test

import (
	"math/bits"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scim/lenient"
)

// TestRules_Complete checks that each leniency has exactly one rule and a name that Parse accepts.
func TestRules_Complete(t *testing.T) {
	var all lenient.Set
	for _, r := range lenient.Rules() {
		require.Equal(t, 1, bits.OnesCount32(uint32(r.Set)), r.Name)
		require.False(t, all.Has(r.Set), "%s occurs twice", r.Name)
		all |= r.Set
		parsed, err := lenient.Parse(r.Name)
		require.NoError(t, err)
		require.Equal(t, r.Set, parsed)
		require.Equal(t, []string{r.Name}, parsed.Names())
	}
	require.Equal(t, lenient.All, all)
	parsed, err := lenient.Parse(lenient.All.Names()...)
	require.NoError(t, err)
	require.Equal(t, lenient.All, parsed)
	_, err = lenient.Parse("op-case", "laziness")
	require.ErrorContains(t, err, `unknown leniency "laziness"`)
}

// TestRules_Documented checks that docs/reference/leniencies.md contains the table of the rules.
func TestRules_Documented(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`# Nonstandard requests that the SCIM server accepts

This page is for operators of the SCIM server, and for developers of clients.

Some provisioning clients send requests that RFC 7643 and RFC 7644 do not allow or do not define. A leniency is a rule by which the ` +
		`SCIM server accepts such a request
and gives it the meaning that the client intends. By default, the server has all leniencies of the table below. ` + "`scimwright " +
		"serve scim --strict`" + ` disables all of them, and
` + "`--lenient op-case,path-keys`" + ` enables only these two. In Go, ` + "`scimserver.Options.Refuse`" + ` has the leniencies to disable.

Without the leniency, most of these requests are rejected with an error. The exceptions are ` +
		"`empty-references`" + ` and ` + "`json-values`" + `: without them, the request is valid and has another meaning.
No client is known that needs this other meaning.
This table is generated from the rules in ` + "`scim/lenient`" + ` (` + "`go test ./scim/lenient -update`" + `).

| Name | The server accepts | Sent by | The RFC requires |
|---|---|---|---|
`)
	for _, r := range lenient.Rules() {
		doc.WriteString("| `" + r.Name + "` | " + r.Accepts + " | " + r.SentBy + " | " + r.RFC + " |\n")
	}
	path := filepath.Join("..", "..", "docs", "reference", "leniencies.md")
	goldentest.Check(t, path, doc.String())
}
