package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// Prefixes of the names of tests whose sandboxes are two replicas on one PostgreSQL database.
const (
	replicasPrefix = "TestReplicas_Alternately/"
	pooledPrefix   = "TestReplicas_Pooled/" // the database is behind PgBouncer in transaction mode
)

// TestReplicas_Alternately runs the walks and other tests of this package with two replicas behind a balancer: request i goes to
// replica i mod 2.
func TestReplicas_Alternately(t *testing.T) {
	t.Parallel()
	for name, test := range replicaTests() {
		t.Run(name, test)
	}
}

// TestReplicas_Pooled runs the same tests through PgBouncer in transaction mode: a few of them, or all in a run of all tests.
func TestReplicas_Pooled(t *testing.T) {
	t.Parallel()
	for name, test := range replicaTests() {
		switch name {
		case "TestWalkGroupPush", "TestWalkImport", "TestImport_ScheduledByClock":
		default:
			if !alltest.All() {
				continue
			}
		}
		t.Run(name, test)
	}
}

// replicaTests returns the tests, whose sandboxes are replicas if the names have one of the prefixes.
func replicaTests() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"TestWalkNoOptions": TestWalkNoOptions, "TestWalkCreateUsers": TestWalkCreateUsers, "TestWalkUpdateAttributes": TestWalkUpdateAttributes,
		"TestWalkDeactivateUsers": TestWalkDeactivateUsers, "TestWalkDeactivateByGroupAndApp": TestWalkDeactivateByGroupAndApp,
		"TestWalkSyncPassword": TestWalkSyncPassword, "TestWalkGroupPush": TestWalkGroupPush, "TestWalkImport": TestWalkImport,
		"TestImport_ConfirmsPendingAccounts": TestImport_ConfirmsPendingAccounts, "TestImport_ScheduledByClock": TestImport_ScheduledByClock,
		"TestImport_DecidedByHook": TestImport_DecidedByHook, "TestImport_FirstKeepsRejectedCorrection": TestImport_FirstKeepsRejectedCorrection,
		"TestAssignment_CreatesTargetUser": TestAssignment_CreatesTargetUser,

		"TestTarget_RetriedUntilAvailable": TestTarget_RetriedUntilAvailable,
		"TestClock_ControlsExpiry":         TestClock_ControlsExpiry, "TestClock_RejectsUnreachableTime": TestClock_RejectsUnreachableTime,
		"TestClock_EngineContinuesAfterAdvance": TestClock_EngineContinuesAfterAdvance,
		"TestClock_MovedBackWithAccessToken":    TestClock_MovedBackWithAccessToken,
		"TestClock_WorkContinuesAfterStepBack":  TestClock_WorkContinuesAfterStepBack,
		"TestReset_RestoresSeed":                TestReset_RestoresSeed, "TestReset_DuringProvisioning": TestReset_DuringProvisioning,
		"TestReset_ConcurrentCallsSerialized":      TestReset_ConcurrentCallsSerialized,
		"TestReset_FailedSeedLeavesInitialContent": TestReset_FailedSeedLeavesInitialContent,
		"TestSecrets_HiddenFromAppAdmin":           TestSecrets_HiddenFromAppAdmin,
		"TestControlPort_ChangesQuirks":            TestControlPort_ChangesQuirks,
		"TestControlPort_RejectsInvalidRequests":   TestControlPort_RejectsInvalidRequests,
		"TestConsole_AppPageShowsFailuresFirst":    TestConsole_AppPageShowsFailuresFirst,
		"TestSystemLog_RecordsAssignment":          TestSystemLog_RecordsAssignment,
		"TestSystemLog_ContainsTargetErrors":       TestSystemLog_ContainsTargetErrors,
		"TestPushMapping_DeletedDuringPush":        TestPushMapping_DeletedDuringPush,
		"TestDeletedApp_LeavesNoWork":              TestDeletedApp_LeavesNoWork,
		"TestDrain_WaitsForAsyncWork":              TestDrain_WaitsForAsyncWork, "TestDrain_NamesPendingUsers": TestDrain_NamesPendingUsers,
		"TestPausedLane_TasksAndWaits":         TestPausedLane_TasksAndWaits,
		"TestSyncState_SyncingDuringSequence":  TestSyncState_SyncingDuringSequence,
		"TestSyncState_SyncingAfterAcceptance": TestSyncState_SyncingAfterAcceptance, "TestSyncState_NotStuck": TestSyncState_NotStuck,
		"TestUnprovisioned_CountedWithReason":    TestUnprovisioned_CountedWithReason,
		"TestMappedAttribute_ReachesTarget":      TestMappedAttribute_ReachesTarget,
		"TestEngineAPI_AppsAndUsers":             TestEngineAPI_AppsAndUsers,
		"TestEngineAPI_RetriesAndDismissesTasks": TestEngineAPI_RetriesAndDismissesTasks,
		"TestEngineAPI_RepairsDrift":             TestEngineAPI_RepairsDrift,
		"TestEngineAPI_ImportsAccountsAndLinks":  TestEngineAPI_ImportsAccountsAndLinks,
		"TestEngineAPI_HaltsAndApproves":         TestEngineAPI_HaltsAndApproves, "TestEngineAPI_ProbesTarget": TestEngineAPI_ProbesTarget,
		"TestEngineAPI_NeedsAdministrator": TestEngineAPI_NeedsAdministrator,
		"TestRequests_Create":              TestRequests_Create, "TestRequests_UpdateAndDeactivate": TestRequests_UpdateAndDeactivate,
		"TestRequests_ReactivationAndPassword": TestRequests_ReactivationAndPassword, "TestRequests_FailuresShown": TestRequests_FailuresShown,
		"TestRequests_GroupPush": TestRequests_GroupPush, "TestRequests_ImportPages": TestRequests_ImportPages,
	}
}

