package provision

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/scimwright/scimwright/engine/store"
)

// capabilities are the interfaces that the store of an engine implements in addition to store.Store.
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
	jobs      capability[store.Jobs]
	traces    capability[store.MarkTraces]
}

func capabilitiesOf(s store.Store) capabilities {
	return capabilities{
		markAll: find[store.MarkAll](s), halts: find[store.Halts](s), approvals: find[store.Approvals](s), repairs: find[store.Repairs](s),
		attempts: find[store.Attempts](s), counts: find[store.Counts](s), events: find[store.Events](s), profiles: find[store.Profiles](s),
		lags: find[store.Lags](s), tasks: find[store.Tasks](s), links: find[store.Links](s), plans: find[store.Plans](s),
		imports: find[store.Imports](s), jobs: find[store.Jobs](s), traces: find[store.MarkTraces](s),
	}
}

// capability is an interface that a store may implement.
type capability[C any] struct {
	of  C
	err error // set if the store does not implement the interface
}

func find[C any](s store.Store) (c capability[C]) {
	var ok bool
	if c.of, ok = s.(C); !ok {
		c.err = fmt.Errorf("engine: the store does not implement store.%s: %w", reflect.TypeFor[C]().Name(), errors.ErrUnsupported)
	}
	return c
}

// get returns the capability, or an error that names it and wraps errors.ErrUnsupported.
func (c capability[C]) get() (C, error) { return c.of, c.err }

// storeAs returns the store as the interface that an internal package of the engine declares, or nil if the store lacks one of its
// capabilities. The methods of the engine that use the package then return the error that names the missing capability.
func storeAs[S any](s store.Store) S {
	found, _ := s.(S)
	return found
}
