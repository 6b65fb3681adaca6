package clientgrade

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// A Scenario is a piece of work for a client.
type Scenario struct {
	// Name is words joined by hyphens, Title one sentence.
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	// Do tells whoever runs the client what to do, step by step.
	Do []string `yaml:"do"`
	// Exists are users that the server has before the client comes, as SCIM attributes; userName is required.
	Exists []map[string]any `yaml:"exists"`
	// Meddle are changes that somebody else makes at the server right after the client has created a user. The client is to
	// leave them alone.
	Meddle []ExternalChange `yaml:"meddle"`
	// Want is what the server has to hold in the end.
	Want Want `yaml:"want"`
	// Exactly tells that the server must hold nobody and nothing else.
	Exactly bool `yaml:"exactly"`
	// Quirks are how the server deviates for the scenario, as quirks.Parse of the server reads them.
	Quirks []string `yaml:"quirks"`
	// Contract says what is expected on the way. Defaults to Resilient.
	Contract Contract `yaml:"contract"`
}

// A ExternalChange is a change that somebody else makes.
type ExternalChange struct {
	UserName string         `yaml:"userName"`
	Set      map[string]any `yaml:"set"` // top-level attributes
}

// Want is a state of a server.
type Want struct {
	Users  []User  `yaml:"users"`
	Groups []Group `yaml:"groups"`
}

// A User is one that is wanted.
type User struct {
	UserName string `yaml:"userName"`
	// Attributes are values by path, such as name.familyName, active, emails.value or a URN with an attribute. Of a multi-valued
	// attribute one element has to have the value.
	Attributes map[string]any `yaml:"attributes"`
	// Absent tells that there must be no such user.
	Absent bool `yaml:"absent"`
}

// A Group is one that is wanted.
type Group struct {
	DisplayName string `yaml:"displayName"`
	// Members are the userNames of all direct members.
	Members []string `yaml:"members"`
	// Absent tells that there must be no such group.
	Absent bool `yaml:"absent"`
}

// Parse reads a scenario in YAML or JSON.
func Parse(data []byte) (Scenario, error) {
	var s Scenario
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return s, fmt.Errorf("this is no scenario: %s", line)
	}
	return s, s.check()
}

// check finds slips that would make the scenario mean less than it says.
func (s Scenario) check() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(s.Want.Users)+len(s.Want.Groups) == 0 {
		problem("want has neither users nor groups: everything would be right")
	}
	if s.Contract != "" && !slices.Contains(Contracts(), s.Contract) {
		problem("contract is %q, and not one of %v", s.Contract, Contracts())
	}
	names := map[string]bool{}
	for _, u := range s.Want.Users {
		key := strings.ToLower(u.UserName)
		switch {
		case key == "":
			problem("a wanted user has no userName")
		case names[key]:
			problem("user %s is wanted twice", u.UserName)
		case u.Absent && len(u.Attributes) > 0:
			problem("user %s must not be there and has attributes", u.UserName)
		}
		names[key] = names[key] || !u.Absent
	}
	groups := map[string]bool{}
	for _, g := range s.Want.Groups {
		if g.DisplayName == "" || groups[g.DisplayName] {
			problem("group %q has no displayName, or is wanted twice", g.DisplayName)
		}
		groups[g.DisplayName] = true
		for _, m := range g.Members {
			if !names[strings.ToLower(m)] {
				problem("group %s wants the member %s, who is not a wanted user", g.DisplayName, m)
			}
		}
	}
	for _, e := range s.Exists {
		if name, _ := e["userName"].(string); name == "" {
			problem("a user that exists has no userName")
		}
	}
	for _, m := range s.Meddle {
		if m.UserName == "" || len(m.Set) == 0 {
			problem("a meddling has no userName, or sets nothing")
		}
	}
	return errors.Join(problems...)
}

// Scenarios lists those that come with the suite.
func Scenarios() []Scenario {
	return []Scenario{
		{
			Name:  "joiner-mover-leaver",
			Title: "Somebody joins, somebody moves, somebody leaves, and somebody was there already",
			Do: []string{
				"Assign ada.joiner@example.com (Ada Joiner), ben.mover@example.com (Ben Mover), cleo.leaver@example.com (Cleo Leaver) and " +
					"dora.linked@example.com (Dora Linked) to the application. The server has an account for dora already: link it.",
				"Push the group Mock Engineering with the members ada and ben.",
				"Change Ben's family name to Moved, take him out of Mock Engineering and push the group Mock Sales with him.",
				"Take Cleo's assignment away: she leaves. Her account is to be deactivated, not deleted.",
			},
			Exists: []map[string]any{{"userName": "dora.linked@example.com", "displayName": "Somebody before", "active": true}},
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
			Title: "Three people join, without groups",
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
			Title: "Somebody comes back, and the account is inactive",
			Do: []string{
				"Assign ada.returner@example.com (Ada Returner) to the application. The server has an inactive account for her already: link and " +
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
			Title: "The server says that a name is taken",
			Do: []string{
				"Assign ada.taken@example.com to the application. The server answers the create with 409, although it does not list her.",
				"Do not retry.",
			},
			Want:    Want{Users: []User{{UserName: "ada.taken@example.com", Absent: true}}},
			Exactly: true,
			Quirks:  []string{"error=409,p=1,times=1,method=POST"},
		},
	}
}

// ScenarioNamed returns the scenario of that name.
func ScenarioNamed(name string) (Scenario, bool) {
	i := slices.IndexFunc(Scenarios(), func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return Scenarios()[i], true
}