// original returns the name of a test as it is without replicas.
func original(t testing.TB) string {
	return strings.TrimPrefix(strings.TrimPrefix(t.Name(), replicasPrefix), pooledPrefix)
}

// replicated reports whether the sandbox of a test is two replicas.
func replicated(t testing.TB) bool { return original(t) != t.Name() }

// balancer is a reverse proxy that sends requests to its replicas in turn.
type balancer struct {
	*httptest.Server
	next     atomic.Int64
	replicas [2]*httputil.ReverseProxy
}

func newBalancer(t testing.TB) *balancer {
	t.Helper()
	b := &balancer{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.replicas[b.next.Add(1)%2].ServeHTTP(w, r)
	}))
	t.Cleanup(func() { b.CloseClientConnections(); b.Close() })
	return b
}

// send makes the balancer send requests to the addresses of replicas.
func (b *balancer) send(t testing.TB, addresses ...string) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	for i, address := range addresses {
		to, err := url.Parse(address)
		require.NoError(t, err)
		b.replicas[i] = &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
		}}
	}
}

// replicaPair is two sandboxes on one database, and clients of each, and of both alternately.
type replicaPair struct {
	options        sandbox.Options
	first, second  *sandbox.Sandbox
	a, b, balanced *sandbox.APIClient
}

func startReplicas(t testing.TB, o sandbox.Options) *replicaPair {
	t.Helper()
	lb := newBalancer(t)
	open := sqldbtest.PostgresURL
	if strings.HasPrefix(t.Name(), pooledPrefix) {
		open = sqldbtest.PooledURL
	}
	o.DB, o.SecretKeyFile = open(t), filepath.Join(t.TempDir(), "secret.key")
	if o.BaseURL == "" {
		o.BaseURL = lb.URL
	}
	p := &replicaPair{options: o}
	p.first, p.a = startOne(t, o)
	p.second, p.b = startOne(t, o)
	lb.send(t, p.first.Ready().BaseURL, p.second.Ready().BaseURL)
	p.balanced = &sandbox.APIClient{BaseURL: lb.URL, Token: p.first.Ready().APIToken}
	return p
}
