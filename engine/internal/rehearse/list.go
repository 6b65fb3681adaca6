package rehearse

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// list adds the simulated resources to a list of the target. A filter is evaluated again for changed resources. Without a filter, or with
// one that cannot be parsed, created resources follow the target's last page.
func (c *Client) list(ctx context.Context, r plan.Request, endpoint string, query url.Values) (plan.Response, bool) {
	answer := c.target.Do(ctx, r)
	var mine []key
	for _, k := range c.written {
		if k.endpoint == endpoint {
			mine = append(mine, k)
		}
	}
	none := answer.Err == nil && answer.Status == http.StatusNotFound // treated as an empty list
	if len(mine) == 0 || !none && (answer.Err != nil || answer.Status != http.StatusOK || answer.Body == nil) {
		return answer, false
	}
	page, total := []any{}, 0
	if !none {
		page = slices.Clone(answer.Body.Array("Resources"))
		total = number(answer.Body, "totalResults", len(page))
	}
	start, _ := strconv.Atoi(query.Get("startIndex"))
	last := max(start, 1)-1+len(page) >= total

	var match filter.Expr
	if text := query.Get("filter"); text != "" {
		match, _ = filter.Parse(text)
	}
	for _, k := range mine {
		have := c.resources[k]
		matches := have.now != nil && (match == nil || filter.Eval(match, have.now, typeOf(endpoint)))
		at := slices.IndexFunc(page, func(v any) bool {
			o, _ := v.(*scim.Object)
			return o.Text("id") == k.id
		})
		switch {
		case at >= 0 && matches:
			page[at] = have.now.Object.Clone()
		case at >= 0:
			page = slices.Delete(page, at, at+1)
			total--
		case matches && (match != nil || have.before == nil):
			if total++; last {
				page = append(page, have.now.Object.Clone())
			}
		}
	}
	body := scim.NewObject(
		scim.Member{Name: "schemas", Value: []string{scim.ListResponseMessage}},
		scim.Member{Name: "totalResults", Value: total},
		scim.Member{Name: "startIndex", Value: max(start, 1)},
		scim.Member{Name: "itemsPerPage", Value: len(page)},
		scim.Member{Name: "Resources", Value: page},
	)
	return plan.Response{Status: http.StatusOK, Body: body}, true
}

func number(o *scim.Object, name string, otherwise int) int {
	v, _ := o.Get(name)
	if n, ok := v.(interface{ Int64() (int64, error) }); ok {
		if i, err := n.Int64(); err == nil {
			return int(i)
		}
	}
	return otherwise
}
