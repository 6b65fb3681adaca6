package docpages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = "# Page\n\n<!-- exit: 1 -->\n<!-- wait: 127.0.0.1:9 -->\n```sh\nfalse\n```\n\n```text\na\n```\n" +
	"<!-- edit: x.py -->\n```diff\n-a\n+b\n```\n"

func TestParse_Directives(t *testing.T) {
	blocks, err := Parse(sample)
	require.NoError(t, err)
	require.Equal(t, []Block{
		{Line: 5, Language: "sh", Text: "false\n", Exit: 1, Wait: "127.0.0.1:9"},
		{Line: 9, Language: "text", Text: "a\n"},
		{Line: 13, Language: "diff", Text: "-a\n+b\n", Edit: "x.py"},
	}, blocks)
	_, err = Parse("```sh\nfalse\n")
	require.ErrorContains(t, err, "line 1: the fence is not closed")
	_, err = Parse("<!-- exit: one -->\n")
	require.ErrorContains(t, err, `line 1: exit "one" is not a number`)
}

func TestShown_OrderAndEllipsis(t *testing.T) {
	output := "run 17 of x\nseconds: 3\n  works\ndone\n"
	require.NoError(t, Shown("run ... of x\n...\nworks\n", output))
	require.ErrorContains(t, Shown("works\nrun ... of x\n", output), `"run ... of x"`)
	require.ErrorContains(t, Shown("work\n", output), `"work"`)
}

func TestEdited_OnceOnly(t *testing.T) {
	content := "if a:\n    b\n\n    c\n"
	edited, err := Edited(content, "     b\n\n-    c\n+    d\n+    e\n")
	require.NoError(t, err)
	require.Equal(t, "if a:\n    b\n\n    d\n    e\n", edited)
	_, err = Edited(content+content, "-    c\n")
	require.ErrorContains(t, err, "2 times instead of once")
}
