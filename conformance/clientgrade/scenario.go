package clientgrade

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/scimwright/scimwright/conformance"
)

// A Scenario is a task for a client.
type Scenario struct {
	// Name consists of words joined by hyphens. Title is one sentence.
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	// Do contains the steps that the tester performs with the client.
	Do []string `yaml:"do"`
	// Exists are the users on the server before the client starts, as SCIM attributes; userName is required.
	Exists []map[string]any `yaml:"exists"`
	// Meddle are changes that another client makes on the server right after the client has created a user. The client must not overwrite
	// these changes.
	Meddle []ExternalChange `yaml:"meddle"`
	// Want is the required state of the server at the end.
	Want Want `yaml:"want"`
	// Exactly means that the server must have no users and groups other than those in Want.
	Exactly bool `yaml:"exactly"`
	// Quirks are the deviations of the server in the scenario, in the syntax of quirks.Parse.
	Quirks []string `yaml:"quirks"`
	// Contract defines which requests the client is expected to send. Default: Resilient.
	Contract Contract `yaml:"contract"`
	// Profiles are the clients whose requests the client is expected to send (package profiles). Default: any requests.
	Profiles []conformance.Profile `yaml:"-"`
}

// An ExternalChange is a change that another client makes.
type ExternalChange struct {
	UserName string         `yaml:"userName"`
	Set      map[string]any `yaml:"set"` // top-level attributes
}

// Want is the required state of a server.
type Want struct {
	Users  []User  `yaml:"users"`
	Groups []Group `yaml:"groups"`
}

// A User is an expected user.
type User struct {
	UserName string `yaml:"userName"`
	// Attributes are the expected values by path, such as name.familyName, active, emails.value or a URN with an attribute. For a multi-valued
	// attribute, one element must have the value.
	Attributes map[string]any `yaml:"attributes"`
	// Absent means that no such user may exist.
	Absent bool `yaml:"absent"`
}

// A Group is an expected group.
type Group struct {
	DisplayName string `yaml:"displayName"`
	// Members are the userNames of all direct members.
	Members []string `yaml:"members"`
	// Absent means that no such group may exist.
	Absent bool `yaml:"absent"`
}

// Parse reads a scenario in YAML or JSON.
func Parse(data []byte) (Scenario, error) {
	var s Scenario
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return s, fmt.Errorf("not a scenario: %s", line)
	}
	return s, s.check()
}

// check returns an error if an entry of the scenario is invalid and would therefore be ignored silently.
func (s Scenario) check() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(s.Want.Users)+len(s.Want.Groups) == 0 {
		problem("want has neither users nor groups: every state would be correct")
	}
	if s.Contract != "" && !slices.Contains(Contracts(), s.Contract) {
		problem("contract is %q, not one of %v", s.Contract, Contracts())
	}
	names := map[string]bool{}
	for _, u := range s.Want.Users {
		key := strings.ToLower(u.UserName)
		switch {
		case key == "":
			problem("want: a user has no userName")
		case names[key]:
			problem("want: user %s is listed twice", u.UserName)
		case u.Absent && len(u.Attributes) > 0:
			problem("want: user %s is absent and has attributes", u.UserName)
		}
		names[key] = names[key] || !u.Absent
	}
	groups := map[string]bool{}
	for _, g := range s.Want.Groups {
		if g.DisplayName == "" || groups[g.DisplayName] {
			problem("want: group %q has no displayName, or is listed twice", g.DisplayName)
		}
		groups[g.DisplayName] = true
		for _, m := range g.Members {
			if !names[strings.ToLower(m)] {
				problem("want: member %[2]s of group %[1]s is not an expected user", g.DisplayName, m)
			}
		}
	}
	for _, e := range s.Exists {
		if name, _ := e["userName"].(string); name == "" {
			problem("exists: a user has no userName")
		}
	}
	for _, m := range s.Meddle {
		if m.UserName == "" || len(m.Set) == 0 {
			problem("meddle: a change has no userName, or sets nothing")
		}
	}
	return errors.Join(problems...)
}

// Scenarios returns the built-in scenarios.
func Scenarios() []Scenario {
	return []Scenario{
		{
			Name:  "joiner-mover-leaver",
			Title: "A user joins, a user moves, a user leaves, and a user already exists",
			Do: []string{
				"Assign ada.joiner@example.com (Ada Joiner), ben.mover@example.com (Ben Mover), cleo.leaver@example.com (Cleo Leaver) and " +
					"dora.linked@example.com (Dora Linked) to the application. The server already has an account for Dora: link it.",
				"Push the group Mock Engineering with the members ada and ben.",
				"Change Ben's family name to Moved, remove him from Mock Engineering and push the group Mock Sales with him.",
				"Remove Cleo's assignment, because she leaves. Her account must be deactivated, not deleted.",
			},
			Exists: []map[string]any{{"userName": "dora.linked@example.com", "displayName": "Previous name", "active": true}},
			Meddle: []ExternalChange{{UserName: "ben.mover@example.com", Set: map[string]any{"nickName": "set-at-the-server"}}},
			Want: Want{
				Users: []User{
					{UserName: "ada.joiner@example.com", Attributes: map[string]any{"active": true, "name.familyName": "Joiner"}},
					{UserName: "ben.mover@example.com", Attributes: map[string]any{"active": true, "name.familyName": "Moved"}},
					{UserName: "cleo.leaver@example.com", Attributes: map[string]any{"active": false}},
					{UserName: "dora.linked@example.com", Attributes: map[string]any{"active": true, "name.familyName": "Linked"}},
				},
				Groups: []Group{{DisplayName: "Mock Engineering", Members: []string{"ada.joiner@example.com"}},
					{DisplayName: "Mock Sales", Members: []string{"ben.mover@example.com"}}},
			},
			Exactly: true,
		},
		{
			Name:  "joiners",
			Title: "Three users join, without groups",
			Do:    []string{"Assign ada.joiner@example.com, ben.joiner@example.com and cleo.joiner@example.com to the application."},
			Want: Want{Users: []User{
				{UserName: "ada.joiner@example.com", Attributes: map[string]any{"active": true}},
				{UserName: "ben.joiner@example.com", Attributes: map[string]any{"active": true}},
				{UserName: "cleo.joiner@example.com", Attributes: map[string]any{"active": true}},
			}},
			Exactly: true,
		},
		{
			Name:  "returner",
			Title: "A user returns whose account is inactive",
			Do: []string{
				"Assign ada.returner@example.com (Ada Returner) to the application. The server already has an inactive account for her: link and " +
					"activate it.",
				"Change her family name to Again.",
			},
			Exists: []map[string]any{{"userName": "ada.returner@example.com", "nickName": "before", "active": false}},
			Want: Want{Users: []User{
				{UserName: "ada.returner@example.com", Attributes: map[string]any{"active": true, "name.familyName": "Again", "nickName": "before"}},
			}},
			Exactly: true,
		},
		{
			Name:  "taken",
			Title: "The server reports that a name is already used",
			Do: []string{
				"Assign ada.taken@example.com to the application. The server rejects the create with 409, although it does not list her.",
				"Do not retry.",
			},
			Want:    Want{Users: []User{{UserName: "ada.taken@example.com", Absent: true}}},
			Exactly: true,
			Quirks:  []string{"error=409,p=1,times=1,method=POST"},
		},
	}
}

// ScenarioNamed returns the scenario with that name.
func ScenarioNamed(name string) (Scenario, bool) {
	i := slices.IndexFunc(Scenarios(), func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return Scenarios()[i], true
}
