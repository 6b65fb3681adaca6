package provision

import (
	"context"
	"fmt"
	"iter"

	"github.com/scimwright/scimwright/engine"
)

// ascending reads what a directory lists by id, page by page, and checks that the list goes forward: one that goes round would never
// end. The last page has fewer than memberPage ids, maybe none. An error is the last thing that is yielded.
func ascending(what string, read func(after string) ([]string, error)) iter.Seq2[[]string, error] {
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
			if !yield(page, nil) || len(page) < memberPage {
				return
			}
		}
	}
}

// membersOf reads the whole membership of a group from a directory.
func membersOf(ctx context.Context, d engine.Directory, app, group string) iter.Seq2[[]string, error] {
	return ascending("members", func(after string) ([]string, error) { return d.Members(ctx, app, group, after, memberPage) })
}

// allMembers is membersOf at once.
func allMembers(ctx context.Context, d engine.Directory, app, group string) (all []string, err error) {
	for page, err := range membersOf(ctx, d, app, group) {
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	return all, nil
}
