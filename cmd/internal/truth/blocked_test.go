package truth_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A fault of a simpler feature is a finding of the check of that feature. Checks that depend on the feature do not accuse the server of a
// fault of their own.
func TestSuite_SimplerFeatureBlocks(t *testing.T) {
	t.Parallel()
	for mutant, expected := range map[string]struct {
		reports string // the checks that have a finding
		silent  string // the checks that have none
	}{
		"patch.core-urn-unknown": {"patch.add-core-urn patch.replace-core-urn patch.remove-core-urn", "patch.replace-names-ignore-case"},
		"patch.value-path-refused": {"patch.remove-value-path patch.replace-value-path patch.replace-value-path-object",
			"patch.filter-ignores-case patch.again-and-again patch.primary-last-wins patch.replace-primary patch.filter-quotes " +
				"patch.filter-brackets patch.urn-value-path patch.replace-value-path-same"},
		"patch.remove-needs-value":        {"patch.remove-external-id patch.remove-simple", "patch.remove-required patch.remove-read-only"},
		"patch.deactivation-refused":      {"patch.deactivate", "patch.inactive-stays"},
		"patch.list-unwrapped":            {"patch.wrong-type-list", "patch.wrong-type patch.wrong-type-text"},
		"patch.add-needs-array":           {"patch.add-object", "patch.add-multi-valued"},
		"patch.absent-operation-replaces": {"patch.absent-operation", "patch.unknown-operation patch.empty-operation"},
		"patch.empty-operation-replaces":  {"patch.empty-operation", "patch.unknown-operation patch.absent-operation"},
		"projection.attributes-ignored": {"projection.attributes",
			"projection.meta-part projection.meta projection.sub-attribute projection.urn-case projection.whole-complex"},
		"projection.excluded-ignored": {"projection.excluded", "projection.excluded-case projection.excluded-urn projection.excluded-part"},
		"projection.user-name-always": {"projection.id-alone", "projection.meta-part projection.members-on-demand " +
			"projection.whole-complex"},
		"patch.add-replaces":                {"patch.add-multi-valued", "patch.add-no-path"},
		"list.count-ignored":                {"list.count", "sort.pages-descending sort.pages"},
		"filter.eq-by-name-only":            {"filter.eq", "filter.reference-eq"},
		"filter.pr-always":                  {"filter.pr", "filter.not-present"},
		"filter.false-is-true":              {"filter.boolean", "filter.nested-groups filter.not-before-and"},
		"filter.absent-is-less":             {"filter.absent-less", "filter.multi-valued-lt filter.sub-attribute-le"},
		"filter.percent-raw":                {"filter.encoding-percent", "filter.encoding-lower-case"},
		"discovery.certificates-as-strings": {"discovery.user-types", "filter.binary-order-gt filter.binary-order-le"},
	} {
		t.Run(mutant, func(t *testing.T) {
			t.Parallel()
			reports, silent := strings.Fields(expected.reports), strings.Fields(expected.silent)
			r := suite(t, mutantNamed(t, mutant)(newReferenceServer(t)), append(reports, silent...)...)
			require.Len(t, r.Checks, len(reports)+len(silent))
			byID := map[string]conformance.CheckResult{}
			for _, c := range r.Checks {
				byID[c.Check.ID] = c
			}
			for _, id := range reports {
				assert.True(t, noticed(byID[id]), describe(byID[id]))
			}
			for _, id := range silent {
				assert.False(t, complains(byID[id]), describe(byID[id]))
			}
		})
	}
}

// TestSuite_ConditionBlocks checks that filters with square brackets are no findings on a server that cannot compare email addresses at
// all, and neither are filters with logical operators on one that does not support sw.
func TestSuite_ConditionBlocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fails, reports, silent string }{
		"email addresses": {"emails", "filter.multi-valued-eq", "filter.value-path filter.value-path-ew filter.value-path-twice " +
			"filter.value-path-joined filter.urn-prefix filter.multi-valued-ew filter.multi-valued-pr"},
		"enterprise extension": {"extension:enterprise", "filter.enterprise-eq", "filter.enterprise-ne filter.enterprise-pr " +
			"filter.manager-present"},
		"sw": {" sw ", "filter.sw", "filter.group-at-the-end filter.ge-is-not-lt filter.complement"},
		"userName eq": {"userName eq", "filter.eq", "filter.or filter.or-chain filter.encoding-percent filter.encoding-lower-case " +
			"create.odd-user-name patch.rename put.rename"},
		"eq":          {" eq ", "filter.eq", "filter.not-shown filter.total"},
		"group by id": {"id eq", "filter.id-eq", "filter.group-name"},
	} {
		t.Run(name, func(t *testing.T) {
			next := newReferenceServer(t)
			broken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Query().Get("filter"), c.fails) {
					http.Error(w, "program error", http.StatusInternalServerError)
					return
				}
				next.ServeHTTP(w, r)
			})
			reports := strings.Fields(c.reports)
			for _, result := range suite(t, broken, append(reports, strings.Fields(c.silent)...)...).Checks {
				if slices.Contains(reports, result.Check.ID) {
					assert.True(t, noticed(result), describe(result))
				} else {
					assert.False(t, complains(result), describe(result))
				}
			}
		})
	}
}

