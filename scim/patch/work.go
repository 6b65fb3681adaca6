package patch

import (
	"cmp"
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

// weightText is the number of bytes of a string that count as one value; see Options.MaxWork.
const weightText = 256

// weight returns the number of values in v, as counted by Options.MaxWork: each element of an array counts at least 1.
func weight(v any) int {
	switch v := v.(type) {
	case []any:
		n := 0
		for _, e := range v {
			n += weight(e)
		}
		return n
	case *scim.Object:
		n := 1
		for _, member := range v.All() {
			n += weight(member) - 1
		}
		return n
	case string:
		return 1 + len(v)/weightText
	}
	return 1
}

// spend subtracts work from what is left for the request. It returns an error if not enough is left, or if the request was interrupted.
func (p *patcher) spend(work int) error {
	if p.opts.Interrupt != nil {
		if err := p.opts.Interrupt(); err != nil {
			return err
		}
	}
	if p.left -= work; p.left < 0 {
		return scim.Errorf(http.StatusRequestEntityTooLarge, "",
			"the operations would compare more than %d values; use fewer operations on large attributes in one PATCH",
			cmp.Or(p.opts.MaxWork, DefaultMaxWork))
	}
	return nil
}
