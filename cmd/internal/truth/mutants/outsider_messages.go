package mutants

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// offsetCursors returns a wrapper that replaces the cursors of lists of users by numbers: encode returns the cursor of a start index. The
// server accepts each cursor that decode accepts. later changes the query of each page after the first, and finish every page.
func offsetCursors(
	encode func(start int) string, decode func(cursor string) (int, bool), later func(q url.Values), finish func(o *scim.Object, start int),
) wrap {
	return instead(cursorPage, func(next http.Handler, r *http.Request) *reply {
		q := r.URL.Query()
		start := 1
		if cursor := q.Get("cursor"); cursor != "" {
			var ok bool
			if start, ok = decode(cursor); !ok {
				return failure(400, scim.InvalidCursor)
			}
			later(q)
		}
		q.Del("cursor")
		q.Set("startIndex", strconv.Itoa(start))
		rep := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, q.Encode(), nil))
		o := rep.object()
		if !rep.ok() || o == nil {
			return rep
		}
		o.Delete("startIndex")
		if end := start + len(o.Array("Resources")); end <= totalOf(rep) && end > start {
			o.Set("nextCursor", encode(end))
		}
		finish(o, start)
		rep.body = o.AppendJSON(nil)
		return rep
	})
}

func encodeStart(start int) string { return "p" + strconv.Itoa(start*7919) }

func decodeStart(cursor string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(cursor, "p"))
	return n / 7919, err == nil && n > 0 && n%7919 == 0
}

// pagination returns a wrapper that changes pagination in the ServiceProviderConfig.
func pagination(name string, value any) wrap {
	return afterBody(config, func(o *scim.Object) {
		if p := o.Complex("pagination"); p != nil {
			p.Set(name, value)
		}
	})
}

func groupCursor(r *http.Request) bool { return listGroups(r) && r.URL.Query().Has("cursor") }

var outsiderCursor = []Mutant{
	// RFC9865-4-01
	{"cursor.unadvertised", "the ServiceProviderConfig has no pagination", afterBody(config, func(o *scim.Object) { o.Delete("pagination") })},
	// RFC9865-4-02
	{"cursor.support-as-text", "pagination.cursor is a string", pagination("cursor", "true")},
	// RFC9865-4-02
	{"cursor.index-support-missing", "pagination has no member index",
		afterBody(config, func(o *scim.Object) { o.Complex("pagination").Delete("index") })},
	// RFC9865-4-03
	{"cursor.default-method-unknown", "defaultPaginationMethod is offset", pagination("defaultPaginationMethod", "offset")},
	// RFC9865-2.4-01
	{"cursor.default-method-untrue", "defaultPaginationMethod is cursor, and a query without parameters is paged by index",
		pagination("defaultPaginationMethod", "cursor")},
	// RFC9865-4-04
	{"cursor.timeout-zero", "cursorTimeout is 0", pagination("cursorTimeout", 0)},
	// RFC9865-4-04
	{"cursor.page-size-as-text", "defaultPageSize is a string", pagination("defaultPageSize", "100")},
	// RFC9865-2-07
	{"cursor.next-empty-on-last", "nextCursor of the last page is an empty string", afterBody(cursorPage, func(o *scim.Object) {
		if o.Text("nextCursor") == "" {
			o.Set("nextCursor", "")
		}
	})},
	// RFC9865-2-14
	{"cursor.members-nested", "nextCursor is a member of an object with the name pagination", afterBody(cursorPage, func(o *scim.Object) {
		if c := o.Text("nextCursor"); c != "" {
			o.Delete("nextCursor")
			o.Set("pagination", scim.NewObject(scim.Member{Name: "nextCursor", Value: c}))
		}
	})},
	// RFC9865-2-06
	{"cursor.next-renamed", "nextCursor has the name next_cursor",
		afterBody(cursorPage, func(o *scim.Object) { renameMember(o, "nextCursor", "next_cursor") })},
	// RFC9865-2.4-02
	{"cursor.count-required", "a cursor without count is rejected with 400",
		instead(cursorPage, func(next http.Handler, r *http.Request) *reply {
			if !r.URL.Query().Has("count") {
				return failure(400, "invalidCount")
			}
			return serve(next, r)
		})},
	// RFC9865-2-01
	{"cursor.empty-rejected", "an empty cursor is rejected with 400",
		instead(firstPage, func(http.Handler, *http.Request) *reply { return failure(400, scim.InvalidCursor) })},
	// RFC9865-2-06
	{"cursor.last-page-unlinked", "the page before the last one has no nextCursor",
		instead(cursorPage, func(next http.Handler, r *http.Request) *reply {
			rep := serve(next, r)
			o := rep.object()
			if c := o.Text("nextCursor"); rep.ok() && c != "" {
				q := r.URL.Query()
				q.Set("cursor", c)
				following := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, q.Encode(), nil))
				if following.ok() && following.object().Text("nextCursor") == "" {
					o.Delete("nextCursor")
					rep.body = o.AppendJSON(nil)
				}
			}
			return rep
		})},
	// RFC7644-3.4.2.2-03
	{"cursor.filter-lost", "pages after the first ignore the filter", offsetCursors(encodeStart, decodeStart,
		func(q url.Values) { q.Del("filter") }, func(*scim.Object, int) {})},
	// RFC9865-5.2-04
	{"cursor.plain-number", "the cursor is the start index of the next page, and any number is accepted",
		offsetCursors(strconv.Itoa, func(cursor string) (int, bool) { n, err := strconv.Atoi(cursor); return n, err == nil },
			func(url.Values) {}, func(*scim.Object, int) {})},
	// RFC7644-3.4.2.4-10
	{"cursor.total-of-rest", "totalResults of later pages is the number of items of this page and of later ones",
		offsetCursors(encodeStart, decodeStart, func(url.Values) {}, func(o *scim.Object, start int) {
			if n, ok := o.Get("totalResults"); ok {
				if total, err := strconv.Atoi(string(scim.AppendValue(nil, n))); err == nil {
					o.Set("totalResults", total-start+1)
				}
			}
		})},
	// RFC9865-2.1-02
	{"cursor.invalid-404", "an unknown cursor returns 404", badCursor(func(http.Handler, *http.Request) *reply { return failure(404, "") })},
	// RFC9865-2.4-02
	{"cursor.users-only", "cursor is ignored in lists of groups", query(groupCursor, func(q url.Values) { q.Del("cursor") })},
}

