package lint

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance/internal/grammar"
	"github.com/scimwright/scimwright/scim"
)

// list validates a ListResponse (RFC 7644 section 3.4.2) with its resources.
func (l *linter) list(n *node) {
	resources := n.given("Resources")
	if resources != nil && resources.kind != kindArray {
		l.addFinding(resources, "list.resources", "an array", resources)
		resources = nil
	}
	count := 0
	if resources != nil {
		count = len(resources.items)
	}
	total, whole := n.given("totalResults").integer()
	perPage, counted := n.given("itemsPerPage").integer()
	switch {
	case n.given("totalResults") == nil && n.given("nextCursor") != nil:
		// RFC 9865 permits a list with cursors without totalResults.
	case n.given("totalResults") == nil:
		l.missing(n, "totalResults", "list.total-results", "an integer")
	case !whole || total < count:
		l.addFinding(n.get("totalResults"), "list.total-results", fmt.Sprintf("an integer of %d or more", count), n.get("totalResults"))
	case resources == nil && n.get("Resources") == nil && total > 0 && (!counted || perPage > 0):
		l.missing(n, "Resources", "list.resources", "an array")
	}
	if v := n.given("itemsPerPage"); v != nil && (!counted || perPage != count) {
		l.addFinding(v, "list.items-per-page", strconv.Itoa(count), v)
	}
	if v := n.given("startIndex"); v != nil {
		if first, ok := v.integer(); !ok || first < 1 {
			l.addFinding(v, "list.start-index", "an integer of at least 1", v)
		}
	}
	if resources == nil {
		return
	}
	ids := map[string]bool{}
	for _, item := range resources.items {
		if item.kind != kindObject {
			l.addFinding(item, "list.resources", "an object", item)
			continue
		}
		if id := item.given("id"); id.string() != "" {
			if ids[id.text] {
				l.addFinding(id, "list.ids", "an id that no earlier resource has", id)
			}
			ids[id.text] = true
		}
		l.document(item, "", Server)
	}
}

// scimTypes are the registered keywords (RFC 7644 table 9, RFC 9865 section 2.1), each with the statuses that the linter accepts. RFC 7644
// defines only 400 with all of them, 409 with uniqueness (section 3.3) and 403 with sensitive (section 7.5.2).
var scimTypes = map[string][]string{
	"invalidFilter": {"400", "403"}, "tooMany": {"400"}, "uniqueness": {"400", "409"}, "mutability": {"400", "409"},
	"invalidSyntax": {"400", "413", "415"},
	"invalidPath":   {"400", "404"}, "noTarget": {"400"}, "invalidValue": {"400", "413"}, "invalidVers": {"400", "404"},
	"sensitive":     {"400", "403"},
	"invalidCursor": {"400"}, "expiredCursor": {"400"}, "invalidCount": {"400"},
}

var threeDigits = regexp.MustCompile(`^[1-5]\d\d$`)

// error validates an Error message (RFC 7644 section 3.12).
func (l *linter) error(n *node) {
	status := n.given("status")
	switch {
	case status == nil:
		l.missing(n, "status", "error.status", "a string of three digits")
	case !threeDigits.MatchString(status.string()):
		l.addFinding(status, "error.status", "a string of three digits", status)
	}
	if kind := n.given("scimType"); kind != nil {
		statuses, known := scimTypes[kind.string()]
		switch {
		case !known:
			l.addFinding(kind, "error.scim-type", "a registered keyword", kind)
		case status != nil && !slices.Contains(statuses, status.text):
			l.addFinding(kind, "error.scim-type", "a keyword for status "+status.show(), kind)
		}
	}
	if detail := n.given("detail"); detail != nil && detail.kind != kindString {
		l.addFinding(detail, "error.detail", "a string", detail)
	}
}

// search validates a SearchRequest (RFC 7644 section 3.4.3).
func (l *linter) search(n *node) {
	for _, name := range []string{"filter", "sortBy", "sortOrder", "cursor"} {
		if v := n.given(name); v != nil && v.kind != kindString {
			l.addFinding(v, "search.member", "a string", v)
		}
	}
	for least, name := range []string{"count", "startIndex"} { // the minimum of count is 0, of startIndex 1
		v := n.given(name)
		if v == nil {
			continue
		}
		if got, ok := v.integer(); !ok {
			l.addFinding(v, "search.member", "an integer", v)
		} else if got < least {
			l.addFinding(v, "search.paging", strconv.Itoa(least)+" or more", v)
		}
	}
	for _, name := range []string{"attributes", "excludedAttributes"} {
		v := n.given(name)
		if v == nil {
			continue
		}
		if v.kind != kindArray {
			l.addFinding(v, "search.member", "an array of strings", v)
			continue
		}
		for _, item := range v.items {
			if item.kind != kindString {
				l.addFinding(item, "search.member", "a string", item)
			} else if _, err := scim.ParseAttrPath(item.text); err != nil {
				l.addFinding(item, "search.attribute", "attribute notation", item)
			}
		}
	}
	if both := n.given("excludedAttributes"); both != nil && n.given("attributes") != nil {
		l.addFinding(both, "search.both-projections", "attributes or excludedAttributes", both)
	}
	if v := n.given("filter"); v.is(kindString) {
		l.filter(v)
	}
	if v := n.given("sortBy"); v.is(kindString) {
		if _, err := scim.ParseAttrPath(v.text); err != nil {
			l.addFinding(v, "search.attribute", "attribute notation", v)
		}
	}
	if v := n.given("sortOrder"); v.is(kindString) && !strings.EqualFold(v.text, "ascending") && !strings.EqualFold(v.text, "descending") {
		l.addFinding(v, "search.sort-order", "ascending or descending", v)
	}
}

func (l *linter) filter(v *node) {
	err := grammar.Filter(v.text)
	if err == nil {
		return
	}
	rule := "search.filter"
	if e, ok := errors.AsType[*grammar.Error](err); ok && e.Common {
		rule = "search.filter-form"
	}
	l.at(v.at, v.path, rule, "a filter of RFC 7644 section 3.4.2.2", err.Error())
}
