package provision_test

import (
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/scim"
)

// killScenario is a change during which a process is killed.
type killScenario struct {
	name   string
	styles []engine.Style               // default: all
	target func(*engine.Target)         // options of the app
	fake   func(*enginetest.Target)     // objects on the target before any provisioning
	given  []func(*directoryTx)         // states that are provisioned before the change, in order
	lost   func(*enginetest.Target)     // change on the target by another client, after `given` and before the change
	change func(*directoryTx)           // change that the killed process commits with its marks
	during map[int32]func(*directoryTx) // changes that are committed before the n-th request of the killed process
	then   func(*directoryTx)           // change that is committed after the kill
	most   int                          // maximum number of objects created with one name. Default: 1
	passes []string                     // points that the kills must include
}

const everyone = "Everyone"

// anyStyle is for sequences that are the same in all styles.
var anyStyle = []engine.Style{engine.Catalog}

// killedUser returns an account that the engine did not create.
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

// later makes the target accept every change with 202, and apply it before the third read that follows.
func later(f *enginetest.Target) {
	f.Inject(enginetest.Fault{Accept: true, After: 3, Times: -1})
}

// longTimeout gives accepted changes a longer time limit, because the clock of the engine that takes over is ahead.
func longTimeout(t *engine.Target) { t.AsyncTimeout = 3 * leaseEnd }

func ann(k *directoryTx)        { k.user("u-1", "ann", "clerk") }
func annDirects(k *directoryTx) { k.user("u-1", "ann", "director") }
func anna(k *directoryTx)       { k.user("u-1", "anna", "clerk") }
func annLeaves(k *directoryTx)  { k.off("u-1", "ann", engine.Inactive) }
func annRemoved(k *directoryTx) { k.off("u-1", "ann", engine.Absent) }
func bareAnn(k *directoryTx)    { k.bare("u-1", "ann", "clerk") }

// staffed assigns five users and pushes a group of the first three.
func staffed(k *directoryTx) {
	ids := k.staff(5)
	k.group("g-1", everyone, engine.Active, false)
	k.join("g-1", ids[:3]...)
}

func pushedGroup(name string) func(*directoryTx) {
	return func(k *directoryTx) { k.group("g-1", name, engine.Active, false) }
}

// created are the points of a create after the preamble.
var created = []string{
	"before Start", "after Start", "before POST /Users", "carried out POST /Users", "before Finish", "after Finish", "before Release",
	"after Release",
}

