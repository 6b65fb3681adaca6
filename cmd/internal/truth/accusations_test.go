package truth_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/scim"
)

// TestSuite_AccusesOnlyFault applies faults that checks of other requirements have reported before (see mutants/observed.go). Only the
// checks of the violated requirement may complain, with the outcome for this requirement, and their findings describe the fault.
func TestSuite_AccusesOnlyFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mutant   string
		areas    []string
		outcomes map[string]conformance.Outcome
		// findings are parts of the texts of findings, by check. A part after "!" must not occur.
		findings map[string]string
	}{
		{"create.nameless-everywhere", []string{"bulk"}, map[string]conformance.Outcome{
			"bulk.error": conformance.Pass, "bulk.fail-on-errors": conformance.Pass, "bulk.fail-on-errors-counts": conformance.Pass,
			"bulk.reference-failed": conformance.Pass, "bulk.continues": conformance.Pass,
		}, nil},
		{"bulk.unprocessed-results", []string{"bulk"}, map[string]conformance.Outcome{"bulk.fail-on-errors": conformance.Warn}, nil},
		{"bulk.location-lost", []string{"bulk"}, map[string]conformance.Outcome{
			"bulk.put": conformance.Fail, "bulk.delete": conformance.Fail,
		}, map[string]string{"bulk.put": "location of the result of PUT", "bulk.delete": "!the response has"}},
		{"bulk.location-of-collection", []string{"bulk"}, map[string]conformance.Outcome{"bulk.delete": conformance.Fail},
			map[string]string{"bulk.delete": "location of the result of DELETE"}},
		{"filter.absent-fails", []string{"filter"}, map[string]conformance.Outcome{
			"filter.multi-valued-eq": conformance.Fail, "filter.multi-valued-sw": conformance.Skip, "filter.value-path-co": conformance.Skip,
			"filter.sub-attribute-eq": conformance.Pass,
		}, map[string]string{"filter.multi-valued-eq": "400 with scimType invalidValue"}},
		{"filter.absent-parent-fails", []string{"filter", "groups"}, map[string]conformance.Outcome{
			"filter.user-without-attribute": conformance.Fail, "filter.multi-valued-eq": conformance.Skip, "filter.certificates": conformance.Skip,
			"filter.group-members": conformance.Skip, "groups.find-by-member": conformance.Skip, "filter.sub-attribute-eq": conformance.Pass,
		}, nil},
		{"filter.refused-later", []string{"filter"}, map[string]conformance.Outcome{"filter.sub-attribute-eq": conformance.Fail},
			map[string]string{"filter.sub-attribute-eq": "as for the same filter with other operands"}},
		{"filter.display-name-exact", []string{"filter"}, map[string]conformance.Outcome{
			"filter.unicode-case": conformance.Skip, "filter.unicode": conformance.Pass,
		}, nil},
		{"filter.certificates-fail", []string{"filter"}, map[string]conformance.Outcome{
			"filter.binary-order-gt": conformance.Skip, "filter.binary-order-le": conformance.Skip, "filter.certificates": conformance.Warn,
			"filter.boolean-order-ge": conformance.Pass,
		}, nil},
		{"sort.element-path-ignored", []string{"sort"}, map[string]conformance.Outcome{
			"sort.primary-value": conformance.Skip, "sort.sub-attribute-path": conformance.Fail,
		}, nil},
		{"sort.first-not-primary", []string{"sort"}, map[string]conformance.Outcome{
			"sort.primary-value": conformance.Fail, "sort.sub-attribute-path": conformance.Pass,
		}, nil},
		{"patch.filter-sees-new-value", []string{"patch"}, map[string]conformance.Outcome{
			"patch.replace-all-matches": conformance.Pass, "patch.replace-filter-attribute": conformance.Fail,
		}, nil},
		{"patch.schema-not-needed", []string{"patch"}, map[string]conformance.Outcome{"patch.message-schema": conformance.Warn}, nil},
		{"patch.empty-name-generated", []string{"patch"}, map[string]conformance.Outcome{"patch.replace-empty-user-name": conformance.Fail},
			map[string]string{"patch.replace-empty-user-name": "after the PATCH that returned 20"}},
		{"groups.repeated-value-twice", []string{"groups"}, map[string]conformance.Outcome{
			"groups.patch-same-members": conformance.Pass, "groups.patch-repeated-members": conformance.Warn,
		}, nil},
		{"groups.same-members-refused", []string{"groups"}, map[string]conformance.Outcome{
			"groups.patch-same-members": conformance.Warn, "groups.patch-repeated-members": conformance.Pass,
		}, nil},
		{"groups.add-again-twice", []string{"groups"}, map[string]conformance.Outcome{"groups.patch-add-member": conformance.Warn}, nil},
		{"groups.add-again-replaces", []string{"groups"}, map[string]conformance.Outcome{"groups.patch-add-member": conformance.Fail}, nil},
		{"filter.display-name-unsearched", []string{"filter"}, map[string]conformance.Outcome{
			"filter.unicode": conformance.Skip, "filter.unicode-escapes": conformance.Skip, "filter.encoding-reserved": conformance.Skip,
			"filter.escapes": conformance.Skip, "filter.display-name": conformance.Fail,
		}, nil},
		{"filter.present-fails", []string{"filter"}, map[string]conformance.Outcome{
			"filter.pr": conformance.Fail, "filter.multi-valued-pr": conformance.Skip,
		}, nil},
		{"filter.not-per-user", []string{"filter"}, map[string]conformance.Outcome{
			"filter.value-path-not": conformance.Fail, "filter.not": conformance.Pass, "filter.value-path-negated": conformance.Pass,
		}, nil},
		{"delete.group-status-200", []string{"delete", "groups", "traffic"}, map[string]conformance.Outcome{
			"delete.group-status": conformance.Fail, "groups.delete": conformance.Pass, "traffic.schemas": conformance.Pass,
			"traffic.id": conformance.Pass,
		}, map[string]string{"delete.group-status": "status of DELETE of a group"}},
		{"create.schemas-repeated", []string{"create", "traffic"}, map[string]conformance.Outcome{
			"create.no-schemas": conformance.Fail, "traffic.schemas": conformance.Pass,
		}, nil},
		{"create.required-unchecked", []string{"create", "put"}, map[string]conformance.Outcome{
			"create.missing-user-name": conformance.Fail, "create.null-user-name": conformance.Skip, "put.required-missing": conformance.Skip,
		}, nil},
		{"patch.add-replaces-emails", []string{"patch"}, map[string]conformance.Outcome{
			"patch.add-multi-valued": conformance.Fail, "patch.again-and-again": conformance.Pass,
		}, nil},
		{"patch.read-only-skipped", []string{"patch"}, map[string]conformance.Outcome{
			"patch.read-only": conformance.Fail, "patch.atomic-read-only": conformance.Skip, "patch.atomic": conformance.Pass,
		}, nil},
		{"patch.emails-kept", []string{"patch"}, map[string]conformance.Outcome{"patch.remove-multi-valued": conformance.Fail},
			map[string]string{"patch.remove-multi-valued": "!removes phoneNumbers"}},
		// Checks of a special form blame the form only if the server serves the simplest form.
		{"filter.parts-fail", []string{"filter"}, map[string]conformance.Outcome{
			"filter.value-path-ignores-case": conformance.Skip, "filter.urn-ignores-case": conformance.Pass, "filter.value-path": conformance.Fail,
		}, nil},
		{"filter.extension-bare-only", []string{"filter"}, map[string]conformance.Outcome{
			"filter.case-insensitive-own": conformance.Skip, "filter.enterprise-eq": conformance.Fail,
		}, nil},
		{"filter.title-unsearched", []string{"filter"}, map[string]conformance.Outcome{"filter.case-insensitive-values": conformance.Pass}, nil},
		{"projection.parts-of-extended-fail", []string{"projection"}, map[string]conformance.Outcome{
			"projection.sub-attribute": conformance.Fail, "projection.two-parts": conformance.Skip, "projection.extension-part": conformance.Skip,
			"projection.every-element": conformance.Skip, "projection.id-always": conformance.Skip, "projection.several": conformance.Pass,
		}, map[string]string{"projection.sub-attribute": "a user with the enterprise extension"}},
		{"bulk.patch-refused", []string{"bulk"}, map[string]conformance.Outcome{
			"bulk.patch": conformance.Fail, "bulk.mixed": conformance.Skip, "bulk.order": conformance.Skip,
			"bulk.reference-in-patch": conformance.Skip, "bulk.post": conformance.Pass,
		}, nil},
		{"read.head-404", []string{"read"}, map[string]conformance.Outcome{"read.head": conformance.Warn}, nil},
	} {
		t.Run(c.mutant, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(mutants.All(), func(m mutants.Mutant) bool { return m.ID == c.mutant })
			require.NotEqual(t, -1, i, c.mutant)
			r := suite(t, mutants.All()[i].Wrap(newReferenceServer(t)), c.areas...)
			for _, result := range r.Checks {
				if want, ok := c.outcomes[result.Check.ID]; ok {
					require.Equal(t, want, result.Outcome, "%s", describe(result))
				}
				part, absent := strings.CutPrefix(c.findings[result.Check.ID], "!")
				if part != "" {
					require.Equal(t, !absent, strings.Contains(describe(result), part), "%s: %q", describe(result), part)
				}
			}
		})
	}
}

