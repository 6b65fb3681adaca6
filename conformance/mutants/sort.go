package mutants

import "net/url"

// The mutants of sorting work on servers that sort.
var sort = []Mutant{
	{"sort.ignored", "sortBy is ignored", query(listUsers, func(q url.Values) { q.Del("sortBy") })},
	{"sort.order-ignored", "sortOrder is ignored", query(listUsers, func(q url.Values) { q.Del("sortOrder") })},
	{"sort.first-page-only", "only the first page is sorted", query(listUsers, func(q url.Values) {
		if start := q.Get("startIndex"); start != "" && start != "1" {
			q.Del("sortBy")
		}
	})},
}