// killScenarios are the tested sequences, and changes between a kill and the restart.
var killScenarios = []killScenario{
	{name: "a user is created", styles: anyStyle, change: ann, passes: slices.Concat(preamble, created)},
	{
		name: "the response to a create is lost", styles: anyStyle, change: ann, passes: created,
		fake: func(f *enginetest.Target) { f.Inject(enginetest.Fault{Method: http.MethodPost, DropAfter: true}) },
	},
	{
		name: "a create is rejected with 409", styles: anyStyle, change: ann, passes: created,
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
		name: "a user without externalId is created with LinkNever", styles: anyStyle, change: bareAnn,
		passes: created,
		target: func(t *engine.Target) { t.OnExisting = engine.LinkNever },
	},
	{name: "a user changes", styles: anyStyle, given: []func(*directoryTx){ann}, change: annDirects},
	{name: "a user is renamed", styles: anyStyle, given: []func(*directoryTx){ann}, change: anna},
	{name: "a user is deactivated", given: []func(*directoryTx){ann}, change: annLeaves},
	{name: "a user is unassigned", given: []func(*directoryTx){ann}, change: annRemoved},
	{name: "a user is deactivated, and reassigned after the kill", given: []func(*directoryTx){ann}, change: annLeaves, then: annDirects},
	{name: "a user is reactivated", given: []func(*directoryTx){ann, annLeaves}, change: annDirects},
	{name: "a user is reactivated, and leaves after the kill", given: []func(*directoryTx){ann, annLeaves}, change: ann, then: annRemoved},
	{name: "a user is unassigned after an unfinished create", change: ann, then: annRemoved, passes: created},
	{name: "a user without externalId is unassigned after an unfinished create", change: bareAnn, then: annRemoved},
	{name: "a user is renamed after an unfinished create", styles: anyStyle, change: ann, then: anna},
	{
		name: "a user without externalId is renamed after an unfinished create", styles: anyStyle, change: bareAnn,
		then: func(k *directoryTx) { k.bare("u-1", "anna", "clerk") },
	},
	{
		name: "another user gets the name after an unfinished create", change: ann,
		target: func(t *engine.Target) { t.OnRecycled = engine.LinkAuto },
		then:   func(k *directoryTx) { annRemoved(k); k.user("u-2", "ann", "clerk") },
	},
	{
		name: "the target loses an account", styles: anyStyle, given: []func(*directoryTx){ann}, change: annDirects, most: 2,
		lost: func(f *enginetest.Target) { f.Remove("Users", f.Users()[1].ID()) }, then: annDirects,
	},
	{
		name: "a user changes many times while it is provisioned", change: ann,
		during: map[int32]func(*directoryTx){
			1: annDirects, 2: anna, 3: annLeaves, 4: func(k *directoryTx) { k.user("u-1", "anne", "chair") }, 5: annDirects, 6: anna,
		},
	},
	{
		name: "a deletion guard allows a removal", styles: anyStyle, given: []func(*directoryTx){ann}, change: annRemoved,
		passes: []string{"before Remove", "after Remove"},
		target: func(t *engine.Target) { t.Guard = engine.Guard{Limit: 1} },
	},

	// most is 2: a process killed before Finish has not stored the id of the account, and the next engine may look it up before the target
	// has created it
	{
		name: "a create is accepted", styles: anyStyle, fake: later, target: longTimeout, change: ann, most: 2, passes: created,
	},
	{name: "an update is accepted", styles: anyStyle, fake: later, target: longTimeout, given: []func(*directoryTx){ann}, change: annDirects,
		most: 2},
	{name: "a deactivation is accepted", fake: later, target: longTimeout, given: []func(*directoryTx){ann}, change: annLeaves, most: 2},
	{
		name: "an update is accepted, and the user leaves after the kill", styles: anyStyle, fake: later, target: longTimeout, most: 2,
		given: []func(*directoryTx){ann}, change: annDirects, then: annLeaves,
	},
	{
		name: "a deactivation is accepted, and the user is reassigned after the kill", styles: anyStyle, fake: later, target: longTimeout,
		most:  2,
		given: []func(*directoryTx){ann}, change: annLeaves, then: annDirects,
	},
	{
		name: "members are accepted", target: func(t *engine.Target) { inBatches(t); longTimeout(t) }, fake: later, most: 2,
		given: []func(*directoryTx){staffed}, change: func(k *directoryTx) { k.leave("g-1", "u-1", "u-2"); k.join("g-1", "u-4", "u-5") },
	},

	{
		name: "a group is created with its users", target: inBatches, change: staffed,
		passes: []string{"before EndWalk", "after SaveMembers", "carried out POST /Groups", "answered POST /Groups"},
	},
	{
		name: "a group is created in batches", target: inBatches, given: []func(*directoryTx){func(k *directoryTx) { k.staff(5) }},
		change: func(k *directoryTx) {
			pushedGroup(everyone)(k)
			k.join("g-1", "u-1", "u-2", "u-3", "u-4", "u-5")
		},
	},
	{name: "a group is removed after an unfinished create", styles: anyStyle, change: pushedGroup(everyone), then: func(k *directoryTx) {
		k.group("g-1", everyone, engine.Absent, true)
	}},
	{name: "a group is renamed after an unfinished create", styles: anyStyle, change: pushedGroup(everyone),
		then: pushedGroup("Nearly all")},
	{
		name: "a group is linked", target: inBatches, given: []func(*directoryTx){func(k *directoryTx) { k.staff(3) }},
		fake:   func(f *enginetest.Target) { f.Add("Groups", collective(everyone, "x1", "x2")) },
		change: func(k *directoryTx) { pushedGroup(everyone)(k); k.join("g-1", "u-1", "u-2", "u-3") },
	},
	{
		name: "the create of a group is rejected with 409", styles: anyStyle, change: pushedGroup(everyone),
		fake: func(f *enginetest.Target) {
			f.Add("Groups", collective(everyone, "x1"))
			f.Inject(enginetest.Fault{Method: http.MethodGet, Path: "/Groups?", Status: http.StatusNotFound})
		},
	},
	{
		name: "members are added and removed", target: inBatches, given: []func(*directoryTx){staffed},
		change: func(k *directoryTx) { k.leave("g-1", "u-1", "u-2"); k.join("g-1", "u-4", "u-5") },
	},
	{
		name: "a member joins, and leaves after the kill", given: []func(*directoryTx){staffed},
		change: func(k *directoryTx) { k.join("g-1", "u-4") }, then: func(k *directoryTx) { k.leave("g-1", "u-4") },
	},
	{
		name: "a member leaves, and joins after the kill", given: []func(*directoryTx){staffed},
		change: func(k *directoryTx) { k.leave("g-1", "u-1") }, then: func(k *directoryTx) { k.join("g-1", "u-1") },
	},
	{name: "a group is renamed", given: []func(*directoryTx){staffed}, change: pushedGroup("Staff")},
	{name: "a group is renamed, and back after the kill", given: []func(*directoryTx){staffed}, change: pushedGroup("Staff"),
		then: pushedGroup(everyone)},
	{
		name: "a group is pushed again after a pause", target: inBatches,
		given:  []func(*directoryTx){staffed, func(k *directoryTx) { k.group("g-1", everyone, engine.Inactive, false) }},
		change: func(k *directoryTx) { pushedGroup(everyone)(k); k.leave("g-1", "u-1"); k.join("g-1", "u-4", "u-5") },
	},
	{name: "a group is deleted", styles: anyStyle, given: []func(*directoryTx){staffed}, change: func(k *directoryTx) {
		k.group("g-1", everyone, engine.Absent, true)
	}},
	{
		name: "a group is deleted, and pushed after the kill", given: []func(*directoryTx){staffed}, most: 2,
		change: func(k *directoryTx) { k.group("g-1", everyone, engine.Absent, true) }, then: pushedGroup(everyone),
	},
	{name: "a group is unlinked", styles: anyStyle, given: []func(*directoryTx){staffed}, change: func(k *directoryTx) {
		k.group("g-1", everyone, engine.Absent, false)
	}},
	{
		name: "the target loses a group", given: []func(*directoryTx){staffed}, most: 2,
		lost:   func(f *enginetest.Target) { f.Remove("Groups", f.Groups()[1].ID()) },
		change: func(k *directoryTx) { k.join("g-1", "u-4") }, then: func(k *directoryTx) { k.join("g-1", "u-5") },
	},
}
