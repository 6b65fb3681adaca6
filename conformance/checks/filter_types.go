package checks

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// operators describes each filter operator, with the requirement that defines it.
var operators = map[string]struct{ does, requirement string }{
	"eq": {"finds exactly the users whose value is the operand", "RFC7644-3.4.2.2-09"},
	"ne": {"finds exactly the users whose value differs from the operand", "RFC7644-3.4.2.2-10"},
	"co": {"finds exactly the users whose value contains the operand", "RFC7644-3.4.2.2-12"},
	"sw": {"finds exactly the users whose value starts with the operand", "RFC7644-3.4.2.2-13"},
	"ew": {"finds exactly the users whose value ends with the operand", "RFC7644-3.4.2.2-14"},
	"pr": {"finds exactly the users who have a value", "RFC7644-3.4.2.2-16"},
	"gt": {"finds exactly the users whose value is greater than the operand", "RFC7644-3.4.2.2-19"},
	"ge": {"finds exactly the users whose value is the operand or greater", "RFC7644-3.4.2.2-19"},
	"lt": {"finds exactly the users whose value is less than the operand", "RFC7644-3.4.2.2-19"},
	"le": {"finds exactly the users whose value is the operand or less", "RFC7644-3.4.2.2-19"},
}

// An operandKind is a kind of attribute, such as booleans, or a form of attribute names, such as names with a URN. One check evaluates one
// filter operator on the kind.
type operandKind struct {
	id, noun     string // "reference", "a reference"
	elements     bool   // the attribute can have several elements, and one of them has to match
	requirements []string
	needs        []conformance.Need
	fixture      *conformance.Fixture
	basics       []row // the simplest filters on the kind: if the target evaluates one wrong, the other operators have no result
	why, fix     string
}

// on returns the check of one operator on attributes of the kind.
func (k operandKind) on(operator string, table ...row) check {
	o := operators[operator]
	does := o.does
	if k.elements {
		does = strings.NewReplacer("users whose", "users with at least one element whose",
			"users who have", "users with at least one element that has").Replace(does)
	}
	return check{
		ID:           "filter." + k.id + "-" + operator,
		Title:        "The operator " + operator + " on " + k.noun + " " + does,
		Requirements: append(reqs(o.requirement), k.requirements...),
		Level:        must,
		Needs:        append(slices.Clone(filters), k.needs...),
		Fixture:      k.fixture,
		Requests:     len(table),
		Why:          k.why,
		Fix:          k.fix,
		Run:          choose(operator == "eq", rows(false, table...), k.unlessWrong(rows(false, table...))),
	}
}

// unlessWrong returns the Run of a check on the kind. It blocks the check if the target evaluates a basic filter of the kind wrong. Such a
// filter has the operator eq, so the check of eq is not blocked.
func (k operandKind) unlessWrong(run func(context.Context, *T)) func(context.Context, *T) {
	return func(ctx context.Context, t *T) {
		for _, basic := range k.basics {
			t.BlockedIf(func() string { return wrongRow(ctx, t, basic, "with the operator eq on "+k.noun+",") })
		}
		run(ctx, t)
	}
}

