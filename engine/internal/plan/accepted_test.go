package plan_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

// stored returns a pending change as a store returns it.
func stored(t *testing.T, p *engine.Pending) *engine.Pending {
	t.Helper()
	require.NotNil(t, p)
	p.At, p.Deadline = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2027, 1, 2, 3, 14, 5, 0, time.UTC)
	text, err := json.Marshal(p)
	require.NoError(t, err)
	var out engine.Pending
	require.NoError(t, json.Unmarshal(text, &out))
	require.NotContains(t, string(text), "director", "no values")
	return &out
}

func TestPending_ShownByRead(t *testing.T) {
	const before = `{"schemas":["` + scim.UserSchema + `"],"id":"r1","userName":"ann","active":true,"title":"clerk","nickName":"A"}`
	const department = `"` + enterprise + `":{"department":`
	for name, c := range map[string]struct {
		desired string // attributes that the sequence sets, as JSON
		read    string
		done    bool
	}{
		"a string that is present":          {`"title":"director"`, `{"id":"r1","title":"director"}`, true},
		"a string that is absent":           {`"title":"director"`, `{"id":"r1","title":"clerk"}`, false},
		"one of two":                        {`"title":"director","nickName":"B"`, `{"id":"r1","title":"director","nickName":"A"}`, false},
		"a value that is cleared":           {`"title":null`, `{"id":"r1"}`, true},
		"a value that is cleared, as null":  {`"title":null`, `{"id":"r1","title":null}`, true},
		"a value that is not cleared":       {`"title":null`, `{"id":"r1","title":"clerk"}`, false},
		"a name in another case":            {`"userName":"Anna"`, `{"id":"r1","userName":"anna"}`, true},
		"an extension":                      {department + `"Ops"}`, `{"id":"r1",` + department + `"Ops","division":"x"}}`, true},
		"an extension with another value":   {department + `"Ops"}`, `{"id":"r1",` + department + `"HR"}}`, false},
		"an extension that is missing":      {department + `"Ops"}`, `{"id":"r1"}`, false},
		"a list with more in it":            {`"emails":[{"value":"a@x"}]`, `{"id":"r1","emails":[{"value":"a@x","type":"work"}]}`, true},
		"a list without false":              {`"emails":[{"value":"a@x","primary":false}]`, `{"id":"r1","emails":[{"value":"a@x"}]}`, true},
		"a list with the opposite of false": {`"emails":[{"primary":false}]`, `{"id":"r1","emails":[{"primary":true}]}`, false},
		"a longer list":                     {`"emails":[{"value":"a@x"}]`, `{"id":"r1","emails":[{"value":"a@x"},{"value":"b@x"}]}`, false},
		"a list with other values":          {`"emails":[{"value":"a@x"}]`, `{"id":"r1","emails":[{"value":"b@x"}]}`, false},
		"with derived sub-attributes":       {`"name":{"givenName":"A"}`, `{"id":"r1","name":{"givenName":"A","formatted":"A Q"}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := plan.UserInput{
				Want: engine.Active, UserName: "ann", RemoteID: "r1", Origin: engine.Created, MayExist: true, Create: true, Update: true,
				Deactivate: true,
				Resource:   resource(`{"schemas":["` + scim.UserSchema + `"],` + c.desired + `}`),
			}
			s := plan.User(in)
			s.Feed(body(t, 200, before))
			require.Equal(t, http.MethodPut, s.Step().Request.Method)
			// the values in the body of a 202 are ignored
			out := s.Feed(plan.Response{Status: 202, Txn: "t1", Body: s.Step().Request.Body}).Outcome
			require.Equal(t, engine.Accepted, out.Class)

			in.Pending = stored(t, out.Pending)
			in.Resource = resource(`{"schemas":["` + scim.UserSchema + `"],"title":"something newer"}`)
			s = plan.User(in)
			require.Equal(t, "GET /Users/r1", s.Step().Request.Method+" "+s.Step().Request.Path)
			step := s.Feed(body(t, 200, c.read))
			if c.done {
				require.Nil(t, step.Outcome, "the sequence continues with the newer value")
				require.Equal(t, http.MethodGet, step.Request.Method)
				return
			}
			require.Equal(t, engine.Accepted, step.Outcome.Class)
			require.Equal(t, 1, step.Outcome.Pending.Reads)
		})
	}
}

// TestPending_Expired checks the outcome of a read after the time limit of an accepted change.
func TestPending_Expired(t *testing.T) {
	in := plan.UserInput{
		Want: engine.Inactive, UserName: "ann", RemoteID: "r1", Origin: engine.Created, MayExist: true, Update: true, Deactivate: true,
		Resource: resource(`{"userName":"ann"}`),
	}
	out := plan.User(in).Feed(plan.Response{Status: 202, Txn: "t1"}).Outcome
	in.Pending, in.Expired = stored(t, out.Pending), true
	const lapsed = "deactivate: accepted at 2027-01-02T03:04:05Z with transaction t1, not carried out"
	for name, c := range map[string]struct {
		answer  plan.Response
		class   engine.Class
		pending bool
		message string
	}{
		"still active": {body(t, 200, `{"id":"r1","active":true}`), engine.Transient, false, lapsed},
		"inactive":     {body(t, 200, `{"id":"r1","active":"False"}`), engine.Done, false, ""},
		"rejected":     {body(t, 400, ``), engine.Transient, false, lapsed},
		"down":         {body(t, 503, ``), engine.Transient, true, "read: 503 Service Unavailable"},
		"denied":       {body(t, 401, ``), engine.Denied, true, "read: 401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			out := plan.User(in).Feed(c.answer).Outcome
			require.NotNil(t, out, "nothing is sent")
			require.Equal(t, c.class, out.Class)
			require.Equal(t, c.pending, out.Pending != nil)
			require.Equal(t, c.message, out.Message)
			require.Equal(t, c.class == engine.Transient && !c.pending, out.Lapsed)
		})
	}
}

// TestPending_OfAnotherAccount checks that a sequence does not wait for the change of another account than the user's current one.
func TestPending_OfAnotherAccount(t *testing.T) {
	in := plan.UserInput{
		Want: engine.Inactive, UserName: "ann", RemoteID: "r1", MayExist: true, Deactivate: true, Resource: resource(`{"userName":"ann"}`),
	}
	out := plan.User(in).Feed(plan.Response{Status: 202}).Outcome
	in.Pending, in.RemoteID = stored(t, out.Pending), "r2"
	step := plan.User(in).Step()
	require.Equal(t, "PATCH /Users/r2", step.Request.Method+" "+step.Request.Path)
}
