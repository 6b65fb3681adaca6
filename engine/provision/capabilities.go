package provision

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/scimwright/scimwright/engine/store"
)

// capabilities are what the store of an engine can do beyond store.Store.
type capabilities struct {
	markAll   capability[store.MarkAll]
	halts     capability[store.Halts]
	approvals capability[store.Approvals]
	repairs   capability[store.Repairs]
	attempts  capability[store.Attempts]
	counts    capability[store.Counts]
	events    capability[store.Events]
	profiles  capability[store.Profiles]
	lags      capability[store.Lags]
	tasks     capability[store.Tasks]
	links     capability[store.Links]
	plans     capability[store.Plans]
	imports   capability[store.Imports]
}

func capabilitiesOf(s store.Store) capabilities {
	return capabilities{
		markAll: find[store.MarkAll](s), halts: find[store.Halts](s), approvals: find[store.Approvals](s), repairs: find[store.Repairs](s),
		attempts: find[store.Attempts](s), counts: find[store.Counts](s), events: find[store.Events](s), profiles: find[store.Profiles](s),
		lags: find[store.Lags](s), tasks: find[store.Tasks](s), links: find[store.Links](s), plans: find[store.Plans](s),
		imports: find[store.Imports](s),
	}
}

// capability is an interface that a store may implement.
type capability[C any] struct {
	of  C
	err error // if it does not
}

func find[C any](s store.Store) (c capability[C]) {
	var ok bool
	if c.of, ok = s.(C); !ok {
		c.err = fmt.Errorf("engine: the store does not implement store.%s: %w", reflect.TypeFor[C]().Name(), errors.ErrUnsupported)
	}
	return c
}

// get returns the capability, or an error that names it and is errors.ErrUnsupported.
func (c capability[C]) get() (C, error) { return c.of, c.err }

// part returns the interface that a room of the engine declares, or nil if the store lacks a capability that it is made of. The methods
// that lead to the room return the error of that capability.
func part[S any](s store.Store) S {
	found, _ := s.(S)
	return found
}