var (
	onSubAttribute = operandKind{
		id:           "sub-attribute",
		noun:         "a sub-attribute",
		requirements: reqs("RFC7644-3.4.2.2-46"),
		fixture:      people,
		basics:       []row{{`name.familyName eq "«P» Charisse"`, "cyd"}},
		why:          "Search forms offer every operator on the family name; a wrong result hides users from administrators.",
		fix: "Resolve a name with a dot, such as name.familyName, to the sub-attribute, then evaluate the operator as on any other " +
			"string. A user without the attribute does not match, and must not cause an error.",
	}
	onMultiValued = operandKind{
		id:           "multi-valued",
		noun:         "a multi-valued attribute",
		elements:     true,
		requirements: reqs("RFC7644-3.4.2.2-50"),
		fixture:      people,
		basics:       []row{{scope + `emails.value eq "«P»dan.h@example.com"`, "dan"}},
		why:          "Users can have several email addresses; a search of only one of them misses users.",
		fix: "Evaluate the operator on every element; one match is enough. A user without the attribute does not match, and must not cause " +
			"an error.",
	}
	onValuePath = operandKind{
		id:           "value-path",
		noun:         "a sub-attribute in brackets",
		elements:     true,
		requirements: reqs("RFC7644-3.4.2.2-35", "RFC7644-3.4.2.2-36"),
		fixture:      people,
		basics: []row{{`emails[value eq "«P»dan.h@example.com"]`, "dan"},
			{`emails[type eq "home" and value eq "«P»dan.h@example.com"]`, ""}},
		why: "Clients select users by one element, such as the work address; if the conditions in brackets may match different " +
			"elements, the client gets other users.",
		fix: "Evaluate the whole expression in brackets on one element at a time, with all operators of the filter grammar. A user without " +
			"the attribute does not match, and must not cause an error.",
	}
	onURN = operandKind{
		id:           "urn",
		noun:         "an attribute qualified with the URN of its schema",
		requirements: reqs("RFC7644-3.10-01", "RFC7644-3.4.2.2-46"),
		fixture:      people,
		basics:       []row{{scim.UserSchema + `:userName eq "«P»ada@example.com"`, "ada"}},
		why: "Clients that are generated from schemas write every attribute with its URN; if the server does not resolve the URN, " +
			"they get no users or the wrong users.",
		fix: "Split urn:ietf:params:scim:schemas:core:2.0:User:userName at its last colon, and evaluate userName; the dot in 2.0 " +
			"does not start a sub-attribute.",
	}
	onEnterprise = operandKind{
		id:           "enterprise",
		noun:         "an attribute of the enterprise extension",
		requirements: reqs("RFC7644-3.4.2.2-47"),
		needs:        needs(conformance.NeedEnterprise),
		fixture:      staff,
		basics:       []row{{enterprise + `employeeNumber eq "«P»702"`, "gus"}},
		why:          "Clients limit their imports by department or cost center; a wrong result imports other users or omits some.",
		fix: "Resolve names under the URN of the extension, and look up their values in the extension object. Treat a user without the " +
			"extension as a user without a value, not as an error.",
	}
	onReference = operandKind{
		id:           "reference",
		noun:         "a reference",
		requirements: reqs("RFC7643-2.3-02"),
		fixture:      staff,
		basics:       []row{{`profileUrl eq "https://example.com/«P»/gus"`, "gus"}},
		why:          "Clients find users by a reference such as profileUrl; a wrong result gives them other users.",
		fix:          "Evaluate the operator on a reference as on a case-sensitive string.",
	}
	onExternalID = operandKind{
		id:           "external-id",
		noun:         "externalId",
		requirements: reqs("RFC7644-3.4.2.2-60"),
		fixture:      people,
		basics:       []row{{`externalId eq "«P»Ext-A"`, "ada"}},
		why: "Clients search by externalId for the accounts that they have created; if an account is missing in the result, they " +
			"create a duplicate.",
		fix: "Treat externalId in filters like any other string attribute, compared case-sensitively.",
	}
	onID = operandKind{
		id:           "id",
		noun:         "id",
		requirements: reqs("RFC7644-3.4.2.2-60"),
		fixture:      people,
		basics:       []row{{`id eq "«cyd»"`, "cyd"}},
		why:          "Clients read several known resources with one query by id; a wrong result omits or mixes up users.",
		fix:          "Support id in filters even if it is not stored with the other attributes.",
	}
	onBoolean = operandKind{
		id:           "boolean",
		noun:         "a boolean",
		requirements: reqs("RFC7644-3.4.2.2-44"),
		fixture:      people,
		basics:       []row{{scope + `active eq true`, "ada cyd dan"}},
		why:          "Clients select the active or the inactive accounts; after a wrong result, they treat former users as active.",
		fix:          "Compare the value with the literals true and false; false is a value, so active pr matches inactive users.",
	}
)

const enterprise = scim.EnterpriseUserSchema + ":"