// TestSuite_OtherSubAttribute checks that the value filters of PATCH are tested on a server that does not store emails.display, and that
// the reasons of the other checks name this sub-attribute.
func TestSuite_OtherSubAttribute(t *testing.T) {
	t.Parallel()
	withoutDisplay := func(next http.Handler) http.Handler {
		return rewritten(next, func(o *scim.Object) {
			for _, e := range o.Array("emails") {
				e.(*scim.Object).Delete("display")
			}
		})
	}
	filters := "patch.filter-co patch.filter-sw patch.filter-ew patch.filter-pr patch.filter-precedence patch.filter-groups " +
		"patch.filter-not-group patch.filter-ne-absent"
	named := "patch.filter-quotes patch.filter-brackets patch.remove-value-path-sub patch.replace-all-matches"
	for _, c := range suite(t, withoutDisplay(newReferenceServer(t)), strings.Fields(filters+" "+named)...).Checks {
		if strings.Contains(named, c.Check.ID) {
			assert.Equal(t, "the target does not store emails.display", c.Reason, c.Check.ID)
		} else {
			assert.Equal(t, conformance.Pass, c.Outcome, describe(c))
		}
	}
	for mutant, check := range map[string]string{
		"patch.value-path-co-is-eq": "patch.filter-co", "patch.value-path-sw-is-co": "patch.filter-sw",
		"patch.value-path-ew-is-co": "patch.filter-ew", "patch.value-path-pr-always": "patch.filter-pr",
		"patch.value-path-or-first": "patch.filter-precedence", "patch.value-path-groups-ignored": "patch.filter-groups",
		"patch.value-path-not-first": "patch.filter-not-group", "patch.value-path-ne-needs-value": "patch.filter-ne-absent",
	} {
		failsWith(t, withoutDisplay, mutant, check)
	}
}

// TestSuite_NameTwice checks that a PATCH that adds a second member, whose name differs only by case, is a finding.
func TestSuite_NameTwice(t *testing.T) {
	t.Parallel()
	next := newReferenceServer(t)
	var added sync.Map // paths of resources
	r := suite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("DISPLAYNAME")) {
			added.Store(r.URL.Path, true)
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		out := rec.Body.Bytes()
		if _, twice := added.Load(r.URL.Path); twice && rec.Code == 200 {
			out = bytes.Replace(out, []byte("{"), []byte(`{"DISPLAYNAME":"After",`), 1)
		}
		maps.Copy(w.Header(), rec.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(out)
	}), "patch.replace-names-ignore-case")
	require.Len(t, r.Checks, 1)
	require.Equal(t, conformance.Fail, r.Checks[0].Outcome, describe(r.Checks[0]))
	require.Contains(t, r.Checks[0].Findings[0].Got, "occurs twice")
}

// TestSuite_ImpossibleNameInSortBy checks that a server that fails for each sortBy that cannot be a name is not accused of executing SQL.
func TestSuite_ImpossibleNameInSortBy(t *testing.T) {
	t.Parallel()
	const pass, skip, warn = conformance.Pass, conformance.Skip, conformance.Warn
	for name, c := range map[string]struct {
		characters       string // a sortBy with one of them leads to a server error
		unknown, hostile conformance.Outcome
	}{
		"SQL":                  {";'(", pass, warn},
		"each impossible name": {" ;'(", warn, skip},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := newReferenceServer(t)
			r := suite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.ContainsAny(r.URL.Query().Get("sortBy"), c.characters) {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				next.ServeHTTP(w, r)
			}), "sort.unknown-attribute", "sort.hostile-name")
			require.Len(t, r.Checks, 2)
			require.Equal(t, c.unknown, r.Checks[0].Outcome, describe(r.Checks[0]))
			require.Equal(t, c.hostile, r.Checks[1].Outcome, describe(r.Checks[1]))
			if c.hostile == skip {
				require.Contains(t, r.Checks[1].Reason, "sort.unknown-attribute reports")
			}
		})
	}
}

// failsWith checks that a check fails, or informs if its level is MAY, for a mutant of the reference server that wrap has changed.
func failsWith(t *testing.T, wrap func(http.Handler) http.Handler, mutant, check string) {
	t.Helper()
	r := suite(t, wrap(mutantNamed(t, mutant)(newReferenceServer(t))), check)
	require.Len(t, r.Checks, 1)
	want := conformance.Fail
	if r.Checks[0].Check.Level == conformance.May {
		want = conformance.Info
	}
	assert.Equal(t, want, r.Checks[0].Outcome, "%s: %s", mutant, describe(r.Checks[0]))
}

// TestSuite_OneAddressPerType checks that the value filters of PATCH are tested on a server that rejects two email addresses of one type.
func TestSuite_OneAddressPerType(t *testing.T) {
	t.Parallel()
	onePerType := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Count(body, []byte(`"type":"work"`)) > 1 {
				w.Header().Set("Content-Type", "application/scim+json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400",`+
					`"detail":"emails cannot contain duplicate defined types"}`)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	filters := strings.Fields("patch.filter-and patch.filter-or patch.filter-not patch.filter-ne patch.filter-co patch.filter-sw " +
		"patch.filter-ew patch.filter-pr patch.filter-precedence patch.filter-groups patch.filter-not-group patch.filter-ne-absent " +
		"patch.filter-not-primary patch.replace-filter-attribute filter.sees-removals")
	for _, c := range suite(t, onePerType(newReferenceServer(t)), append(filters, "patch.remove-all-matches")...).Checks {
		if c.Check.ID == "patch.remove-all-matches" {
			assert.Contains(t, c.Reason, "only without two elements of emails with the type work")
		} else {
			assert.Equal(t, conformance.Pass, c.Outcome, describe(c))
		}
	}
	for mutant, check := range map[string]string{
		"patch.value-path-co-is-eq": "patch.filter-co", "patch.value-path-or-first": "patch.filter-precedence",
		"patch.value-path-groups-ignored": "patch.filter-groups", "patch.value-path-not-first": "patch.filter-not-group",
		"patch.value-path-ne-needs-value": "patch.filter-ne-absent", "patch.value-path-primary-absent": "patch.filter-not-primary",
	} {
		failsWith(t, onePerType, mutant, check)
	}
}
