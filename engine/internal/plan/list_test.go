package plan_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

// listServer responds to page requests for accounts 1 to n, with pages of at most limit.
func listServer(t *testing.T, n, limit int) func(plan.Request) plan.Response {
	return func(r plan.Request) plan.Response {
		var start, count int
		_, err := fmt.Sscanf(r.Path, "/Users?startIndex=%d&count=%d", &start, &count)
		require.NoError(t, err, r.Path)
		var ids []string
		for i := start; i <= n && len(ids) < min(count, limit); i++ {
			ids = append(ids, strconv.Itoa(i))
		}
		return listPage(t, strconv.Itoa(n), ids...)
	}
}

// listPage returns a page; an id of "-" is a resource without an id, and an empty total is omitted.
func listPage(t *testing.T, total string, ids ...string) plan.Response {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"schemas":["` + scim.ListResponseMessage + `"],`)
	if total != "" {
		b.WriteString(`"totalResults":` + total + `,`)
	}
	b.WriteString(`"Resources":[`)
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		if id == "-" {
			b.WriteString(`{}`)
			continue
		}
		fmt.Fprintf(&b, `{"id":%q}`, id)
	}
	b.WriteString(`]}`)
	return answer(t, 200, b.String())
}

func answer(t *testing.T, status int, body string) plan.Response {
	t.Helper()
	o, err := scim.Decode([]byte(body))
	require.NoError(t, err)
	return plan.Response{Status: status, Body: o}
}

// TestPages_AnyPageSize checks that Pages reads the whole list for any page size of the target.
func TestPages_AnyPageSize(t *testing.T) {
	for _, c := range []struct {
		n, limit int
		starts   []int
	}{
		{0, 100, []int{1}},
		{1, 100, []int{1}},
		{100, 100, []int{1}},
		{101, 100, []int{1, 101}},
		{250, 100, []int{1, 101, 201}},
		{250, 40, []int{1, 41, 81, 121, 161, 201, 241}},
	} {
		t.Run(fmt.Sprintf("%d by %d", c.n, c.limit), func(t *testing.T) {
			serve, p := listServer(t, c.n, c.limit), plan.NewPages(plan.UsersEndpoint)
			var starts []int
			got := 0
			for last := false; !last; {
				starts = append(starts, p.Listed+1)
				page, end, err := p.Read(serve(p.Request()))
				require.Nil(t, err)
				got, last = got+len(page), end
			}
			require.Equal(t, c.n, got)
			require.Equal(t, c.starts, starts)
			require.Equal(t, c.n > 0, p.Seen("1"))
			require.False(t, p.Seen(strconv.Itoa(c.n+1)))
		})
	}
}

// Proves C-scim-31.
//
// Invariant 18
func TestPages_RejectsInconsistentList(t *testing.T) {
	for name, c := range map[string]struct {
		pages  []plan.Response
		says   string
		class  engine.Class
		broken bool
	}{
		"the total changes": {[]plan.Response{listPage(t, "3", "a"), listPage(t, "4", "b")}, "totalResults changed from 3 to 4",
			engine.Transient, true},
		"a page is repeated": {[]plan.Response{listPage(t, "4", "a", "b"), listPage(t, "4", "a", "b")},
			"it repeats a: startIndex has no effect", engine.Rejected, true},
		"an id comes twice":        {[]plan.Response{listPage(t, "2", "a", "a")}, "it repeats a", engine.Rejected, true},
		"a resource without an id": {[]plan.Response{listPage(t, "2", "a", "-")}, "a resource without an id", engine.Rejected, true},
		"it ends early": {[]plan.Response{listPage(t, "3", "a"), listPage(t, "3")}, "totalResults is 3, but the list ends after resource 1",
			engine.Transient, true},
		"more than the total": {
			[]plan.Response{listPage(t, "1", "a", "b")}, "totalResults is 1, but the list has 2 resources", engine.Rejected, true,
		},
		"more than are read": {[]plan.Response{listPage(t, "9", "a")}, "it has 9 resources, more than the maximum of 5", engine.Rejected,
			true},
		"something else": {[]plan.Response{answer(t, 200, `{"hello":"world"}`)}, "the response is not a ListResponse", engine.Transient,
			true},
		"not a resource": {[]plan.Response{answer(t, 200, `{"totalResults":1,"Resources":["a"]}`)}, "not a resource", engine.Rejected,
			true},
		"a 200 with an error": {[]plan.Response{answer(t, 200, `{"schemas":["`+scim.ErrorMessage+`"],"status":"403","detail":"not you"}`)},
			"403: error in a response with status 200: not you", engine.Denied, false},
		"no such endpoint": {[]plan.Response{{Status: 404}}, "404 Not Found", engine.Rejected, false},
		"a pause":          {[]plan.Response{{Status: 429, RetryAfter: "7"}}, "429", engine.Throttled, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan.NewPages(plan.UsersEndpoint)
			p.Max = 5
			for _, page := range c.pages[:len(c.pages)-1] {
				_, last, err := p.Read(page)
				require.Nil(t, err)
				require.False(t, last)
			}
			listed := p.Listed
			page, last, err := p.Read(c.pages[len(c.pages)-1])
			require.NotNil(t, err)
			require.Empty(t, page)
			require.False(t, last)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, fmt.Sprintf("the list /Users cannot be read at startIndex %d: ", listed+1))
			require.Equal(t, c.class, err.Class)
			require.Equal(t, c.broken, err.Broken)
			require.Equal(t, listed, p.Listed, "the page can be read again")
		})
	}
}

// TestPages_TotalStringOrAbsent checks that totalResults may be a string or absent.
//
// Proves C-scim-37.
func TestPages_TotalStringOrAbsent(t *testing.T) {
	p := plan.NewPages(plan.UsersEndpoint)
	_, last, err := p.Read(listPage(t, `"1"`, "a"))
	require.Nil(t, err)
	require.True(t, last)
	require.Equal(t, 1, p.Total)

	p = plan.NewPages(plan.GroupsEndpoint)
	_, last, err = p.Read(listPage(t, "", "a"))
	require.Nil(t, err)
	require.False(t, last)
	require.Equal(t, "/Groups?startIndex=2&count=100", p.Request().Path)
	_, last, err = p.Read(listPage(t, ""))
	require.Nil(t, err)
	require.True(t, last)
}

func TestPages_RereadAfterFailure(t *testing.T) {
	p := plan.NewPages(plan.UsersEndpoint)
	_, _, err := p.Read(listPage(t, "2", "a", "-"))
	require.NotNil(t, err)
	page, last, err := p.Read(listPage(t, "2", "a", "b"))
	require.Nil(t, err)
	require.True(t, last)
	require.Len(t, page, 2)
}