var filterTypes = slices.Concat(
	[]check{
		onSubAttribute.on("eq", row{`name.familyName eq "«P» Charisse"`, "cyd"}, row{`name.familyName eq "«P» Char"`, ""}),
		onSubAttribute.on("ne", row{scope + `name.familyName ne "«P» Charisse"`, "ada bob dan eve"}),
		onSubAttribute.on("co", row{scope + `name.familyName co " Chari"`, "cyd"}, row{scope + `name.familyName co "rissec"`, ""}),
		onSubAttribute.on("sw", row{`name.familyName sw "«P» Ba"`, "bob"}, row{scope + `name.familyName sw "Babbage"`, ""}),
		onSubAttribute.on("ew", row{scope + `name.familyName ew "isse"`, "cyd"}, row{scope + `name.familyName ew "«P»"`, ""}),
		onSubAttribute.on("pr", row{scope + `name.familyName pr`, "ada bob cyd dan eve"}, row{scope + `name.honorificSuffix pr`, ""}),
		onSubAttribute.on("gt", row{scope + `name.familyName gt "«P» Charisse"`, "ada dan eve"}),
		onSubAttribute.on("ge", row{scope + `name.familyName ge "«P» Charisse"`, "ada cyd dan eve"}),
		onSubAttribute.on("lt", row{scope + `name.familyName lt "«P» Charisse"`, "bob"}),
		onSubAttribute.on("le", row{scope + `name.familyName le "«P» Charisse"`, "bob cyd"}),

		onMultiValued.on("eq", row{scope + `emails.value eq "«P»dan.h@example.com"`, "dan"}, row{scope + `emails.value eq "«P»dan.h"`, ""}),
		onMultiValued.on("co", row{scope + `emails.value co ".h@"`, "ada dan"}, row{scope + `emails.value co "«P»dan."`, "dan"},
			row{scope + `emails.value co "«P»ada.h"`, "ada"}),
		onMultiValued.on("sw", row{`emails.value sw "«P»bob"`, "bob"}, row{`emails.value sw "«P»dan.h"`, "dan"},
			row{scope + `emails.value sw "example.com"`, ""}),
		onMultiValued.on("ew", row{scope + `emails.value ew ".h@example.com"`, "ada dan"}, row{scope + `emails.value ew ".w"`, ""}),
		onMultiValued.on("pr", row{scope + `emails.value pr`, "ada bob dan eve"}, row{scope + `emails pr`, "ada bob dan eve"},
			row{scope + `phoneNumbers pr`, ""}),
		onMultiValued.on("gt", row{scope + `emails.value gt "«P»dan.h@example.com"`, "dan eve"},
			row{scope + `emails.value gt "«P»eve.w@example.com"`, ""}),
		onMultiValued.on("ge", row{scope + `emails.value ge "«P»dan.w@example.com"`, "dan eve"}),
		onMultiValued.on("lt", row{scope + `emails.value lt "«P»ada.w@example.com"`, "ada"},
			row{scope + `emails.value lt "«P»ada.h@example.com"`, ""}),
		onMultiValued.on("le", row{scope + `emails.value le "«P»ada.h@example.com"`, "ada"}),

		onValuePath.on("ne", row{`emails[type ne "work" and value sw "«P»"]`, "ada dan"}),
		onValuePath.on("co", row{`emails[type eq "home" and value co "«P»dan.w"]`, "dan"},
			row{`emails[type eq "home" and value co "«P»dan.h"]`, ""}),
		onValuePath.on("sw", row{`emails[type eq "home" and value sw "«P»"]`, "ada dan"},
			row{`emails[type eq "home" and value sw "«P»bob"]`, ""}),
		onValuePath.on("ew", row{`emails[value sw "«P»" and value ew ".h@example.com" and type eq "work"]`, "dan"},
			row{`emails[value sw "«P»" and value ew ".h"]`, ""}),
		onValuePath.on("pr", row{`emails[value sw "«P»" and type pr]`, "ada bob dan eve"}, row{`emails[value sw "«P»" and not (type pr)]`, ""}),

		onURN.on("co", row{scim.UserSchema + `:title co "«P» Chief"`, "cyd"}, row{scope + scim.UserSchema + `:title co " Chief"`, "cyd"}),
		onURN.on("sw", row{scim.UserSchema + `:userName sw "«P»ada"`, "ada"}),
		onURN.on("pr", row{scope + scim.UserSchema + `:title pr`, "ada bob cyd dan"}),
		onURN.on("ge", row{scope + scim.UserSchema + `:name.familyName ge "«P» Ingalls"`, "ada dan eve"}),

		onEnterprise.on("eq", row{enterprise + `employeeNumber eq "«P»702"`, "gus"}, row{enterprise + `employeeNumber eq "«P»70"`, ""}),
		onEnterprise.on("ne", row{scope + enterprise + `employeeNumber pr and ` + enterprise + `employeeNumber ne "«P»702"`, "fin hal"}),
		onEnterprise.on("co", row{enterprise + `department co "«P» Sal"`, "gus"}, row{scope + enterprise + `department co " Sal"`, "gus"}),
		onEnterprise.on("sw", row{enterprise + `department sw "«P» Sal"`, "gus"},
			row{scope + enterprise + `department sw "Research"`, ""}),
		onEnterprise.on("ew", row{scope + enterprise + `department ew "search2"`, "jon"}, row{scope + enterprise + `employeeNumber ew "70"`, ""}),
		onEnterprise.on("pr", row{scope + enterprise + `department pr`, "fin gus hal jon"},
			row{scope + enterprise + `employeeNumber pr`, "fin gus hal"}),
		onEnterprise.on("gt", row{scope + enterprise + `employeeNumber gt "«P»701"`, "gus hal"}),
		onEnterprise.on("le", row{scope + enterprise + `employeeNumber le "«P»702"`, "fin gus"}),

		onReference.on("eq", row{`profileUrl eq "https://example.com/«P»/gus"`, "gus"}, row{`profileUrl eq "https://example.com/«P»/"`, ""}),
		onReference.on("ne", row{scope + `profileUrl pr and profileUrl ne "https://example.com/«P»/gus"`, "fin hal"}),
		onReference.on("co", row{`profileUrl co "/«P»/hal"`, "hal"}),
		onReference.on("sw", row{`profileUrl sw "https://example.com/«P»/"`, "fin gus hal"}, row{scope + `profileUrl sw "example.com"`, ""}),
		onReference.on("ew", row{scope + `profileUrl ew "/hal/x"`, "hal"}, row{scope + `profileUrl ew "/hal"`, ""}),
		onReference.on("pr", row{scope + `profileUrl pr`, "fin gus hal"}),

		onExternalID.on("ne", row{scope + `externalId pr and externalId ne "«P»Ext-A"`, "bob dan"}),
		onExternalID.on("co", row{`externalId co "«P»Ext-"`, "ada dan"}, row{scope + `externalId co "xt-A"`, "ada"}),
		onExternalID.on("sw", row{`externalId sw "«P»ext"`, "bob"}, row{scope + `externalId sw "ext"`, ""}),
		onExternalID.on("pr", row{scope + `externalId pr`, "ada bob dan"}, row{scope + `not (externalId pr)`, "cyd eve"}),

		onID.on("eq", row{`id eq "«cyd»"`, "cyd"}, row{`id eq "«cyd»x"`, ""}, row{`id eq "«cyd-»"`, ""}),
		onID.on("ne", row{scope + `id ne "«cyd»"`, "ada bob dan eve"}),
		onID.on("pr", row{scope + `id pr`, "ada bob cyd dan eve"}),

		onBoolean.on("ne", row{scope + `active ne true`, "bob eve"}, row{scope + `active ne false`, "ada cyd dan"}),
		onBoolean.on("pr", row{scope + `active pr`, "ada bob cyd dan eve"}),
	},
	[]check{
		unordered("boolean", "ge", "active ge true", "RFC7644-3.4.2.2-22", "Booleans"),
		unordered("boolean", "lt", "active lt true", "RFC7644-3.4.2.2-22", "Booleans"),
		unordered("boolean", "le", "active le false", "RFC7644-3.4.2.2-22", "Booleans"),
		unordered("binary", "gt", `x509Certificates.value gt "AAAA"`, "RFC7644-3.4.2.2-23", "Binary values"),
		unordered("binary", "le", `x509Certificates.value le "AAAA"`, "RFC7644-3.4.2.2-23", "Binary values"),
	},
	filterDates,
	filterCommon,
	filterAbsent,
)

