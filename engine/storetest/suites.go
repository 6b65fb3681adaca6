package storetest

import "testing"

// suites has the tests of each interface.
var suites = []struct {
	of    string // an interface of package store
	tests []test
}{
	{"Processes", []test{
		{"join, beat and leave", testProcess, nil},
		{"database of one process", testOneOwner, nil},
		{"several processes", testFleet, nil},
		{"death after the lease", testDeath, nil},
		{"restart under the same name", testReplace, nil},
		{"lanes of a process that leaves", testLeave, nil},
		{"recheck of principals in flight", testInFlight, nil},
		{"note of principals in flight is replaced and removed", testNote, nil},
		{"late create of an inactive user is searched for", testLateCreate, nil},
		{"several rechecks", testRechecks, nil},
	}},
	{"Leases", []test{
		{"claim is exclusive", testClaimOnce, nil},
		{"limit and due time of a claim", testClaimLimit, nil},
		{"leases of a process", testHeld, nil},
		{"claimable lanes", testClaimable, nil},
		{"claimable lanes of a fleet", testClaimableShared, nil},
		{"release schedules the lane", testRelease, nil},
		{"hold ends with kick or retry", testHold, nil},
		{"old epoch is rejected", testEpoch, nil},
		{"concurrent marks and results", testConcurrent, nil},
	}},
	{"Marks", []test{
		{"mark makes principal and lane due", testMark, nil},
		{"mark rolled back", testRollback, nil},
		{"invalid marks are rejected", testBadMarks, nil},
		{"mark during a sequence", testMarkMeanwhile, nil},
		{"retry ends backoff, mark does not", testBackoff, nil},
		{"mark after permanent failure", testParked, nil},
		{"forget removes the app", testForget, nil},
	}},
	{"Sequences", []test{
		{"order of due principals", testOrder, nil},
		{"pages of due users", testDueUsers, nil},
		{"accepted change keeps its status", testPending, nil},
		{"accepted change is stored and read first", testAccepted, []string{"Events", "MarkAll", "Tasks"}},
		{"begin stores that an account may exist", testBegin, nil},
		{"first sequence without request", testUntried, nil},
		{"ignored attributes are stored", testUnkept, nil},
		{"progress of a push", testProgress, nil},
		{"killed sequence", testUnfinished, nil},
		{"recheck after a late change", testLate, nil},
		{"new remote id requeues groups", testWaiting, nil},
		{"lost remote id removes memberships", testLostUser, nil},
		{"account belongs to one user", testAccounts, nil},
		{"password version belongs to the account", testPasswords, nil},
		{"account of a manager requeues users", testManagers, nil},
		{"concurrent manager and user", testManagerRace, nil},
		{"concurrent users of an account", testAccountRace, nil},
		{"previous account", testFormer, nil},
	}},
	{"Lanes", []test{
		{"learned about the target", testLearn, nil},
		{"suspension", testRest, nil},
	}},
	{"Members", []test{
		{"queried, walked and pushed", testMembers, nil},
		{"rows without information are deleted", testMemberRows, nil},
		{"concurrent group and member", testMemberRace, nil},
	}},
	{"States", []test{
		{"pages and filters", testStates, nil},
		{"lookup in bulk", testStatesInBulk, nil},
	}},
	{"MarkAll", []test{
		{"same effect as single marks", testMarkAll, nil},
	}},
	{"Halts", []test{
		{"halted until resumed", testHalts, []string{"Approvals"}},
		{"concurrent halt and resume", testHaltRace, nil},
	}},
	{"Approvals", []test{
		{"removals are counted, blocked and approved", testRemovals, nil},
	}},
	{"Repairs", []test{
		{"repair marks principals", testRepair, nil},
	}},
	{"Attempts", []test{
		{"stored and limited", testExchanges, nil},
	}},
	{"Counts", []test{
		{"counts by status", testCounts, nil},
	}},
	{"Events", []test{
		{"numbered without gaps", testEvents, []string{"Lags"}},
		{"events of holds", testHoldEvents, nil},
		{"update of a dead process has an event", testLostUpdate, nil},
	}},
	{"Profiles", []test{
		{"profile and learned state", testProfile, nil},
	}},
	{"Lags", []test{
		{"dirty since", testLag, nil},
		{"overdue is reported once", testOverdue, nil},
	}},
	{"Tasks", []test{
		{"list, retry, dismiss", testTasks, []string{"Events"}},
		{"drop", testDrop, []string{"Imports"}},
		{"requeue resets ignored attributes", testAgain, nil},
	}},
	{"Links", []test{
		{"all links or none", testLinks, nil},
		{"concurrent link and mark", testLinkRace, nil},
		{"link requeues waiting principals", testLinkStopped, nil},
	}},
	{"Plans", []test{
		{"reads of a dry run", testRehearsalReads, nil},
		{"plans are stored, paged and discarded", testPlans, nil},
		{"expired plans are removed", testOldPlans, nil},
		{"apply marks exactly the items, once", testApplyPlan, nil},
	}},
	{"MarkTraces", []test{
		{"traces of marks are stored and ended", testMarkTraces, nil},
	}},
	{"Imports", []test{
		{"attempts, fencing and pages", testImports, nil},
		{"matched objects are linked", testImportConfirm, []string{"Links"}},
	}},
	{"Jobs", []test{
		{"unique, claimed, ended and recovered", testJobs, nil},
	}},
	{"Tenants", []test{
		{"quotas of tenants", testTenants, nil},
		{"many tenants take turns", testManyTenants, nil},
	}},
}

// test is a test of an interface of package store.
type test struct {
	name string
	run  func(*testing.T, *suite)
	with []string // other capabilities that the test uses
}
