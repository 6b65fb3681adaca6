package engine_test

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// staff is the directory of an identity provider without pushed groups: the login by id, and the URL of the only app.
type staff struct {
	logins map[string]string
	url    string
}

func (s staff) Target(_ context.Context, app string) (engine.Target, error) {
	if app != "crm" {
		return engine.Target{}, engine.ErrUnknownApp
	}
	return engine.Target{BaseURL: s.url, CreateUsers: true, UpdateUsers: true, DeactivateUsers: true}, nil
}

func (s staff) User(_ context.Context, _, id string) (engine.UserState, error) {
	login, ok := s.logins[id]
	if !ok {
		return engine.UserState{Want: engine.Absent}, nil
	}
	r := new(scim.Resource)
	r.Set("userName", login)
	r.Set("externalId", id)
	return engine.UserState{Want: engine.Active, UserName: login, Resource: r}, nil
}

func (staff) Group(context.Context, string, string) (engine.GroupState, error) {
	return engine.GroupState{Want: engine.Absent}, nil
}

func (staff) Members(context.Context, string, string, string, int) ([]string, error) { return nil, nil }

func (staff) IsMember(context.Context, string, string, []string) (map[string]bool, error) {
	return nil, nil
}

// A directory answers what the state should be; it does not say what has changed. A user that it does not know is Absent, so the engine
// deactivates the account.
func ExampleDirectory() {
	var d engine.Directory = staff{logins: map[string]string{"u-1": "ann@example.com"}, url: "https://crm.example.com/scim/v2"}
	for _, id := range []string{"u-1", "u-2"} {
		user, err := d.User(context.Background(), "crm", id)
		fmt.Printf("%s %s %q %v\n", id, user.Want, user.UserName, err)
	}
	// Output:
	// u-1 active "ann@example.com" <nil>
	// u-2 absent "" <nil>
}
