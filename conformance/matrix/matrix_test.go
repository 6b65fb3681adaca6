package matrix_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/matrix"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// write writes a file of a directory of reports.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

// checkOf returns a check of a report with one finding, or without findings if it passes.
func checkOf(id string, outcome conformance.Outcome, clause string) report.Check {
	area, _, _ := strings.Cut(id, ".")
	c := report.Check{ID: id, Title: "Title of " + id, Area: area, Level: conformance.Must, Outcome: outcome, Clauses: []report.Clause{}}
	if clause != "" {
		c.Clauses = append(c.Clauses, clauseOf(clause))
	}
	if outcome == conformance.Fail || outcome == conformance.Warn {
		c.Why, c.Fix, c.Clients = "Why of "+id, "Fix of "+id, []string{"Okta"}
		c.Findings = []report.Finding{{Outcome: outcome, What: "status of POST /Users <script>", Want: "201", Got: "200 | `x`",
			Curl: "curl 'http://127.0.0.1:1/Users'", Exchange: &report.Exchange{RequestHeaders: http.Header{}, ResponseHeaders: http.Header{}}}}
	}
	return c
}

func clauseOf(id string) report.Clause {
	return report.Clause{ID: id, Section: "RFC 7644 section 3.3", Level: "MUST", Text: "The statement of " + id}
}

// reportOf returns a report of two areas, one client and three clauses.
func reportOf(create, patch, step conformance.Outcome, fit conformance.Compatibility) report.Document {
	d := report.Document{
		Format: report.Format, Tool: "scim-conformance", Version: "v1.2.3", Target: "http://127.0.0.1:1", Run: "scimconf-x", Seed: 1,
		Requests: 12, Verdict: conformance.Findings, Outcomes: map[conformance.Outcome]int{create: 1, patch: 1},
		Checks: []report.Check{
			checkOf("create.status", create, "RFC7644-3.3-08"),
			checkOf("create.location", conformance.Pass, "RFC7644-3.3-09"),
			checkOf("patch.response", patch, "RFC7644-3.5.2-01"),
			checkOf("okta.catalog-create", step, ""),
		},
		Clauses: []report.Verdict{
			{Clause: clauseOf("RFC7644-3.3-08"), Outcome: create, Checks: []string{"create.status"}},
			{Clause: clauseOf("RFC7644-3.3-09"), Outcome: conformance.Pass, Checks: []string{"create.location"}},
			{Clause: clauseOf("RFC7644-3.5.2-01"), Outcome: patch, Checks: []string{"patch.response"}},
		},
		Profiles: []report.Profile{{Profile: "okta", Conversation: "catalog", Client: "Okta", Title: "application of the catalog", Fit: fit}},
	}
	if fit == conformance.Breaks {
		d.Profiles[0].Step, d.Profiles[0].Action = "okta.catalog-create", "A user is created"
		d.Profiles[0].Why, d.Profiles[0].Fix = "The assignment fails.", "Return 201."
	}
	return d
}

// encode returns the JSON of a report. causes, if not empty, is the JSON of its member causes.
func encode(t *testing.T, d report.Document, causes string) string {
	t.Helper()
	data, err := json.MarshalIndent(d, "", " ")
	require.NoError(t, err)
	if causes == "" {
		return string(data)
	}
	return strings.Replace(string(data), "{", `{"causes": `+causes+",", 1)
}

// reports writes three reports: one with causes, one of an earlier version without causes, and one without findings.
func reports(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "b.json", encode(t, reportOf(conformance.Fail, conformance.Fail, conformance.Warn, conformance.Breaks),
		`[{"headline":"POST /Users returns 200 instead of 201","checks":["create.status","okta.catalog-create"],`+
			`"curl":"curl 'http://127.0.0.1:1/Users'","why":"Clients retry.","fix":"Return 201."}]`))
	write(t, dir, "b.product.yaml", "name: \"@acme/server\"\nversion: 2.1.0\nsetup: Express 5\nlink: https://example.com/server\n"+
		"reproduce: |\n  sh start.sh\n  scim-conformance run URL\nnotes: [It stores data in memory.]\n")
	write(t, dir, "a.json", encode(t, reportOf(conformance.Fail, conformance.Warn, conformance.Info, conformance.Breaks), ""))
	write(t, dir, "a.product.json", `{"name": "Old", "version": "1"}`)
	write(t, dir, "c.json", encode(t, reportOf(conformance.Pass, conformance.Skip, conformance.Pass, conformance.Works), ""))
	write(t, dir, "notes.txt", "not a report")
	return dir
}