// TestAgainAndAgain_RemovalRejected checks that the check of several operations on one attribute is blocked if the target rejects one of
// these operations also in a request of its own, although no two users of the target may have the same email address.
func TestAgainAndAgain_RemovalRejected(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	taken := map[string]bool{}
	reference := newReferenceServer(t)
	r := suite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		rejected := r.Method == http.MethodPatch && bytes.Contains(body, []byte(`"remove","path":"emails[`))
		if o, err := scim.Decode(body); err == nil && r.Method == http.MethodPost {
			for _, email := range o.Array("emails") {
				address := email.(*scim.Object).Text("value")
				mu.Lock()
				rejected, taken[address] = rejected || taken[address], true
				mu.Unlock()
			}
		}
		if rejected {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		reference.ServeHTTP(w, r)
	}), "patch.again-and-again")
	require.Equal(t, conformance.Skip, r.Checks[0].Outcome, "%s", describe(r.Checks[0]))
	require.Contains(t, r.Checks[0].Reason, "with only the operation remove")
}

// emailAddress matches an email address.
var emailAddress = regexp.MustCompile(`[\w.-]+@[\w.-]+`)

// TestAgainAndAgain_RemovalIgnored checks that the check of several operations on one attribute is blocked if the target ignores one of
// these operations also in a request of its own, although no two users of the target may have the same email address.
func TestAgainAndAgain_RemovalIgnored(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	owner := map[string]string{}
	reference := newReferenceServer(t)
	r := suite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		id := path.Base(r.URL.Path)
		addresses := emailAddress.FindAllString(string(body), -1)
		if slices.ContainsFunc(addresses, func(address string) bool { return owner[address] != "" && owner[address] != id }) {
			w.WriteHeader(http.StatusConflict)
			return
		}
		if message, err := scim.Decode(body); err == nil && r.Method == http.MethodPatch {
			message.Set("Operations", slices.DeleteFunc(message.Array("Operations"), func(operation any) bool {
				return strings.HasPrefix(operation.(*scim.Object).Text("path"), "emails[") && operation.(*scim.Object).Text("op") == "remove"
			}))
			if len(message.Array("Operations")) == 0 {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			body = message.AppendJSON(nil)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		rec := httptest.NewRecorder()
		reference.ServeHTTP(rec, r)
		if o, err := scim.Decode(rec.Body.Bytes()); err == nil && r.Method == http.MethodPost {
			id = o.Text("id")
		}
		if r.Method == http.MethodDelete {
			maps.DeleteFunc(owner, func(_, user string) bool { return user == id })
		} else if rec.Code < 300 {
			for _, address := range addresses {
				owner[address] = id
			}
		}
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}), "patch.again-and-again")
	require.Equal(t, conformance.Skip, r.Checks[0].Outcome, "%s", describe(r.Checks[0]))
	require.Contains(t, r.Checks[0].Reason, "with each operation in a request of its own")
}

