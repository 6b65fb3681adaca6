package observed

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/internal/grammar"
	"github.com/scimwright/scimwright/conformance/lint"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// clientArea is the first part of the ids of all checks of clients.
const clientArea = "client"

type (
	check   = conformance.Check
	watched = conformance.ObservedExchange
)

const (
	must    = conformance.Must
	should  = conformance.Should
	interop = conformance.Interop
	may     = conformance.May
)

// ClientChecks returns the checks of clients: checks of their requests, of the bodies (the rules of package lint) and of their behavior
// over several exchanges. The checks have state, so each call of [Judge] needs a new list.
func ClientChecks() []conformance.Check {
	return slices.Concat(headers(), queries(), bodies(), behavior())
}

func reqs(ids ...string) []string { return ids }

func sent(w *watched) []byte {
	body, _ := w.Request.Body.([]byte)
	return body
}

func isJSON(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return media == scim.MediaType || media == "application/json"
}

// headers are the checks of the headers of requests.
func headers() []check {
	return []check{
		{
			ID:           "client.media-type",
			Title:        "Every request body has the Content-Type application/scim+json or application/json",
			Requirements: reqs("RFC7644-3.1-01"),
			Level:        must,
			Why:          "Servers select the parser by the Content-Type, and many reject other types with 415.",
			Fix:          "Send Content-Type: application/scim+json with every body.",
			Watch: func(w *watched) {
				if len(sent(w)) > 0 {
					w.Holds(isJSON(w.Request.Header.Get("Content-Type")), "Content-Type of the request", scim.MediaType,
						w.Request.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID:           "client.scim-media-type",
			Title:        "Request bodies have the Content-Type application/scim+json",
			Requirements: reqs("RFC7644-8.1-01"),
			Level:        may,
			Why:          "Some servers reject any other type with 415, and make none of the changes.",
			Fix:          "Send application/scim+json in place of application/json.",
			Watch: func(w *watched) {
				if isJSON(w.Request.Header.Get("Content-Type")) && len(sent(w)) > 0 {
					w.Holds(strings.HasPrefix(strings.ToLower(w.Request.Header.Get("Content-Type")), scim.MediaType), "Content-Type of the request",
						scim.MediaType, w.Request.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID:    "client.accept",
			Title: "The client accepts SCIM: application/scim+json, application/json or anything",
			Level: interop,
			Why:   "A server may return 406 for any other Accept.",
			Fix:   "Send Accept: application/scim+json.",
			Watch: func(w *watched) {
				if accept := w.Request.Header.Get("Accept"); accept != "" {
					w.Holds(slices.ContainsFunc(strings.Split(accept, ","), func(a string) bool {
						media, _, _ := strings.Cut(strings.TrimSpace(a), ";")
						return isJSON(media) || media == "*/*" || media == "application/*"
					}), "Accept of the request", scim.MediaType, accept)
				}
			},
		},
		{
			ID:    "client.user-agent",
			Title: "The client sends its name in User-Agent",
			Level: may,
			Why:   "Without User-Agent, the operator of the server cannot find out which client sends faulty requests.",
			Fix:   "Send a User-Agent with name and version, such as example-idp/1.2.",
			Watch: func(w *watched) {
				agent := w.Request.Header.Get("User-Agent")
				w.Holds(agent != "" && !strings.HasPrefix(agent, "Go-http-client/"), "User-Agent of the request", "the name of the client", agent)
			},
		},
		{
			ID:    "client.body-where-none-belongs",
			Title: "GET and DELETE have no body",
			Level: interop,
			Why:   "HTTP defines no meaning for a body of GET or DELETE; servers and gateways ignore the body or reject the request.",
			Fix:   "Send a query as parameters, or as a POST to .search.",
			Watch: func(w *watched) {
				if w.Request.Method == http.MethodGet || w.Request.Method == http.MethodDelete {
					w.Holds(len(sent(w)) == 0, "body of the request", "no body", "a body")
				}
			},
		},
		{
			ID:    "client.credentials",
			Title: "Requests for users and groups have credentials",
			Level: may,
			Why:   "If the server does not require credentials either, any client can read and change its users.",
			Fix:   "Send an Authorization header.",
			Watch: func(w *watched) {
				if w.Collection() == "Users" || w.Collection() == "Groups" {
					w.Holds(w.Request.Header.Get("Authorization") != "", "Authorization of the request", "credentials", "none")
				}
			},
		},
		{
			ID:           "client.endpoint-case",
			Title:        "Endpoints are spelled as in /ResourceTypes, without a trailing slash",
			Requirements: reqs("RFC7644-3.2-04"),
			Level:        interop,
			Why:          "Paths are case-sensitive: many servers return 404 for /users.",
			Fix:          "Copy the endpoint of each resource type from /ResourceTypes, for example /Users.",
			Watch: func(w *watched) {
				for _, name := range []string{"Users", "Groups", "Bulk", "Me", "Schemas", "ResourceTypes", "ServiceProviderConfig"} {
					if strings.EqualFold(w.Collection(), name) {
						w.Holds(w.Collection() == name && !strings.HasSuffix(w.Request.Path, "/") && !strings.Contains(w.Request.Path, "//"), "path",
							"/"+name, w.Request.Path)
					}
				}
			},
		},
	}
}

// queries are the checks of query parameters.
func queries() []check {
	parameter := func(w *watched, name string, judge func(value string)) {
		for _, v := range w.Request.Query[name] {
			judge(v)
		}
	}
	return []check{
		{
			ID:           "client.filter",
			Title:        "Filters conform to the grammar",
			Requirements: reqs("RFC7644-3.4.2.2-06"),
			Level:        must,
			Why:          "A server that cannot parse a filter returns 400, or users that the client did not search for.",
			Fix:          `Write filters as userName eq "ann", with strings in double quotation marks, and percent-encode them.`,
			Watch: func(w *watched) {
				parameter(w, "filter", func(v string) {
					err := grammar.Filter(v)
					e, told := errors.AsType[*grammar.Error](err)
					w.Holds(v == wirelog.Redacted || err == nil || told && e.Common, "filter", "a filter of RFC 7644 section 3.4.2.2", fmt.Sprint(err))
				})
			},
		},
		{
			ID:           "client.filter-form",
			Title:        "Filters have no comparison after brackets",
			Requirements: reqs("RFC7644-3.4.2.2-06"),
			Level:        interop,
			Why:          "The grammar of RFC 7644 does not permit [...].value eq; servers that implement the grammar strictly return 400.",
			Fix:          `Put the comparison into the brackets: emails[type eq "work" and value eq "a"].`,
			Watch: func(w *watched) {
				parameter(w, "filter", func(v string) {
					e, told := errors.AsType[*grammar.Error](grammar.Filter(v))
					w.Holds(!told || !e.Common, "filter", "no sub-attribute after brackets", "one")
				})
			},
		},
		{
			ID:           "client.projection",
			Title:        "attributes and excludedAttributes are in attribute notation",
			Requirements: reqs("RFC7644-3.4.2.5-04"),
			Level:        must,
			Why:          "A name that is not in attribute notation selects no attribute, so the client gets no value.",
			Fix:          "Send names such as userName,name.familyName.",
			Watch: func(w *watched) {
				for _, name := range []string{"attributes", "excludedAttributes"} {
					parameter(w, name, func(v string) {
						for one := range strings.SplitSeq(v, ",") {
							_, err := scim.ParseAttrPath(strings.TrimSpace(one))
							w.Holds(err == nil, name, "names of attributes", one)
						}
					})
				}
			},
		},
		{
			ID:           "client.one-projection",
			Title:        "attributes and excludedAttributes are not combined",
			Requirements: reqs("RFC7644-3.4.2.5-03"),
			Level:        may,
			Why:          "RFC 7644 does not define the result: some servers apply one of the two parameters, some both, some return 400.",
			Fix:          "Send either attributes or excludedAttributes.",
			Watch: func(w *watched) {
				if w.Projected() {
					w.Holds(!w.Request.Query.Has("attributes") || !w.Request.Query.Has("excludedAttributes"), "parameters",
						"attributes or excludedAttributes", "both")
				}
			},
		},
		{
			ID:           "client.paging",
			Title:        "startIndex is an integer of at least 1, and count is an integer of at least 0",
			Requirements: reqs("RFC7644-3.4.2.4-14"),
			Level:        interop,
			Why:          "Servers read a smaller startIndex as 1 and a smaller count as 0, and reject values that are not numbers.",
			Fix:          "Start with startIndex=1.",
			Watch: func(w *watched) {
				for least, name := range []string{"count", "startIndex"} { // the minimum of count is 0, of startIndex 1
					parameter(w, name, func(v string) {
						n, err := strconv.Atoi(v)
						w.Holds(err == nil && n >= least, name, strconv.Itoa(least)+" or more", v)
					})
				}
			},
		},
		{
			ID:           "client.sort",
			Title:        "sortBy is one attribute, sortOrder ascending or descending",
			Requirements: reqs("RFC7644-3.4.2.3-04"),
			Level:        interop,
			Why:          "A server that does not recognize a value returns the list in any order.",
			Fix:          "Send sortBy=name.familyName&sortOrder=ascending.",
			Watch: func(w *watched) {
				parameter(w, "sortBy", func(v string) {
					_, err := scim.ParseAttrPath(v)
					w.Holds(err == nil, "sortBy", "the name of an attribute", v)
				})
				parameter(w, "sortOrder", func(v string) {
					w.Holds(strings.EqualFold(v, "ascending") || strings.EqualFold(v, "descending"), "sortOrder", "ascending or descending", v)
				})
			},
		},
		cursors(),
		{
			ID:           "client.secret-in-address",
			Title:        "No URL contains a password or a token",
			Requirements: reqs("RFC7644-7.5.2-01"),
			Level:        should,
			Why:          "Proxies and servers log URLs; readers of the logs can use the password or the token.",
			Fix:          "Send credentials in the Authorization header, and send no filter on password.",
			Watch: func(w *watched) {
				secret := strings.Contains(w.Exchange().URL, wirelog.Redacted) || strings.Contains(w.Exchange().URL, "%5Bredacted%5D")
				w.Holds(!secret, "address", "no secret", wirelog.Redacted)
			},
		},
	}
}

// cursors checks how the client pages by cursor (RFC 9865).
func cursors() check {
	given := map[string]string{} // cursor -> the query that returned it
	return check{
		ID:           "client.cursor",
		Title:        "A cursor is sent with the parameters of the query that returned the cursor",
		Requirements: reqs("RFC9865-2-10"),
		Level:        must,
		Why:          "A cursor contains the position in the results, not the query: with other parameters, the client gets wrong users or 400.",
		Fix:          "Repeat all parameters of the query for the first page, and change only cursor.",
		Watch: func(w *watched) {
			rest := map[string][]string{}
			for name, values := range w.Request.Query {
				if name != "cursor" {
					rest[name] = values
				}
			}
			query := w.Request.Path + fmt.Sprint(rest) // The string is equal for equal queries: fmt prints maps in the order of their keys.
			if cursor := w.Request.Query.Get("cursor"); cursor != "" {
				of, known := given[cursor]
				// The query of a cursor that was returned before the recording started is unknown, so the cursor is accepted.
				w.Holds(!known || of == query, "parameters other than cursor", "those of the query that returned the cursor", "others")
			}
			for _, name := range []string{"nextCursor", "previousCursor"} {
				if cursor := w.Object().Text(name); cursor != "" {
					given[cursor] = query
				}
			}
		},
	}
}

// serverRules are the prefixes of the rules of package lint that apply only to responses.
var serverRules = []string{"list.", "error.", "config.", "resourcetype.", "schema.", "bulkresponse.", "resource.no-password",
	"resource.password-here", "resource.id-bulkid", "resource.meta-", "json.size"}

// subjects are the kinds of bodies that a rule applies to.
var subjects = map[string][]string{"patch": {"PatchOp", "BulkRequest"}, "bulk": {"BulkRequest"}, "search": {"SearchRequest"}}

// bodies returns a check for each rule of package lint that binds clients.
func bodies() []check {
	last := struct {
		of     *conformance.Response
		report lint.Report
	}{}
	judge := func(w *watched) lint.Report {
		if last.of != w.Response { // Each check calls judge for the same exchange, so the result is stored until the next exchange.
			last.of, last.report = w.Response, lint.Lint(sent(w), lint.Options{From: lint.Client, As: expected(w)})
		}
		return last.report
	}
	var out []check
	for _, rule := range lint.Rules() {
		if slices.ContainsFunc(serverRules, func(prefix string) bool { return strings.HasPrefix(rule.ID, prefix) }) {
			continue
		}
		subject, _, _ := strings.Cut(rule.ID, ".")
		level := rule.Level
		if clause, _ := requirements.Lookup(rule.Requirement); clause.Role == requirements.Server && level == must {
			level = interop // the requirement binds servers only, but a server may reject the request
		}
		out = append(out, check{
			ID:           clientArea + "." + rule.ID,
			Title:        "Sent by the client: " + rule.Title,
			Requirements: reqs(rule.Requirement),
			Level:        level,
			Why:          "A server rejects a body that violates the rule, or stores a different value than intended.",
			Fix:          rule.Fix,
			Watch: func(w *watched) {
				if len(sent(w)) == 0 || !isJSON(w.Request.Header.Get("Content-Type")) {
					return
				}
				report := judge(w)
				if kinds := subjects[subject]; kinds != nil && !slices.Contains(kinds, report.Kind) {
					return
				}
				w.MarkApplicable()
				for _, f := range report.Findings {
					// A body with an id violates this rule only in a POST, because the body of a PUT may contain the id.
					if f.Rule.ID == rule.ID && (rule.ID != "resource.client-id" || w.Request.Method == http.MethodPost) {
						w.Holds(false, f.Path, f.Want, f.Got)
					}
				}
			},
		})
	}
	return out
}

// expected returns the kind of document that the body of a request must contain.
func expected(w *watched) string {
	switch {
	case strings.HasSuffix(w.Request.Path, "/.search"):
		return "SearchRequest"
	case w.Request.Method == http.MethodPatch:
		return "PatchOp"
	case w.Request.Path == "/Bulk":
		return "BulkRequest"
	case w.Collection() == "Users":
		return "User"
	case w.Collection() == "Groups":
		return "Group"
	}
	return ""
}

// line returns a line of text that describes an exchange.
func line(x Exchange, status string) string {
	query := ""
	if x.Query != "" {
		query = "?" + unescape(x.Query)
	}
	text := fmt.Sprintf("%s  %-6s %s%s  %d %s  %s", x.At.Format(time.TimeOnly), x.Method, x.Path, query, x.Status, status,
		time.Duration(x.Millis*float64(time.Millisecond)).Round(time.Millisecond))
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
