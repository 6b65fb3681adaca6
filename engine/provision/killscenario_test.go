package provision_test

import (
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/scim"
)

// killScenario is a change that a process is killed over.
type killScenario struct {
	name   string
	styles []engine.Style           // Defaults to all
	target func(*engine.Target)     // what the app allows
	fake   func(*enginetest.Target) // what is at the target before anybody provisions
	given  []func(*desk)            // is provisioned, one after the other
	lost   func(*enginetest.Target) // what happens to the target after that
	change func(*desk)              // is committed, with its marks, by the process that is killed
	during map[int32]func(*desk)    // is committed before the n-th request of that process
	then   func(*desk)              // is committed after the kill
	most   int                      // accounts or groups that may be created for one name. Defaults to 1
	passes []string                 // points that must be among those it was killed at
}

const everybody = "Everybody"

// anyStyle is for sequences that are the same in all styles.
var anyStyle = []engine.Style{engine.Catalog}

// account is what somebody else made at the target.
func killedUser(name, title string) *scim.Resource {
	r := user("", name).Resource
	r.Delete("externalId")
	r.Set("title", title)
	r.Set("active", true)
	return r
}

func collective(name string, members ...string) *scim.Resource {
	r := &scim.Resource{}
	r.Set("schemas", []string{scim.GroupSchema})
	r.Set("displayName", name)
	var list []any
	for _, id := range members {
		list = append(list, map[string]any{"value": id})
	}
	r.Set("members", list)
	return r
}

func inBatches(t *engine.Target) { t.MemberBatch = 2 }

// later is a target that accepts every change with 202, and carries it out before the third read that follows.
func later(f *enginetest.Target) {
	f.Inject(enginetest.Fault{Accept: true, After: 3, Times: -1})
}

// patient has the engine that takes over, whose clock is ahead, wait for what was accepted before.
func patient(t *engine.Target) { t.AsyncTimeout = 3 * leaseEnd }

func ann(k *desk)        { k.user("u-1", "ann", "clerk") }
func annDirects(k *desk) { k.user("u-1", "ann", "director") }
func anna(k *desk)       { k.user("u-1", "anna", "clerk") }
func annLeaves(k *desk)  { k.off("u-1", "ann", engine.Inactive) }
func annIsGone(k *desk)  { k.off("u-1", "ann", engine.Absent) }
func bareAnn(k *desk)    { k.bare("u-1", "ann", "clerk") }

// staffed provisions five users and a group of the first three.
func staffed(k *desk) {
	ids := k.staff(5)
	k.group("g-1", everybody, engine.Active, false)
	k.join("g-1", ids[:3]...)
}

func pushedGroup(name string) func(*desk) {
	return func(k *desk) { k.group("g-1", name, engine.Active, false) }
}

// created are points that a create goes through after the preamble.
var created = []string{
	"before Begin", "after Begin", "before POST /Users", "carried out POST /Users", "before Finish", "after Finish", "before Release",
	"after Release",
}