func TestForms_Golden(t *testing.T) {
	m, err := matrix.Read(reports(t))
	require.NoError(t, err)
	for _, w := range matrix.Writers() {
		var out bytes.Buffer
		require.NoError(t, w.Write(&out, m))
		goldentest.Check(t, filepath.Join("testdata", "matrix."+w.Name), out.String())
		if w.Name != "json" {
			require.NotContains(t, out.String(), "<script", "a value of a report")
		}
	}
}

// TestParse_ReadsJSONForm checks that the other forms can be written from the JSON form.
func TestParse_ReadsJSONForm(t *testing.T) {
	m, err := matrix.Read(reports(t))
	require.NoError(t, err)
	var data, direct, again bytes.Buffer
	require.NoError(t, matrix.JSON(&data, m))
	parsed, err := matrix.Parse(data.Bytes())
	require.NoError(t, err)
	require.NoError(t, matrix.HTML(&direct, m))
	require.NoError(t, matrix.HTML(&again, parsed))
	require.Equal(t, direct.String(), again.String())

	for name, damaged := range map[string]string{
		"not a matrix":                       `{"tool": "scim-conformance", "format": 1}`,
		"in format 1":                        strings.Replace(data.String(), `"format": 1`, `"format": 2`, 1),
		"has 3 cells for 2 products":         dropProduct(t, data.Bytes()),
		"refers to cause 99":                 strings.Replace(data.String(), "\"causes\": [\n      1\n", "\"causes\": [\n      99\n", 1),
		"not a matrix of the suite: invalid": "<html>",
	} {
		_, err := matrix.Parse([]byte(damaged))
		require.ErrorContains(t, err, name)
	}
}

func dropProduct(t *testing.T, data []byte) string {
	t.Helper()
	var m matrix.Matrix
	require.NoError(t, json.Unmarshal(data, &m))
	m.Products = m.Products[:2]
	out, err := json.Marshal(m)
	require.NoError(t, err)
	return string(out)
}

// TestCells_RedHaveCause checks that every cell with a failure refers to a cause that names one of its checks.
func TestCells_RedHaveCause(t *testing.T) {
	m, err := matrix.Read(reports(t))
	require.NoError(t, err)
	red := 0
	check := func(row string, cells []matrix.Cell) {
		for i, c := range cells {
			if c.Outcome != conformance.Fail && c.Outcome != conformance.Warn {
				require.Empty(t, c.Causes, row)
				continue
			}
			red++
			require.NotEmpty(t, c.Causes, "%s of %s", row, m.Products[i].ID)
			for _, n := range c.Causes {
				cause := m.Products[i].Causes[n-1]
				require.NotEmpty(t, cause.Headline)
				require.NotEmpty(t, cause.Checks)
			}
		}
	}
	for _, r := range m.Clients {
		check(r.Client, r.Cells)
	}
	for _, r := range m.Areas {
		check(r.Area, r.Cells)
	}
	for _, r := range m.Clauses {
		check(r.ID, r.Cells)
	}
	require.Equal(t, 10, red)
	require.Equal(t, 1, m.Clean)
	require.Equal(t, []string{"@acme/server", "c", "Old"}, []string{m.Products[0].Name, m.Products[1].Name, m.Products[2].Name})
	// The report's own cause explains the create and the client's step; the PATCH has a cause of its own.
	require.Len(t, m.Products[0].Causes, 2)
	require.Equal(t, []string{"create.status", "okta.catalog-create"}, m.Products[0].Causes[0].Checks)
	require.Equal(t, conformance.Fail, m.Products[0].Causes[0].Outcome)
	// In an earlier report, a step without a finding of its own is explained by the verdict on the client.
	require.Equal(t, "Okta breaks: A user is created", m.Products[2].Causes[2].Headline)
}

