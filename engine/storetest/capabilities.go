package storetest

import "github.com/scimwright/scimwright/engine/store"

// capabilities are the interfaces that a store implements in addition to store.Store. A missing one is nil.
type capabilities struct {
	markAll   store.MarkAll
	halts     store.Halts
	approvals store.Approvals
	repairs   store.Repairs
	attempts  store.Attempts
	counts    store.Counts
	events    store.Events
	profiles  store.Profiles
	lags      store.Lags
	tasks     store.Tasks
	links     store.Links
	plans     store.Plans
	imports   store.Imports
	jobs      store.Jobs
	traces    store.MarkTraces
	tenants   store.Tenants

	missing map[string]bool // by name
}

func capabilitiesOf(s store.Store) capabilities {
	c := capabilities{missing: map[string]bool{}}
	c.markAll, c.missing["MarkAll"] = find[store.MarkAll](s)
	c.halts, c.missing["Halts"] = find[store.Halts](s)
	c.approvals, c.missing["Approvals"] = find[store.Approvals](s)
	c.repairs, c.missing["Repairs"] = find[store.Repairs](s)
	c.attempts, c.missing["Attempts"] = find[store.Attempts](s)
	c.counts, c.missing["Counts"] = find[store.Counts](s)
	c.events, c.missing["Events"] = find[store.Events](s)
	c.profiles, c.missing["Profiles"] = find[store.Profiles](s)
	c.lags, c.missing["Lags"] = find[store.Lags](s)
	c.tasks, c.missing["Tasks"] = find[store.Tasks](s)
	c.links, c.missing["Links"] = find[store.Links](s)
	c.plans, c.missing["Plans"] = find[store.Plans](s)
	c.imports, c.missing["Imports"] = find[store.Imports](s)
	c.jobs, c.missing["Jobs"] = find[store.Jobs](s)
	c.traces, c.missing["MarkTraces"] = find[store.MarkTraces](s)
	c.tenants, c.missing["Tenants"] = find[store.Tenants](s)
	return c
}

func find[C any](s store.Store) (found C, missing bool) {
	found, ok := s.(C)
	return found, !ok
}
