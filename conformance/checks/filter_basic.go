package checks

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// comparison matches the start of a filter: the attribute and the operator of its first condition.
var comparison = regexp.MustCompile(`^([\w:.$-]+) (eq|co|sw|ew|gt|ge|lt|le|pr)(?: \S|$)`)

// basicRows are comparisons of string attributes of the core schema, by the label of a user that only the fixture has, and by operator. The
// checks filter.eq, filter.co and others report a target that evaluates them wrong.
var basicRows = map[string]map[string][]row{
	"ada": {
		"eq": {{`title eq "«P» Chief Engineer"`, "cyd"}},
		"co": {{`title co "«P» Chief"`, "cyd"}, {scope + `title co "ngineerin"`, "dan"}},
		"sw": {{`title sw "«P» Chief"`, "cyd"}, {`userName sw "«P»ada"`, "ada"}},
		"ew": {{`title ew "Chief Engineer"`, "cyd"}, {scope + `title ew "ngineerin"`, ""}},
		"gt": {{`userName gt "«P»bob@example.com"`, "cyd dan eve"}},
		"ge": {{`userName ge "«P»cyd@example.com"`, "cyd dan eve"}},
		"lt": {{`userName lt "«P»cyd@example.com"`, "ada bob"}, {`title lt "«P» A"`, ""}},
		"le": {{`userName le "«P»bob@example.com"`, "ada bob"}, {`title le "«P» A"`, ""}},
		"pr": {{scope + `title pr`, "ada bob cyd dan"}},
	},
	"fin": {
		"eq": {{`displayName eq "«P» Bravo"`, "gus"}},
		"co": {{`displayName co "«P» Brav"`, "gus"}},
		"sw": {{`displayName sw "«P» Brav"`, "gus"}},
		"ew": {{`displayName ew " Bravo"`, "gus"}},
		"gt": {{`userName gt "«P»hal@example.com"`, "ivy jon"}},
		"le": {{`userName le "«P»gus@example.com"`, "fin gus"}},
		"pr": {{scope + `displayName pr`, "fin gus hal ivy jon"}},
	},
}

// basicAttributes are the attributes of basicRows, and those that the checks of single operators use.
var basicAttributes = []string{"userName", "title", "displayName", "userType"}

// blockedIfOperatorFails blocks the check of a comparison with a special attribute, such as a reference, if the target evaluates the
// operator wrong for other attributes too, or returns an error other than a permitted rejection. filter is that of a [row].
func blockedIfOperatorFails(ctx context.Context, t *T, filter string) {
	rest, scoped := strings.CutPrefix(filter, scope)
	match := comparison.FindStringSubmatch(rest)
	if match == nil || slices.ContainsFunc(basicAttributes, func(name string) bool { return scim.EqualName(name, match[1]) }) {
		return
	}
	for label, rows := range basicRows {
		if t.Fixture[label] == nil {
			continue
		}
		for _, basic := range rows[match[2]] {
			if scoped && !strings.HasPrefix(basic.filter, scope) {
				basic.filter = scope + basic.filter
			}
			t.BlockedIf(func() string {
				return wrongRow(ctx, t, basic, "with the same operator and userName, title or displayName,")
			})
		}
	}
}

// unlessWrong returns the Run of a check of a special case of operators, such as operands in another case. It blocks the check if the
// target evaluates one of the operators wrong in a filter of basicRows.
func unlessWrong(run func(context.Context, *T), operators ...string) func(context.Context, *T) {
	return func(ctx context.Context, t *T) {
		for _, operator := range operators {
			for _, basic := range basicOf(t, operator) {
				t.BlockedIf(func() string {
					return wrongRow(ctx, t, basic, "with the operator "+operator+" without the special case,")
				})
			}
		}
		run(ctx, t)
	}
}

// basicOf returns the rows of basicRows for an operator and the fixture of the check, without those of absent values. The filters are
// limited to the users of the fixture.
func basicOf(t *T, operator string) []row {
	var out []row
	for label, rows := range basicRows {
		for _, basic := range rows[operator] {
			if t.Fixture[label] == nil || basic.want == "" {
				continue
			}
			if !strings.HasPrefix(basic.filter, scope) {
				basic.filter = scope + basic.filter
			}
			out = append(out, basic)
		}
	}
	return out
}

// blockedIfEmployeesNotFound blocks the check of a list with a filter if the list with only this filter does not contain exactly the users
// that match. filter.eq reports that.
func blockedIfEmployeesNotFound(ctx context.Context, t *T) {
	t.BlockedIf(func() string { return wrongRow(ctx, t, row{employee, "ada cyd"}, "without other parameters,") })
}

// wrongRow returns a message if the target evaluates the filter of a row wrong, which the message describes by which. It returns "" if the
// target does not, or if it rejects the filter as permitted.
func wrongRow(ctx context.Context, t *T, r row, which string) string {
	if unstoredAttribute(t, r.filter) != "" {
		return ""
	}
	res, right := r.found(ctx, t)
	if right || res.Declines() {
		return ""
	}
	return "GET /Users?filter, " + which + " " + wrongList(res, "users")
}

// found sends the filter of the row. It returns the response, and whether exactly the users of the row were found.
func (r row) found(ctx context.Context, t *T) (*conformance.Response, bool) {
	filter := expand(t, r.filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if res.Status != 200 {
		return res, false
	}
	return res, slices.Equal(sorted(strings.Fields(r.want)...), labels(t.Fixture, allIDs(ctx, t, res, "filter", filter, "count", "200")))
}

// wrongList describes the response to a filter that did not return exactly the matching objects.
func wrongList(res *conformance.Response, objects string) string {
	if res.Status != 200 {
		return fmt.Sprintf("returned %d", res.Status)
	}
	return "returned 200 and not exactly the " + objects + " that match"
}

// blockedIfLookupFails blocks the check if a filter by userName does not find exactly a new user, whose userName has no special characters
// and is not one of its email addresses: then the result shows nothing about other names, or about changed ones. filter.eq reports that.
func blockedIfLookupFails(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		u := t.CreateUser(ctx, "ordinary", doc{"emails": []doc{{"value": t.UserName("mail"), "type": "work", "primary": true}}})
		res := t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("ordinary")))
		if res.Status == 200 && slices.Equal(res.IDs(), []string{u.ID}) {
			return ""
		}
		return "GET /Users?filter, with the userName of a new user, " + wrongList(res, "users")
	})
}