// TestProduct_VersionVerbatim checks that a version that looks like a number stays as it is written.
func TestProduct_VersionVerbatim(t *testing.T) {
	good := encode(t, reportOf(conformance.Pass, conformance.Pass, conformance.Pass, conformance.Works), "")
	for written, want := range map[string]string{`1.10`: "1.10", `"2.0"`: "2.0", `1.2.3`: "1.2.3", `v7 # latest`: "v7", `1.0 # old`: "1.0"} {
		dir := t.TempDir()
		write(t, dir, "a.json", good)
		write(t, dir, "a.product.yaml", "name: A\nversion: "+written+"\nsetup: s\n")
		m, err := matrix.Read(dir)
		require.NoError(t, err)
		require.Equal(t, want, m.Products[0].Version)
		require.Equal(t, "s", m.Products[0].Setup)
	}
}

func TestRead_RejectsBadInput(t *testing.T) {
	good := encode(t, reportOf(conformance.Pass, conformance.Pass, conformance.Pass, conformance.Works), "")
	for want, files := range map[string]map[string]string{
		"contains no JSON report: write one with":  {"notes.txt": "x"},
		"a.json: not a JSON report of the suite":   {"a.json": `{"name": "x"}`},
		"a.json: not a JSON report of the suite: ": {"a.json": `{`},
		"in format 1": {"a.json": strings.Replace(good, `"format": 1`, `"format": 7`, 1)},
		"describes no report: b.json does not exist": {"a.json": good, "b.product.yaml": "name: B"},
		"with name, version, link, setup":            {"a.json": good, "a.product.yaml": "title: A"},
		"the product has no name":                    {"a.json": good, "a.product.yaml": "version: 1"},
		"with name, version":                         {"a.json": good, "a.product.yaml": "name: A\nversion: [1]"},
		"have the same product, version and setup": {
			"a.json": good, "b.json": good, "a.product.yaml": "name: A", "b.product.yml": "name: A",
		},
	} {
		dir := t.TempDir()
		for name, content := range files {
			write(t, dir, name, content)
		}
		_, err := matrix.Load(dir)
		require.ErrorContains(t, err, want)
	}
	_, err := matrix.Load(filepath.Join(t.TempDir(), "absent"))
	require.ErrorContains(t, err, "does not exist: give a directory of JSON reports")
}

// TestMatrix_OneCausePerChange checks that steps of several client flows which require the same change are one cause, without ids.
func TestMatrix_OneCausePerChange(t *testing.T) {
	dir := t.TempDir()
	d := reportOf(conformance.Pass, conformance.Pass, conformance.Pass, conformance.Works)
	d.Profiles = nil
	for _, flow := range []string{"default", "flag"} {
		d.Profiles = append(d.Profiles,
			report.Profile{Profile: "entra", Conversation: flow, Client: "Microsoft Entra ID", Fit: conformance.Breaks})
		for _, step := range []string{"-lookup", "-disable"} {
			c := checkOf("entra."+flow+step, conformance.Fail, "")
			c.Fix, c.Findings[0].Want = "Fix"+step, `[{"id":"abcdefgh`+flow+`"}]`
			d.Checks = append(d.Checks, c)
		}
	}
	data, err := json.Marshal(d)
	require.NoError(t, err)
	write(t, dir, "a.json", string(data))
	m, err := matrix.Read(dir)
	require.NoError(t, err)
	require.Len(t, m.Products[0].Causes, 2)
	require.Equal(t, []string{"entra.default-lookup", "entra.flag-lookup"}, m.Products[0].Causes[0].Checks)
	require.Contains(t, m.Products[0].Causes[0].Headline, `[{"id":"{id}"}]`)
}
