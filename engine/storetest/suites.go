package storetest

import "testing"

// suites has the tests of each interface.
var suites = []struct {
	of    string // an interface of package store
	tests []test
}{
	{"Leases", []test{
		{"a lane is claimed once", testClaimOnce, nil},
		{"a restarted owner gets its lanes back", testReset, nil},
		{"release waits for the hold and the next principal", testRelease, nil},
		{"a mark waits for the hold, a retry and a kick end it", testHold, nil},
		{"results under an old epoch are refused", testEpoch, nil},
		{"concurrent marks and results do not get lost", testConcurrent, nil},
	}},
	{"Marks", []test{
		{"a mark makes a principal due and its lane claimable", testMark, nil},
		{"a mark that is rolled back leaves nothing", testRollback, nil},
		{"marks that name nobody are refused", testBadMarks, nil},
		{"a mark during a sequence makes it due again", testMarkMeanwhile, nil},
		{"a mark does not end a back-off but a retry does", testBackoff, nil},
		{"a mark wakes what failed for good", testParked, nil},
		{"a forgotten app leaves nothing and loses its lease", testForget, nil},
	}},
	{"Sequences", []test{
		{"users come before groups, known accounts first", testOrder, nil},
		{"users with an account are due page by page", testDueUsers, nil},
		{"a change that was accepted keeps its status", testPending, nil},
		{"a change that was accepted is kept and waited for", testAccepted, []string{"Events", "MarkAll", "Tasks"}},
		{"begin remembers that an account may exist", testBegin, nil},
		{"a first sequence may leave no trace", testUntried, nil},
		{"what a target does not keep is kept", testUnkept, nil},
		{"the progress of a push is kept", testProgress, nil},
		{"what a killed sequence may have done is remembered", testUnfinished, nil},
		{"what was changed too late is looked at again", testLate, nil},
		{"a user that gains an id makes its groups due", testWaiting, nil},
		{"a user that loses its id has left all groups", testLostUser, nil},
		{"an account belongs to one user", testAccounts, nil},
		{"the version of a password belongs to an account", testPasswords, nil},
		{"a user is due when its manager gets an account", testManagers, nil},
		{"a user does not miss the account of its manager", testManagerRace, nil},
		{"the account that a user had before is known", testFormer, nil},
	}},
	{"Lanes", []test{
		{"what a target is known to do is kept", testLearn, nil},
		{"a lane knows why it rests", testRest, nil},
	}},
	{"Members", []test{
		{"members are asked, walked and pushed", testMembers, nil},
		{"rows of members that say nothing do not stay", testMemberRows, nil},
		{"a group does not miss the id of a member", testMemberRace, nil},
	}},
	{"States", []test{
		{"states are paged and filtered", testStates, nil},
		{"states are found in bulk", testStatesInBulk, nil},
	}},
	{"MarkAll", []test{
		{"all that fit are marked as one by one", testMarkAll, nil},
	}},
	{"Halts", []test{
		{"what is halted is held until it is resumed", testHalts, []string{"Approvals"}},
		{"a halt that ends leaves nobody behind", testHaltRace, nil},
	}},
	{"Approvals", []test{
		{"removals are counted, held back and approved", testRemovals, nil},
	}},
	{"Repairs", []test{
		{"what has drifted is marked", testRepair, nil},
	}},
	{"Attempts", []test{
		{"exchanges are kept and limited", testExchanges, nil},
	}},
	{"Counts", []test{
		{"principals are counted by status", testCounts, nil},
	}},
	{"Events", []test{
		{"events are numbered without gaps", testEvents, []string{"Lags"}},
		{"events of an app tell of its holds", testHoldEvents, nil},
	}},
	{"Profiles", []test{
		{"what a probe found is kept beside it", testProfile, nil},
	}},
	{"Lags", []test{
		{"a row knows since when it is dirty", testLag, nil},
		{"who is overdue is told once", testOverdue, nil},
	}},
	{"Tasks", []test{
		{"what is wrong is listed, retried and dismissed", testTasks, []string{"Events"}},
		{"what is queued is dropped", testDrop, []string{"Imports"}},
		{"what did not stick is forgotten on request", testAgain, nil},
	}},
	{"Links", []test{
		{"links are made as a whole or not at all", testLinks, nil},
		{"a link and a mark at once do not get lost", testLinkRace, nil},
		{"a link wakes what waited for it", testLinkStopped, nil},
	}},
	{"Plans", []test{
		{"rehearsals read without changing anything", testRehearsalReads, nil},
		{"plans are kept, paged and discarded", testPlans, nil},
		{"plans are removed some time after they have expired", testOldPlans, nil},
		{"a plan marks exactly its principals, once", testApplyPlan, nil},
	}},
	{"Imports", []test{
		{"an import is claimed, fenced and resumed", testImports, nil},
		{"what an import has matched is linked", testImportConfirm, []string{"Links"}},
	}},
}

// test is a test of an interface of package store.
type test struct {
	name string
	run  func(*testing.T, *suite)
	with []string // other capabilities that the test uses
}
