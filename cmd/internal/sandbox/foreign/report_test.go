package foreign_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// reportFile contains a generated part for each server and style, between two HTML comments. The rest is written by hand.
var reportFile = filepath.Join("..", "..", "..", "..", "docs", "interop", "engine.md")

// part returns the part of the report for a server and a style, and the text before and after it.
func (s server) part(t *testing.T, style engine.Style) (before, text, after string) {
	t.Helper()
	data, err := os.ReadFile(reportFile)
	require.NoError(t, err)
	name := s.name + " " + string(style) + " -->\n"
	before, rest, begins := strings.Cut(string(data), "<!-- begin "+name)
	text, after, ends := strings.Cut(rest, "<!-- end "+name)
	require.True(t, begins && ends, "the report has a part for %s", name)
	return before + "<!-- begin " + name, text, "<!-- end " + name + after
}

// check compares the results of a run with its part of the report.
func (s server) check(t *testing.T, style engine.Style, got string) {
	t.Helper()
	if _, auto, _ := s.part(t, engine.Auto); style != engine.Auto && auto == got {
		got = "\nThe same as with the style auto.\n\n"
	}
	before, want, after := s.part(t, style)
	if goldentest.Updating() {
		goldentest.Update(t, reportFile, before+got+after)
		return
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-report +now\n%s", diff)
	}
}

var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// report returns the part of the report for the run.
func (r *run) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| Phase | marks | %s | errors | result on the target |\n|---%s|---|---|---|\n", strings.Join(methods, " | "),
		strings.Repeat("|---", len(methods)))
	for _, t := range r.results {
		fmt.Fprintf(&b, "| %s | %d", t.phase, t.marks)
		for _, m := range methods {
			fmt.Fprintf(&b, " | %d", t.requests[m])
		}
		fmt.Fprintf(&b, " | %d | %s", t.refused, t.found.summary())
		if t.unsettled > 0 {
			fmt.Fprintf(&b, "; %d not converged", t.unsettled)
		}
		b.WriteString(" |\n")
	}
	lane, err := r.engine.Apps().Get(r.t.Context(), app)
	require.NoError(r.t, err)
	traits := "nothing"
	if len(lane.Learned.Traits) > 0 {
		var names []string
		for trait := range lane.Learned.Traits {
			names = append(names, "`"+string(trait)+"`")
		}
		slices.Sort(names)
		traits = strings.Join(names, ", ")
	}
	fmt.Fprintf(&b, "\nLearned: %s.", traits)
	r.writeIgnored(&b)
	r.writeStates(&b)
	b.WriteString("\n")
	r.writeErrors(&b)
	b.WriteString("\n")
	return b.String()
}

// states returns, for each key, the number of principals for whose state the function keep returns the key.
func (r *run) states(keep func(engine.State) []string) map[string]int {
	out := map[string]int{}
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		all, err := r.engine.States(r.t.Context(), engine.StateQuery{App: app, Kind: kind, Limit: 10_000})
		require.NoError(r.t, err)
		for _, s := range all {
			for _, key := range keep(s) {
				out[key]++
			}
		}
	}
	return out
}

func (r *run) writeIgnored(b *strings.Builder) {
	unkept := r.states(func(s engine.State) (out []string) {
		for path, u := range s.IgnoredAttributes {
			if u.Rounds > 0 {
				out = append(out, path)
			}
		}
		return out
	})
	for i, path := range slices.Sorted(maps.Keys(unkept)) {
		fmt.Fprintf(b, "%s`%s` of %d users", map[bool]string{true: " Ignored by the target: ", false: ", "}[i == 0], path, unkept[path])
	}
	if len(unkept) > 0 {
		b.WriteString(".")
	}
}

func (r *run) writeStates(b *strings.Builder) {
	odd := r.states(func(s engine.State) []string {
		if s.Status == engine.StatusClean {
			return nil
		}
		return []string{fmt.Sprintf("%s, %s: %s", s.Kind, s.Status, plain(s.LastError))}
	})
	if len(odd) == 0 {
		b.WriteString(" At the end every user and every group is clean.")
	}
	for _, key := range slices.Sorted(maps.Keys(odd)) {
		fmt.Fprintf(b, " %d × %s.", odd[key], key)
	}
}

// writeErrors groups the exchanges with an error response by method, endpoint, status and message. It writes the size and one exchange of
// each group.
func (r *run) writeErrors(b *strings.Builder) {
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	kinds := map[string][]string{}
	for _, x := range r.wire.all {
		if x.status >= 200 && x.status < 300 {
			continue
		}
		path, err := url.PathUnescape(x.path)
		if err != nil {
			path = x.path
		}
		endpoint, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "?")
		endpoint, _, _ = strings.Cut(endpoint, "/")
		answer := plain(x.answer)
		kind := fmt.Sprint(x.method, endpoint, x.status, quoted.ReplaceAllString(answer, ""))
		shown := code(x.method + " " + plain(path))
		if x.sent != "" {
			shown += " " + code(plain(x.sent))
		}
		kinds[kind] = append(kinds[kind], fmt.Sprintf("%s | %d %s |", shown, x.status, code(answer)))
	}
	if len(kinds) == 0 {
		return
	}
	b.WriteString("\n| count | request | response |\n|---|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(b, "| %d | %s\n", len(kinds[kind]), slices.MinFunc(kinds[kind], cmp.Compare[string]))
	}
}

var (
	// ids matches generated ids: UUIDs, and words of 24 or more letters and digits.
	ids    = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\b[0-9A-Za-z]{24,}\b`)
	quoted = regexp.MustCompile(`'[^']*'|\\"[^"]*\\"`)
)

// excerpt is the maximum number of characters of a body in the report.
const excerpt = 200

// plain shortens a string and removes the values that differ between runs.
func plain(text string) string {
	out := []rune(ids.ReplaceAllString(text, "…"))
	if len(out) > excerpt {
		out = append(out[:excerpt], '…')
	}
	return string(out)
}

// code formats a string as code in a table cell.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("|", `\|`, "`", "'", "\n", " ").Replace(text) + "`"
}