// killScenarios are the sequences, and what may come between a kill and the restart.
var killScenarios = []killScenario{
	{name: "a user is created", styles: anyStyle, change: ann, passes: slices.Concat(preamble, created)},
	{
		name: "a create loses its answer", styles: anyStyle, change: ann, passes: created,
		fake: func(f *enginetest.Target) { f.Inject(enginetest.Fault{Method: http.MethodPost, DropAfter: true}) },
	},
	{
		name: "a create is refused with 409", styles: anyStyle, change: ann, passes: created,
		fake: func(f *enginetest.Target) {
			f.Add("Users", killedUser("ann", "chair"))
			f.Inject(enginetest.Fault{Method: http.MethodGet, Path: "/Users?", Status: http.StatusNotFound})
		},
	},
	{
		name: "a user is linked", styles: anyStyle, change: ann,
		fake: func(f *enginetest.Target) { f.Add("Users", killedUser("ann", "chair")) },
	},
	{
		name: "a user without our identifier is created while existing accounts are not linked", styles: anyStyle, change: bareAnn,
		passes: created,
		target: func(t *engine.Target) { t.OnExisting = engine.LinkNever },
	},
	{name: "a user changes", styles: anyStyle, given: []func(*desk){ann}, change: annDirects},
	{name: "a user is renamed", styles: anyStyle, given: []func(*desk){ann}, change: anna},
	{name: "a user is deactivated", given: []func(*desk){ann}, change: annLeaves},
	{name: "a user is unassigned", given: []func(*desk){ann}, change: annIsGone},
	{name: "a user is deactivated, and wanted again after the kill", given: []func(*desk){ann}, change: annLeaves, then: annDirects},
	{name: "a user is reactivated", given: []func(*desk){ann, annLeaves}, change: annDirects},
	{name: "a user is reactivated, and leaves after the kill", given: []func(*desk){ann, annLeaves}, change: ann, then: annIsGone},
	{name: "a user is unassigned after an unfinished create", change: ann, then: annIsGone, passes: created},
	{name: "a user without our identifier is unassigned after an unfinished create", change: bareAnn, then: annIsGone},
	{name: "a user is renamed after an unfinished create", styles: anyStyle, change: ann, then: anna},
	{
		name: "a user without our identifier is renamed after an unfinished create", styles: anyStyle, change: bareAnn,
		then: func(k *desk) { k.bare("u-1", "anna", "clerk") },
	},
	{
		name: "a name goes to somebody else after an unfinished create", change: ann,
		target: func(t *engine.Target) { t.OnRecycled = engine.LinkAuto },
		then:   func(k *desk) { annIsGone(k); k.user("u-2", "ann", "clerk") },
	},
	{
		name: "an account is lost by the target", styles: anyStyle, given: []func(*desk){ann}, change: annDirects, most: 2,
		lost: func(f *enginetest.Target) { f.Remove("Users", f.Users()[1].ID()) }, then: annDirects,
	},
	{
		name: "a user changes many times while it is provisioned", change: ann,
		during: map[int32]func(*desk){
			1: annDirects, 2: anna, 3: annLeaves, 4: func(k *desk) { k.user("u-1", "anne", "chair") }, 5: annDirects, 6: anna,
		},
	},
	{
		name: "a deletion guard lets somebody go", styles: anyStyle, given: []func(*desk){ann}, change: annIsGone,
		passes: []string{"before Remove", "after Remove"},
		target: func(t *engine.Target) { t.Guard = engine.Guard{Limit: 1} },
	},

	{ // a process that is killed between the answer to a create and its end knows nothing of it, and looks the account up too early
		name: "a create is accepted", styles: anyStyle, fake: later, target: patient, change: ann, most: 2, passes: created,
	},
	{name: "an update is accepted", styles: anyStyle, fake: later, target: patient, given: []func(*desk){ann}, change: annDirects, most: 2},
	{name: "a deactivation is accepted", fake: later, target: patient, given: []func(*desk){ann}, change: annLeaves, most: 2},
	{
		name: "an update is accepted, and the user leaves after the kill", styles: anyStyle, fake: later, target: patient, most: 2,
		given: []func(*desk){ann}, change: annDirects, then: annLeaves,
	},
	{
		name: "a deactivation is accepted, and the user is wanted again after the kill", styles: anyStyle, fake: later, target: patient, most: 2,
		given: []func(*desk){ann}, change: annLeaves, then: annDirects,
	},
	{
		name: "members are accepted", target: func(t *engine.Target) { inBatches(t); patient(t) }, fake: later, most: 2,
		given: []func(*desk){staffed}, change: func(k *desk) { k.leave("g-1", "u-1", "u-2"); k.join("g-1", "u-4", "u-5") },
	},

	{
		name: "a group is created with its users", target: inBatches, change: staffed,
		passes: []string{"before EndWalk", "after SaveMembers", "carried out POST /Groups", "answered POST /Groups"},
	},
	{
		name: "a group is created in batches", target: inBatches, given: []func(*desk){func(k *desk) { k.staff(5) }},
		change: func(k *desk) {
			pushedGroup(everybody)(k)
			k.join("g-1", "u-1", "u-2", "u-3", "u-4", "u-5")
		},
	},
	{name: "a group is removed after an unfinished create", styles: anyStyle, change: pushedGroup(everybody), then: func(k *desk) {
		k.group("g-1", everybody, engine.Absent, true)
	}},
	{name: "a group is renamed after an unfinished create", styles: anyStyle, change: pushedGroup(everybody),
		then: pushedGroup("Nearly everybody")},
	{
		name: "a group is linked", target: inBatches, given: []func(*desk){func(k *desk) { k.staff(3) }},
		fake:   func(f *enginetest.Target) { f.Add("Groups", collective(everybody, "x1", "x2")) },
		change: func(k *desk) { pushedGroup(everybody)(k); k.join("g-1", "u-1", "u-2", "u-3") },
	},
	{
		name: "the create of a group is refused with 409", styles: anyStyle, change: pushedGroup(everybody),
		fake: func(f *enginetest.Target) {
			f.Add("Groups", collective(everybody, "x1"))
			f.Inject(enginetest.Fault{Method: http.MethodGet, Path: "/Groups?", Status: http.StatusNotFound})
		},
	},
	{
		name: "members come and go", target: inBatches, given: []func(*desk){staffed},
		change: func(k *desk) { k.leave("g-1", "u-1", "u-2"); k.join("g-1", "u-4", "u-5") },
	},
	{
		name: "a member joins, and leaves after the kill", given: []func(*desk){staffed},
		change: func(k *desk) { k.join("g-1", "u-4") }, then: func(k *desk) { k.leave("g-1", "u-4") },
	},
	{
		name: "a member leaves, and joins after the kill", given: []func(*desk){staffed},
		change: func(k *desk) { k.leave("g-1", "u-1") }, then: func(k *desk) { k.join("g-1", "u-1") },
	},
	{name: "a group is renamed", given: []func(*desk){staffed}, change: pushedGroup("Staff")},
	{name: "a group is renamed, and back after the kill", given: []func(*desk){staffed}, change: pushedGroup("Staff"),
		then: pushedGroup(everybody)},
	{
		name: "a group is pushed again after a pause", target: inBatches,
		given:  []func(*desk){staffed, func(k *desk) { k.group("g-1", everybody, engine.Inactive, false) }},
		change: func(k *desk) { pushedGroup(everybody)(k); k.leave("g-1", "u-1"); k.join("g-1", "u-4", "u-5") },
	},
	{name: "a group is deleted", styles: anyStyle, given: []func(*desk){staffed}, change: func(k *desk) {
		k.group("g-1", everybody, engine.Absent, true)
	}},
	{
		name: "a group is deleted, and pushed after the kill", given: []func(*desk){staffed}, most: 2,
		change: func(k *desk) { k.group("g-1", everybody, engine.Absent, true) }, then: pushedGroup(everybody),
	},
	{name: "a group is left at the target", styles: anyStyle, given: []func(*desk){staffed}, change: func(k *desk) {
		k.group("g-1", everybody, engine.Absent, false)
	}},
	{
		name: "a group is lost by the target", given: []func(*desk){staffed}, most: 2,
		lost:   func(f *enginetest.Target) { f.Remove("Groups", f.Groups()[1].ID()) },
		change: func(k *desk) { k.join("g-1", "u-4") }, then: func(k *desk) { k.join("g-1", "u-5") },
	},
}