// unordered returns a check that the target rejects an order operator (gt, ge, lt or le) on an attribute whose type has no order.
func unordered(kind, operator, filter, requirement, subject string) check {
	attribute, _, _ := strings.Cut(filter, " ")
	attribute, _, _ = strings.Cut(attribute, ".")
	return check{
		ID:           "filter." + kind + "-order-" + operator,
		Title:        "The operator " + operator + " on a " + kind + " attribute is rejected with 400 invalidFilter",
		Requirements: reqs(requirement),
		Level:        must,
		Needs:        needs(conformance.NeedUser, conformance.NeedFilter),
		Requests:     1,
		Why:          subject + " have no order; a client that gets a result relies on an arbitrary selection of users.",
		Fix:          "Check that the operator is defined for the type of the attribute; otherwise return 400 invalidFilter.",
		Run: func(ctx context.Context, t *T) {
			schema := t.Capabilities.Schema(scim.UserSchema)
			definition := element(schema, "attributes", "name", attribute)
			t.SkipIf(schema != nil && definition == nil, "the User schema does not have "+attribute)
			declared := cmp.Or(element(definition, "subAttributes", "name", "value"), definition).Text("type")
			t.SkipIf(declared != "" && declared != kind, "the User schema declares "+attribute+" as "+declared)
			expectUnordered(ctx, t, filter)
		},
	}
}

// expectUnordered expects that a filter with an order operator is rejected with 400 invalidFilter. If the target rejects it in another way,
// and in the same way the operator eq on the same attribute or the order operator on a string, the type of the attribute is not the reason:
// the check is skipped.
func expectUnordered(ctx context.Context, t *T, filter string) {
	res := t.Get(ctx, "/Users", "filter", filter)
	if res.Status >= 400 && (res.Status != 400 || res.ScimType() != "invalidFilter") {
		words := strings.Fields(filter)
		for _, plain := range []string{words[0] + " eq " + words[2], "userName " + words[1] + ` "a"`} {
			control := t.Get(ctx, "/Users", "filter", plain, "count", "1")
			t.SkipIf(control.Status == res.Status && control.ScimType() == res.ScimType(),
				"the filter "+plain+" is rejected with the same error, so the type of the attribute is not the reason")
		}
		t.About(res)
	}
	t.Require("status of the filter "+filter, 400, res.Status)
	t.Expect("scimType of the filter "+filter, "invalidFilter", res.ScimType())
}