// TestEveryEndpoint_DiscoveryListed checks that the check of all endpoints without credentials permits discovery without credentials, also
// if the target lists a discovery endpoint as a resource type.
func TestEveryEndpoint_DiscoveryListed(t *testing.T) {
	t.Parallel()
	listed := false
	r := suite(t, rewritten(variantNamed(t, "open-discovery")(newReferenceServer(t)), func(o *scim.Object) {
		types := o.Array("Resources")
		if len(types) == 0 || !strings.HasSuffix(types[0].(*scim.Object).Complex("meta").Text("location"), "/ResourceTypes/User") {
			return
		}
		listed = true
		schemas, err := scim.Decode([]byte(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],"id":"Schema","name":"Schema",` +
			`"endpoint":"/Schemas","schema":"urn:ietf:params:scim:schemas:core:2.0:Schema"}`))
		if err != nil {
			t.Error(err)
		}
		o.Set("Resources", append(types, schemas))
		o.Set("totalResults", len(types)+1)
		o.Set("itemsPerPage", len(types)+1)
	}), "auth.every-endpoint")
	require.True(t, listed)
	require.Equal(t, conformance.Pass, r.Checks[0].Outcome, "%s", describe(r.Checks[0]))
}

// TestProfiles_AccuseOnlyFault applies faults with which clients continue: the verdict names what is lost, and no step breaks for another
// reason.
func TestProfiles_AccuseOnlyFault(t *testing.T) {
	t.Parallel()
	exposed := map[string]bool{}
	var mu sync.Mutex
	for name, c := range map[string]struct {
		profile, limit string
		wrap           func(http.Handler) http.Handler
	}{
		"member stored twice": {"jumpcloud", "members is not in the state after the step", mutantNamed(t, "groups.add-again-twice")},
		"name in capitals":    {"okta", "name.familyName is not in the state of the user", variantNamed(t, "family-name-capitals")},
		"derived name":        {"entra", "displayName is not in the state of the user", variantNamed(t, "display-name-derived")},
		"name not stored":     {"google", "name.familyName is not in the state of the user", withoutNames},
		"no paging":           {"okta", "the target ignores startIndex and count, and every page is the whole list", withoutPaging},
		"no pages of groups":  {"ping", "the target ignores startIndex and count, and every page is the whole list", withoutPaging},
		"password returned": {"okta", "returns them in responses", func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				mu.Lock()
				if r.Method == http.MethodPatch && bytes.Contains(body, []byte(`"password"`)) {
					exposed[r.URL.Path] = true
				}
				leaks := exposed[r.URL.Path] && r.Method == http.MethodGet
				mu.Unlock()
				if !leaks {
					next.ServeHTTP(w, r)
					return
				}
				rec := httptest.NewRecorder()
				next.ServeHTTP(rec, r)
				o, err := scim.Decode(rec.Body.Bytes())
				if err != nil {
					t.Error(err)
				}
				o.Set("password", "scimconf-t1meMa$heen")
				w.Header().Set("Content-Type", "application/scim+json")
				w.WriteHeader(rec.Code)
				_, _ = w.Write(o.AppendJSON(nil))
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(profiles.All(), func(p conformance.Profile) bool { return p.ID == c.profile })
			require.NotEqual(t, -1, i)
			r := runProfiles(t, c.wrap(newReferenceServer(t)), profiles.All()[i])
			var limits []string
			for _, v := range r.Profiles {
				require.NotEqual(t, conformance.Breaks, v.Compatibility, "%+v", v)
				limits = append(limits, v.Limits...)
			}
			require.Contains(t, strings.Join(limits, "\n"), c.limit)
			require.NotContains(t, limits, "passwords are not synchronized")
		})
	}
}

// withoutNames drops the parts of the name of a user, as a server does that stores only displayName.
func withoutNames(next http.Handler) http.Handler {
	return rewritten(next, func(o *scim.Object) {
		if name := o.Complex("name"); name != nil {
			name.Delete("familyName")
			name.Delete("givenName")
		}
	})
}

// withoutPaging returns the whole list for every page.
func withoutPaging(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		query := r.URL.Query()
		query.Del("startIndex")
		query.Del("count")
		r.URL.RawQuery = query.Encode()
		next.ServeHTTP(w, r)
	})
}

// rewritten changes the resource in every response.
func rewritten(next http.Handler, change func(o *scim.Object)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		if o, err := scim.Decode(body); err == nil {
			change(o)
			body = o.AppendJSON(nil)
		}
		maps.Copy(w.Header(), rec.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	})
}

func variantNamed(t *testing.T, id string) func(http.Handler) http.Handler {
	t.Helper()
	all := mutants.Variants()
	i := slices.IndexFunc(all, func(v mutants.Variant) bool { return v.ID == id })
	require.GreaterOrEqual(t, i, 0, id)
	return all[i].Wrap
}
