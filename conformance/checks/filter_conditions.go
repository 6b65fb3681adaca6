package checks

import (
	"context"
	"strings"
)

// A condition is a part of the filters that checks of logical operators, parentheses and square brackets evaluate on the fixture people.
type condition struct {
	text   string // as in these filters
	row           // the filter that consists of the condition
	common bool   // it also matches other users of the target
}

// conditions are the conditions of the filters of these checks.
var conditions = []condition{
	ofUser("ada"), ofUser("bob"), ofUser("cyd"), ofUser("dan"),
	{text: employee, row: row{employee, "ada cyd"}},
	{text: `title co "Chief"`, row: row{`title co "«P» Chief"`, "cyd"}},
	{text: `name.familyName sw "«P» Ing"`, row: row{`name.familyName sw "«P» Ing"`, "dan"}},
	{text: `name.familyName eq "«P» Ingalls"`, row: row{`name.familyName eq "«P» Ingalls"`, "dan"}},
	{text: `active eq false`, row: row{inactive, "bob eve"}, common: true},
	{text: `active eq true`, row: row{`active eq true`, "ada cyd dan"}, common: true},
	{text: `title pr`, row: row{`title pr`, "ada bob cyd dan"}, common: true},
	{text: `emails pr`, row: row{`emails pr`, "ada bob dan eve"}, common: true},
}

// elementConditions are the conditions in square brackets after emails.
var elementConditions = []condition{
	ofElement(`value eq "«P»ada.w@example.com"`, "ada"),
	ofElement(`value eq "«P»ada.h@example.com"`, "ada"),
	ofElement(`value eq "«P»bob.w@example.com"`, "bob"),
	ofElement(`value eq "«P»dan.h@example.com"`, "dan"),
	ofElement(`value eq "«P»dan.w@example.com"`, "dan"),
	ofElement(`value sw "«P»"`, "ada bob dan eve"),
	ofElement(`value sw "«P»ada"`, "ada"),
	ofElement(`value sw "«P»bob"`, "bob"),
	ofElement(`value sw "«P»dan"`, "dan"),
	ofElement(`value co "«P»dan.w"`, "dan"),
	ofElement(`value co "«P»dan.h"`, "dan"),
	{`type eq "work"`, row{`emails.type eq "work"`, "ada bob dan eve"}, true},
	{`type eq "home"`, row{`emails.type eq "home"`, "ada dan"}, true},
}

// ofUser returns a condition that one user matches by its userName.
func ofUser(label string) condition {
	filter := `userName eq "«P»` + label + `@example.com"`
	return condition{text: filter, row: row{filter, label}}
}

// ofElement returns a condition of an element that matches no other users. Its filter names the sub-attribute after a dot.
func ofElement(text, want string) condition {
	return condition{text: text, row: row{"emails." + text, want}}
}

// blockedIfConditionFails blocks the check of a filter with logical operators, parentheses or square brackets if the target evaluates one
// of its conditions wrong, or returns an error other than a permitted rejection: then the result shows nothing about the operators. Other
// checks report the condition. filter is that of a [row] for the fixture people. A condition that also matches other users is evaluated
// only if the filter selects the users of the fixture by userName, as scope does, and is then joined with scope.
func blockedIfConditionFails(ctx context.Context, t *T, filter string) {
	selection := strings.TrimSuffix(scope, " and ")
	rest, scoped := strings.TrimPrefix(filter, scope), strings.Contains(filter, selection)
	operators := filterText.ReplaceAllString(rest, "")
	inBrackets := strings.Contains(operators, "emails[")
	joined := strings.Contains(operators, " and ") || strings.Contains(operators, " or ") || strings.Contains(operators, "(")
	if !joined && !inBrackets || t.Fixture["ada"] == nil {
		return
	}
	block := func(r row) {
		compared := strings.Join(strings.Fields(strings.TrimPrefix(r.filter, scope))[:2], " ")
		t.BlockedIf(func() string { return wrongRow(ctx, t, r, `with only the condition "`+compared+`",`) })
	}
	if scoped {
		block(row{selection, "ada bob cyd dan eve"})
	}
	all := conditions
	if inBrackets {
		all = append(all[:len(all):len(all)], elementConditions...)
	}
	for _, c := range all {
		switch {
		case !strings.Contains(rest, c.text):
		case !c.common:
			block(c.row)
		case scoped:
			block(row{scope + c.filter, c.want})
		}
	}
}