// dateTimeCheck returns a check of filters on meta.created or meta.lastModified. table returns the rows; its arguments are the creation
// time of the user cyd, and the string in which the target returned this time.
func dateTimeCheck(operator, title string, table func(at time.Time, text string) []row) check {
	return check{
		ID:           "filter.date-time-" + operator,
		Title:        title,
		Requirements: reqs("RFC7644-3.4.2.2-20", "RFC7644-3.4.2.2-60"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     len(table(time.Time{}, "")),
		Why: "An incremental import requests the users that changed since the last import; a wrong comparison of times loses a " +
			"change or imports it again every time.",
		Fix: "Parse the operand, and compare it with the time that the responses contain: if the server stores microseconds but " +
			"returns milliseconds, round or truncate the stored time as for a response before the comparison.",
		Run: func(ctx context.Context, t *T) {
			text := t.Fixture["cyd"].Resource.Complex("meta").Text("created")
			at, err := schema.ParseDateTime(text)
			t.SkipIf(err != nil, "the target does not return meta.created")
			rows(false, table(at, text)...)(ctx, t)
		},
	}
}

// presentTime returns the check of the operator pr on a dateTime, which compares no times.
func presentTime() check {
	c := dateTimeCheck("pr", "The operator pr on a dateTime finds the users with a value", func(time.Time, string) []row {
		return []row{{scope + `meta.created pr`, allPeople}}
	})
	c.Why = "Clients use pr to exclude users without a time from an import; if pr matches no times, the import is empty."
	c.Fix = "Evaluate pr on meta.created and meta.lastModified, even if the server does not store them with the other attributes."
	return c
}

// timeRange returns the check c of two conditions on a dateTime. It is blocked if the target evaluates one condition wrong.
func timeRange(c check) check {
	run := c.Run
	c.Run = func(ctx context.Context, t *T) {
		at, err := schema.ParseDateTime(t.Fixture["cyd"].Resource.Complex("meta").Text("created"))
		if err == nil {
			for _, bound := range []string{"gt " + timeOperand(at.Add(-time.Hour)), "lt " + timeOperand(at.Add(time.Hour))} {
				one := row{scope + "meta.created " + bound, allPeople}
				t.BlockedIf(func() string { return wrongRow(ctx, t, one, "with only one condition on a dateTime,") })
			}
		}
		run(ctx, t)
	}
	return c
}

// withLevel returns the check c with the given level instead of its own.
func withLevel(level conformance.Level, c check) check {
	c.Level = level
	return c
}

// withFix returns the check c with the given advice instead of its own.
func withFix(fix string, c check) check {
	c.Fix = fix
	return c
}

// timeOperand returns a time as a filter operand.
func timeOperand(at time.Time) string { return quote(at.Format(time.RFC3339Nano)) }

const allPeople = "ada bob cyd dan eve"

var filterDates = []check{
	withLevel(should,
		dateTimeCheck("zone", "The operator eq on a dateTime finds the users whose value is the time of the operand, in any time zone",
			func(at time.Time, _ string) []row {
				// The level is Should: RFC 7644 defines gt and lt on dateTimes as a comparison of times, but eq as a comparison of
				// identical values.
				elsewhere := at.In(time.FixedZone("", 3*3600)).Format(time.RFC3339Nano)
				return []row{{`id eq "«cyd»" and meta.created eq ` + quote(elsewhere), "cyd"}}
			})),
	dateTimeCheck("eq", "The operator eq finds a user by the meta.created of a response, and finds no user by an earlier time",
		func(at time.Time, text string) []row {
			return []row{
				{`id eq "«cyd»" and meta.created eq ` + quote(text), "cyd"},
				{scope + `meta.created eq ` + timeOperand(at.Add(-time.Hour)), ""},
			}
		}),
	dateTimeCheck("ne", "The operator ne on a dateTime finds the users whose value is not the time of the operand",
		func(at time.Time, text string) []row {
			return []row{{scope + `meta.created ne ` + timeOperand(at.Add(-time.Hour)), allPeople},
				{`id eq "«cyd»" and meta.created ne ` + quote(text), ""}}
		}),
	dateTimeCheck("ge", "The operator ge on a dateTime finds the users whose value is the time of the operand or later",
		func(at time.Time, text string) []row {
			return []row{{`id eq "«cyd»" and meta.created ge ` + quote(text), "cyd"},
				{scope + `meta.created ge ` + timeOperand(at.Add(time.Hour)), ""}}
		}),
	dateTimeCheck("gt", "The operator gt on a dateTime finds only users whose value is later than the operand",
		func(at time.Time, text string) []row {
			return []row{{`id eq "«cyd»" and meta.created gt ` + quote(text), ""},
				{scope + `meta.created gt ` + timeOperand(at.Add(-time.Hour)), allPeople}}
		}),
	dateTimeCheck("le", "The operator le on a dateTime finds the users whose value is the time of the operand or earlier",
		func(at time.Time, text string) []row {
			return []row{{`id eq "«cyd»" and meta.created le ` + quote(text), "cyd"},
				{scope + `meta.created le ` + timeOperand(at.Add(-time.Hour)), ""}}
		}),
	dateTimeCheck("lt", "The operator lt on a dateTime finds only users whose value is earlier than the operand",
		func(at time.Time, text string) []row {
			return []row{{`id eq "«cyd»" and meta.created lt ` + quote(text), ""},
				{scope + `meta.created lt ` + timeOperand(at.Add(time.Hour)), allPeople}}
		}),
	presentTime(),
	timeRange(dateTimeCheck("range", "Two conditions on a dateTime select the users with a time between two bounds", func(at time.Time,
		_ string) []row {
		hour := func(n int) string { return timeOperand(at.Add(time.Duration(n) * time.Hour)) }
		return []row{
			{scope + `meta.created gt ` + hour(-1) + ` and meta.created lt ` + hour(1), allPeople},
			{scope + `meta.created gt ` + hour(1) + ` and meta.created lt ` + hour(2), ""},
			{scope + `meta.created gt ` + hour(-2) + ` and meta.created lt ` + hour(-1), ""},
			{scope + `(meta.created lt ` + hour(-1) + ` or meta.created gt ` + hour(1) + `)`, ""},
		}
	})),
	dateTimeCheck("last-modified", "The operator gt on meta.lastModified finds exactly the users that were changed later than the "+
		"operand", func(at time.Time, _ string) []row {
		return []row{{scope + `meta.lastModified gt ` + timeOperand(at.Add(-time.Hour)), allPeople},
			{scope + `meta.lastModified gt ` + timeOperand(at.Add(time.Hour)), ""}}
	}),
}

// filterCommon are checks of filters on schemas, meta.resourceType and id, on complex and multi-valued attributes, and of the case of
// values.
var filterCommon = []check{
	{
		ID:           "filter.certificates",
		Title:        "A filter with eq on x509Certificates.value, for a certificate that no user has, matches no user or is rejected with 400",
		Requirements: reqs("RFC7644-3.4.2.2-24", "RFC7644-3.4.2.2-50"),
		Level:        should,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "If a user without a certificate causes an error, no client can search for a certificate.",
		Fix:          "Treat an absent attribute as one that does not match; return 400 invalidFilter only if the filter is not supported.",
		Run:          rows(false, row{`x509Certificates.value eq "AAAA"`, ""}),
	},
	{
		ID:           "filter.schemas",
		Title:        "A filter with eq on schemas finds the resources whose schemas contain the URN",
		Requirements: reqs("RFC7644-3.4.2.2-59"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that query several resource types select by schema; a wrong result mixes users and groups.",
		Fix:          "Treat schemas as a multi-valued string attribute in filters.",
		Run: rows(false, row{scope + `schemas eq "` + scim.UserSchema + `"`, allPeople},
			row{scope + `schemas eq "urn:example:scimconf:none"`, ""}),
	},
	{
		ID:           "filter.schemas-extension",
		Title:        "A filter on schemas finds the users with an extension",
		Requirements: reqs("RFC7644-3.4.2.2-59"),
		Level:        must,
		Needs:        append(slices.Clone(filters), conformance.NeedEnterprise),
		Fixture:      staff,
		Requests:     1,
		Why:          "Clients find the users with extension data only by schemas; otherwise they have to read all users.",
		Fix:          "List the URN of the extension in schemas while the resource has data of it, and support schemas in filters.",
		Run:          rows(false, row{scope + `schemas eq "` + scim.EnterpriseUserSchema + `"`, "fin gus hal jon"}),
	},
	{
		ID:           "filter.resource-type",
		Title:        "A filter on meta.resourceType finds the resources of the type with that name",
		Requirements: reqs("RFC7644-3.4.2.2-60", "RFC7643-3.1-20"),
		Level:        should,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why: "Clients filter the root endpoint / by meta.resourceType, and send the same filter to /Users; if the results differ, " +
			"they miss users or get other resources.",
		Fix: "Support meta.resourceType in filters, also at an endpoint with resources of only one type, such as /Users.",
		Run: rows(false, row{scope + `meta.resourceType eq "User"`, allPeople}, row{scope + `meta.resourceType eq "Group"`, ""}),
	},
	{
		ID: "filter.meta",
		Title: "A filter with eq on meta.location or pr on meta.version finds exactly the users that match, or is rejected with 400 " +
			"invalidFilter",
		Requirements: reqs("RFC7644-3.4.2.2-60"),
		Level:        should,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that store the URI of an account search for it by meta.location; if they do not find it, they create a duplicate.",
		Fix:          "Support every sub-attribute of meta in filters, or return 400 invalidFilter.",
		Run: func(ctx context.Context, t *T) {
			meta := t.Fixture["cyd"].Resource.Complex("meta")
			t.SkipIf(meta.Text("location") == "" && meta.Text("version") == "", "the target returns neither meta.location nor meta.version")
			var table []row
			if location := meta.Text("location"); location != "" {
				table = append(table, row{scope + `meta.location eq ` + quote(location), "cyd"})
			}
			if meta.Text("version") != "" {
				table = append(table, row{scope + `meta.version pr`, allPeople})
			}
			rows(false, table...)(ctx, t)
		},
	},
	{
		ID:           "filter.manager",
		Title:        "Users are found by the id of their manager",
		Requirements: reqs("RFC7644-3.4.2.2-47", "RFC7644-3.4.2.2-46"),
		Level:        must,
		Needs:        append(slices.Clone(filters), conformance.NeedEnterprise),
		Fixture:      staff,
		Requests:     2,
		Why:          "Clients build organization charts with this filter; a wrong result assigns users to the wrong manager.",
		Fix: "Split urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value at its last colon into the URN and " +
			"manager.value, and split manager.value at its dot into the attribute and the sub-attribute. Treat a user without the " +
			"extension as a user without a value.",
		Run: onEnterprise.unlessWrong(rows(false, row{enterprise + `manager.value eq "«fin»"`, "gus hal"},
			row{enterprise + `manager.value eq "«gus»"`, ""})),
	},
	{
		ID:           "filter.manager-present",
		Title:        "The operator pr on a complex attribute finds the users with a value of at least one of its sub-attributes",
		Requirements: reqs("RFC7644-3.4.2.2-17"),
		Level:        must,
		Needs:        append(slices.Clone(filters), conformance.NeedEnterprise),
		Fixture:      staff,
		Requests:     1,
		Why:          "Clients search for accounts without a manager; a wrong result lists users who have a manager.",
		Fix:          "Treat a complex attribute such as manager as present if at least one sub-attribute, such as manager.value, has a value.",
		Run:          onEnterprise.unlessWrong(rows(false, row{scope + enterprise + `manager pr`, "gus hal"})),
	},
	{
		ID:           "filter.name-present",
		Title:        "The operator pr on name finds the users with a value of at least one sub-attribute of name",
		Requirements: reqs("RFC7644-3.4.2.2-17"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why: "Clients search for users without a name by not (name pr); a server that treats name as absent returns users who have a " +
			"name, and the client overwrites their names.",
		Fix: "Treat a complex attribute such as name as present if at least one sub-attribute, such as name.familyName, has a value.",
		Run: rows(false, row{scope + `name pr`, allPeople}, row{scope + `not (name pr)`, ""}),
	},
	{
		ID:           "filter.element-type",
		Title:        "A filter on emails.type finds the users with an email address of that type",
		Requirements: reqs("RFC7644-3.4.2.2-50", "RFC7644-3.4.2.2-46"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients search for users with or without a home address; a wrong result gives them other users.",
		Fix: "Support every sub-attribute of a multi-valued attribute in filters, for example emails.type, not only value. A user without " +
			"the attribute does not match, and must not cause an error.",
		Run: onMultiValued.unlessWrong(rows(false, row{scope + `emails.type eq "home"`, "ada dan"}, row{scope + `emails.type eq "fax"`, ""})),
	},
	{
		ID:           "filter.bare-multi-valued",
		Title:        "A filter on a multi-valued attribute without a sub-attribute, such as emails, is evaluated on its value, or is rejected",
		Requirements: reqs("RFC7644-3.4.2.2-52"),
		Level:        should,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why: "Clients use emails co \"...\" from the examples of RFC 7644; if the server does not evaluate it on emails.value, they " +
			"find no user and create a duplicate.",
		Fix: "Evaluate a multi-valued complex attribute without a sub-attribute on value, for example emails as emails.value, or " +
			"return 400 invalidFilter. A user without the attribute must not cause an error.",
		Run: onMultiValued.unlessWrong(rows(false, row{`emails eq "«P»ada.h@example.com"`, "ada"}, row{scope + `emails co "«P»dan."`, "dan"})),
	},
	{
		ID:           "filter.complex-as-text",
		Title:        "A filter with co on a complex attribute, such as name, matches no user or is rejected",
		Requirements: reqs("RFC7644-3.4.2.2-53"),
		Level:        should,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why: "A server that compares the JSON text of a complex attribute also matches names of sub-attributes, and the client gets " +
			"and changes users that it did not select.",
		Fix: "Reject the filter with 400 invalidFilter, or match no user.",
		Run: func(ctx context.Context, t *T) { expectNoMatch(ctx, t, scope+`name co "Lovelace"`) },
	},
	{
		ID:           "filter.id-case-exact",
		Title:        "A filter with eq on id is case-sensitive",
		Requirements: reqs("RFC7643-3.1-12", "RFC7644-3.4.2.2-57"),
		Level:        may,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "If ids that differ only by case match each other, the client gets and changes another resource.",
		Fix:          "Compare ids case-sensitively, unless the server never assigns two ids that differ only by case.",
		Run: func(ctx context.Context, t *T) {
			id := t.Fixture["cyd"].ID
			t.SkipIf(swapCase(id) == id, "the target's ids have no letters")
			evaluate(ctx, t, row{`id eq ` + quote(swapCase(id)), ""}, false)
		},
	},
	{
		ID:           "filter.case-exact-substring",
		Title:        "The operators sw and co on externalId are case-sensitive",
		Requirements: reqs("RFC7644-3.4.2.2-58", "RFC7643-3.1-17"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "externalIds that differ only by case belong to different users; the client gets and changes the wrong one.",
		Fix:          "Apply caseExact of the attribute to all operators, not only to eq.",
		Run:          rows(false, row{`externalId sw "«P»Ext-"`, "ada dan"}, row{`externalId co "«P»EXT"`, ""}),
	},
	{
		ID:           "filter.case-insensitive-substring",
		Title:        "The operators sw, co and ew on attributes that are not caseExact are case-insensitive",
		Requirements: reqs("RFC7644-3.4.2.2-58"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     3,
		Why:          "An administrator who enters smith in a search form does not find Smith.",
		Fix:          "Compare value and operand case-insensitively for all operators, unless the schema sets caseExact to true.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(isCaseExact(t, "title"), "the schema describes title as caseExact")
			answered := 0
			for _, r := range []row{{`title sw "«P» ENGINEER"`, "ada bob dan"}, {scope + `title co "chief"`, "cyd"},
				{scope + `title ew "engineer"`, "ada bob cyd"}} {
				if unstoredAttribute(t, r.filter) == "" {
					if _, right := r.found(ctx, t); right {
						answered++
						continue
					}
				}
				operator := comparison.FindStringSubmatch(strings.TrimPrefix(r.filter, scope))[2]
				wrong := func(basic row) bool { return wrongRow(ctx, t, basic, "") != "" }
				if slices.ContainsFunc(basicOf(t, operator), wrong) {
					t.Note("the operator %s is evaluated wrong in every case, which filter.%[1]s reports", operator)
				} else if evaluate(ctx, t, r, false) {
					answered++
				}
			}
			t.SkipIf(answered == 0, skipUnsupported)
		},
	},
	{
		ID:           "filter.case-insensitive-order",
		Title:        "The operators gt and le on attributes that are not caseExact are case-insensitive",
		Requirements: reqs("RFC7644-3.4.2.2-58", "RFC7644-3.4.2.2-19"),
		Level:        must,
		Needs:        filters,
		Fixture:      staff,
		Requests:     2,
		Why:          "If capital letters sort before small ones, clients that read a directory in parts by gt and le miss users.",
		Fix:          "Fold the case before comparing, unless the schema sets caseExact to true.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(isCaseExact(t, "displayName"), "the schema describes displayName as caseExact")
			// Compared by code point, alpha and delta would be greater than all other values.
			unlessWrong(rows(false, row{scope + `displayName gt "«P» Bravo"`, "fin ivy jon"},
				row{scope + `displayName le "«P» charlie"`, "gus hal ivy"}), "gt", "le")(ctx, t)
		},
	},
	{
		ID:           "filter.case-insensitive-extension",
		Title:        "A filter compares values of the enterprise extension case-insensitively",
		Requirements: reqs("RFC7644-3.4.2.2-57"),
		Level:        should,
		Needs:        append(slices.Clone(filters), conformance.NeedEnterprise),
		Fixture:      staff,
		Requests:     1,
		Why:          "Administrators type department names in different case. A case-sensitive comparison misses some of the users.",
		Fix:          "Compare values of extension attributes case-insensitively, unless the schema of the extension sets caseExact to true.",
		Run: withUsualCase(enterprise+`department eq "«P» Research"`, "fin hal",
			rows(false, row{enterprise + `department eq "«P» research"`, "fin hal"})),
	},
}

func swapCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}

// isPartCaseExact reports whether the target's User schema describes a sub-attribute as caseExact.
func isPartCaseExact(t *T, attribute, part string) bool {
	definition := element(t.Capabilities.Schema(scim.UserSchema), "attributes", "name", attribute)
	yes, _ := element(definition, "subAttributes", "name", part).Bool("caseExact")
	return yes
}

// isCaseExact reports whether the target's User schema describes an attribute as caseExact.
func isCaseExact(t *T, attribute string) bool {
	yes, _ := element(t.Capabilities.Schema(scim.UserSchema), "attributes", "name", attribute).Bool("caseExact")
	return yes
}