// renamedInLists returns a wrapper that renames a member of every list of users and groups.
func renamedInLists(from, to string) wrap {
	return afterBody(either(listUsers, listGroups), func(o *scim.Object) { renameMember(o, from, to) })
}

var outsiderMessages = []Mutant{
	// RFC7644-3.4.2-05
	{"list.items-renamed", "the member Resources of a list has the name items", renamedInLists("Resources", "items")},
	// RFC7644-3.4.2-04
	{"list.total-renamed", "totalResults of a list has the name totalCount", renamedInLists("totalResults", "totalCount")},
	// RFC7644-3.4.2-07
	{"list.page-size-renamed", "itemsPerPage of a list has the name itemPerPage", renamedInLists("itemsPerPage", "itemPerPage")},
	// RFC7644-3.4.2-06
	{"list.start-renamed", "startIndex of a list has the name start", renamedInLists("startIndex", "start")},
	// RFC7644-3.4.2-03
	{"list.schemas-as-text", "schemas of a list is a string",
		afterBody(either(listUsers, listGroups), func(o *scim.Object) { o.Set("schemas", scim.ListResponseMessage) })},
	// RFC7644-8.2-01
	{"list.schema-version-1", "schemas of a list is the URN of the User schema",
		afterBody(listUsers, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	// RFC7644-3.12-01
	{"errors.in-array", "an error is an element of an array with the name Errors, as in SCIM 1.1",
		after(everything, func(_ *http.Request, rep *reply) {
			if o := rep.object(); rep.status >= 400 && o != nil {
				rep.body = scim.NewObject(scim.Member{Name: "Errors", Value: []any{o}}).AppendJSON(nil)
			}
		})},
	// RFC7644-3.12-02
	{"errors.status-renamed", "status of an error has the name code", failing(func(o *scim.Object) { renameMember(o, "status", "code") })},
	// RFC7644-3.12-17
	{"errors.type-renamed", "scimType of an error has the name type", failing(func(o *scim.Object) { renameMember(o, "scimType", "type") })},
	// RFC7644-3.12-03
	{"errors.type-capital", "the first letter of scimType is in upper case", failing(func(o *scim.Object) {
		if t := o.Text("scimType"); t != "" {
			o.Set("scimType", strings.ToUpper(t[:1])+t[1:])
		}
	})},
	// RFC7644-3.12-04
	{"errors.detail-object", "detail of an error is an object", failing(func(o *scim.Object) {
		o.Set("detail", scim.NewObject(scim.Member{Name: "message", Value: o.Text("detail")}))
	})},
	// RFC7644-3.12-01
	{"errors.not-found-empty", "a 404 response has no body", after(everything, func(_ *http.Request, rep *reply) {
		if rep.status == http.StatusNotFound {
			rep.body = nil
		}
	})},
	// RFC7643-3-01
	{"errors.schemas-as-text", "schemas of an error is a string", failing(func(o *scim.Object) { o.Set("schemas", scim.ErrorMessage) })},
	// RFC7644-3.7-05
	{"bulk.results-renamed", "the member Operations of a bulk response has the name results",
		afterBody(postBulk, func(o *scim.Object) { renameMember(o, "Operations", "results") })},
	// RFC7644-3.7-16
	{"bulk.status-renamed", "status of a result has the name statusCode",
		bulkResults(func(op *scim.Object) { renameMember(op, "status", "statusCode") })},
	// RFC7644-3.7-13
	{"bulk.location-is-id", "location of a result is the id of the resource", bulkResults(func(op *scim.Object) {
		if l := op.Text("location"); l != "" {
			op.Set("location", l[strings.LastIndex(l, "/")+1:])
		}
	})},
	// RFC7644-3.7.4-02
	{"bulk.operations-limit-untrue", "maxOperations is 10, and a request with more operations is processed",
		published("bulk", "maxOperations", 10)},
	// RFC7644-3.7.4-03
	{"bulk.payload-limit-untrue", "maxPayloadSize is 16384, and a larger request is processed", published("bulk", "maxPayloadSize", 16384)},
	// RFC7643-2.1-01
	{"search.member-names-exact", "members of a search body are ignored if the case of their names differs from the RFC",
		before(anySearch, func(o *scim.Object) {
			known := []string{"schemas", "attributes", "excludedAttributes", "filter", "sortBy", "sortOrder", "startIndex", "count", "cursor"}
			var drop []string
			for name := range o.All() {
				for _, k := range known {
					if name != k && strings.EqualFold(name, k) {
						drop = append(drop, name)
					}
				}
			}
			for _, name := range drop {
				o.Delete(name)
			}
		})},
	// RFC7644-3.4.3-05
	{"search.attributes-as-text", "attributes of a search is accepted as a string only, and an array is ignored",
		before(anySearch, func(o *scim.Object) {
			if v, ok := o.Get("attributes"); ok {
				if _, isList := v.([]any); isList {
					o.Delete("attributes")
				}
			}
		})},
	// RFC7644-3.4.3-07
	{"search.items-renamed", "a search response has the member items instead of Resources",
		afterBody(anySearch, func(o *scim.Object) { renameMember(o, "Resources", "items") })},
	// RFC7643-5-06
	{"search.limit-exceeded", "maxResults is 5, and the page of a search can be larger",
		chain(published("filter", "maxResults", 5), query(anyList, func(q url.Values) {
			if n, err := strconv.Atoi(q.Get("count")); err != nil || n > 5 {
				q.Set("count", "5")
			}
		}))},
}

// notAccepting matches requests with an Accept header that satisfies when.
func notAccepting(when func(accept string) bool) match { return withHeader(everything, "Accept", when) }

// plainJSON matches the requests of m with the media type application/json.
func plainJSON(m match) match {
	return withHeader(m, "Content-Type", func(v string) bool { return strings.HasPrefix(v, "application/json") })
}

var outsiderMedia = []Mutant{
	// RFC7644-3.8-06
	{"traffic.lists-in-plain-json", "lists have the Content-Type application/json", mediaType(anyList, "application/json")},
	// RFC7644-3.8-06
	{"search.media-type-missing", "search responses have no Content-Type",
		after(anySearch, func(_ *http.Request, rep *reply) { rep.header["Content-Type"] = nil })},
	// RFC7644-3.8-06
	{"bulk.media-type", "the bulk response has the Content-Type text/plain", mediaType(postBulk, "text/plain; charset=utf-8")},
	// RFC7644-3.12-26
	{"errors.problem-json", "errors have the Content-Type application/problem+json",
		afterError(func(rep *reply) { rep.header.Set("Content-Type", "application/problem+json") })},
	// RFC7644-3.8-02
	{"traffic.charset-untrue", "Content-Type has the charset iso-8859-1 although the body is UTF-8",
		mediaType(everything, "application/scim+json; charset=iso-8859-1")},
	// RFC7644-3.8-05
	{"read.accept-json-406", "Accept: application/json is rejected with 406",
		refusing(notAccepting(func(accept string) bool { return accept == "application/json" }), 406)},
	// RFC7644-3.8-04
	{"read.accept-exact", "an Accept header with several media types or parameters is rejected with 406",
		refusing(notAccepting(func(accept string) bool { return strings.ContainsAny(accept, ",;") }), 406)},
	// RFC7644-3.8-07
	{"patch.json-unsupported", "a PATCH with application/json is rejected with 415", refusing(plainJSON(either(patchUser, patchGroup)), 415)},
	// RFC7644-3.8-07
	{"search.json-unsupported", "a search with application/json is rejected with 415", refusing(plainJSON(anySearch), 415)},
}
