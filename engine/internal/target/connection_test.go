package target_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/scim/wirelog"
)

func connector(concurrency int) *target.Connector {
	return target.NewConnector(target.Options{Network: &connect.Network{}, MaxCall: time.Second, Concurrency: concurrency, Now: time.Now})
}

var valid = engine.Target{BaseURL: "https://scim.example", Auth: engine.Auth{Secret: "t"}}

// TestConnect_Broken checks that Connect reports an invalid Target. Otherwise the engine would treat an unknown Style as the default, for
// example.
func TestConnect_Broken(t *testing.T) {
	for want, change := range map[string]func(*engine.Target){
		`unknown Target.Style "fancy"`:    func(t *engine.Target) { t.Style = "fancy" },
		`unknown Target.Fallback "often"`: func(t *engine.Target) { t.Fallback = "often" },
		`unknown Target.OnMissing "wait"`: func(t *engine.Target) { t.OnMissing = "wait" },
		`unknown Target.OnExisting "x"`:   func(t *engine.Target) { t.OnExisting = "x" },
		`unknown Target.OnRecycled "x"`:   func(t *engine.Target) { t.OnRecycled = "x" },
		`SCIM base URL: it is empty`:      func(t *engine.Target) { t.BaseURL = "" },
		`it starts and ends at 10:00`:     func(t *engine.Target) { t.Maintenance = []engine.Window{{From: "10:00", To: "10:00"}} },
		`HoldNames: error parsing regex`:  func(t *engine.Target) { t.HoldNames = "(" },
	} {
		c := valid
		change(&c)
		connection := connector(1).Connect(c)
		require.ErrorContains(t, connection.Broken, want)
		require.Nil(t, connection.Client)
		require.ErrorContains(t, connection.Test(t.Context()), want)
	}
	require.NoError(t, connector(1).Connect(valid).Broken)
}

func TestConnection_Is(t *testing.T) {
	c := valid
	c.Maintenance = []engine.Window{{Until: time.Unix(1, 0)}}
	connection := connector(1).Connect(c)
	same := c
	same.Maintenance = []engine.Window{{Until: time.Unix(1, 0).UTC()}}
	require.True(t, connection.Is(same), "the same time in another zone")
	for name, change := range map[string]func(*engine.Target){
		"credentials": func(t *engine.Target) { t.Auth.Secret = "other" },
		"windows":     func(t *engine.Target) { t.Maintenance = nil },
		"options":     func(t *engine.Target) { t.UpdateUsers = true },
	} {
		other := c
		change(&other)
		require.False(t, connection.Is(other), name)
	}
}

// TestLine_TenantsShareTurns checks that a free slot belongs to the tenant with the fewest requests in flight, and that one tenant uses all
// slots if no other has a request.
func TestLine_TenantsShareTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := connector(4)
		var mu sync.Mutex
		var order []string
		request := func(tenant, app string, wait time.Duration) {
			l := all.Connect(valid).Line(tenant, all.RateLimiter(tenant+app), func(wirelog.Exchange) {})
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			done, err := l.Turn(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				order = append(order, tenant+" gave up")
				return
			}
			order = append(order, tenant)
			time.AfterFunc(time.Second, done)
		}
		for n := range 12 {
			go request("many", strconv.Itoa(n), time.Minute)
		}
		synctest.Wait()
		require.Equal(t, []string{"many", "many", "many", "many"}, order)
		go request("impatient", "app", 500*time.Millisecond)
		synctest.Wait()
		go request("few", "one", time.Minute)
		go request("few", "two", time.Minute)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "impatient gave up", order[4])
		require.ElementsMatch(t, []string{"few", "few", "many", "many"}, order[5:9], "the next four slots, which become free together")
		require.Len(t, order, 15)
		order = nil
		for n := range 4 { // nothing is left of the tenants
			go request("few", strconv.Itoa(n), time.Millisecond)
		}
		synctest.Wait()
		require.Equal(t, []string{"few", "few", "few", "few"}, order)
	})
}

// TestLine_Turns checks that one app uses at most half of all request slots, and that an app that gives up waiting for a slot releases its
// own.
func TestLine_Turns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := connector(2)
		require.Equal(t, 1, all.Connect(valid).Requests)
		lines := map[string]*target.Line{}
		for _, app := range []string{"a", "b", "c"} {
			pace := all.RateLimiter(app)
			require.Same(t, pace, all.RateLimiter(app))
			lines[app] = all.Connect(valid).Line("", pace, func(wirelog.Exchange) {})
		}
		turn := func(app string, wait time.Duration) (func(), error) {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			return lines[app].Turn(ctx)
		}
		doneA, err := turn("a", time.Second)
		require.NoError(t, err)
		_, err = turn("a", time.Second)
		require.ErrorIs(t, err, context.DeadlineExceeded, "its own slot is taken")
		doneB, err := turn("b", time.Second)
		require.NoError(t, err)
		_, err = turn("c", time.Second)
		require.ErrorIs(t, err, context.DeadlineExceeded, "all turns are taken")
		doneB()
		doneC, err := turn("c", time.Second)
		require.NoError(t, err, "the slot was released when the wait was canceled")
		doneA()
		doneC()

		slow := all.RateLimiter("a")
		slow.Allow(1, 1)
		for range 2 { // the rate limit delays the second request by 1s
			done, err := turn("a", 2*time.Second)
			require.NoError(t, err)
			done()
		}
		_, err = turn("a", time.Millisecond)
		require.ErrorIs(t, err, context.DeadlineExceeded, "the rate is used up")
		done, err := turn("a", 5*time.Second)
		require.NoError(t, err)
		done()
		all.Forget("a")
		require.NotSame(t, slow, all.RateLimiter("a"))
	})
}
