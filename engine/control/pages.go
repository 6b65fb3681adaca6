package control

import (
	"context"

	"github.com/scimwright/scimwright/internal/rest"
)

// stretch reads a page of rows with long texts, in parts of at most part rows, until it has limit items or their texts have rest.PageBytes.
// read returns the rows after the given one, which is nil at the start. show returns the item of a row and the size of its texts. more is
// false if no rows follow; it may be true if the page is full.
func stretch[Row, Item any](
	ctx context.Context, limit, part int, read func(after *Row, n int) ([]Row, error), show func(*Row) (Item, int, error),
) (rows []Row, items []Item, more bool, err error) {
	var last *Row
	items = []Item{}
	for bytes := 0; len(items) < limit; {
		n := min(part, limit-len(items))
		found, err := read(last, n)
		if err != nil {
			return nil, nil, false, err
		}
		for i := range found {
			item, size, err := show(&found[i])
			if err != nil {
				return nil, nil, false, err
			}
			if len(items) > 0 && bytes+size > rest.PageBytes {
				return rows, items, true, nil
			}
			if err := rest.Hold(ctx, size); err != nil {
				return nil, nil, false, err
			}
			rows, items, bytes = append(rows, found[i]), append(items, item), bytes+size
		}
		if len(found) < n {
			return rows, items, false, nil
		}
		last = &found[n-1]
	}
	return rows, items, true, nil
}
