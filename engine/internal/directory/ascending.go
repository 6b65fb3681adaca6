package directory

import (
	"context"
	"fmt"
	"iter"

	"github.com/scimwright/scimwright/engine"
)

// Page is the number of ids per page, read from the directory or the store.
const Page = 1000

// Ascending reads the ids that a directory lists, page by page, and checks that the ids ascend, because a list that starts again would
// never end. The last page has fewer than Page ids, possibly none. After an error, Ascending yields the error and ends.
func Ascending(what string, read func(after string) ([]string, error)) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for after := ""; ; {
			page, err := read(after)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, id := range page {
				if id <= after {
					yield(nil, fmt.Errorf("%s are not in ascending order (%q after %q)", what, id, after))
					return
				}
				after = id
			}
			if !yield(page, nil) || len(page) < Page {
				return
			}
		}
	}
}

// Members reads all members of a group.
func Members(ctx context.Context, d engine.Directory, app, group string) iter.Seq2[[]string, error] {
	return Ascending("members", func(after string) ([]string, error) { return d.Members(ctx, app, group, after, Page) })
}
