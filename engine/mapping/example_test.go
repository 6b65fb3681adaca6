package mapping_test

import (
	"fmt"

	"github.com/scimwright/scimwright/engine/mapping"
)

func ExampleCompile() {
	m, err := mapping.Compile([]mapping.Rule{
		{Target: "userName", Expression: `String.toLowerCase(user.login)`},
		{Target: "name.givenName", Expression: `user.firstName`},
		{Target: `emails[type eq "work"].value`,
			Expression: `user.department == "Sales" ? user.login + "@sales.example.com" : user.login + "@example.com"`},
		{Target: "locale", Constant: "en-GB", CreateOnly: true},
	}, mapping.Options{Names: mapping.Names{"user": {"login": mapping.String, "firstName": mapping.String, "department": mapping.String}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ada := mapping.Values{Objects: map[string]map[string]any{"user": {"login": "Ada", "firstName": "Ada", "department": "Sales"}}}
	for _, row := range m.Preview(ada) {
		fmt.Println(row.Rule.Target, "=", row.Value)
	}
	// Output:
	// userName = ada
	// name.givenName = Ada
	// emails[type eq "work"].value = Ada@sales.example.com
	// locale = en-GB
}

func ExampleCanary() {
	compile := func(expression string) *mapping.Mapping {
		m, err := mapping.Compile([]mapping.Rule{{Target: "userName", Expression: expression}},
			mapping.Options{Names: mapping.Names{"user": {"login": mapping.String}}})
		if err != nil {
			panic(err)
		}
		return m
	}
	first := map[string]bool{"u-1": true}
	canary := mapping.Canary{
		Stable: compile(`user.login`), Candidate: compile(`user.login + "@example.com"`),
		Users: func(id string) bool { return first[id] },
	}
	for _, id := range []string{"u-1", "u-2"} {
		made, err := canary.Apply(id, mapping.Values{Objects: map[string]map[string]any{"user": {"login": id}}})
		fmt.Println(id, made.Resource.Text("userName"), err)
	}
	fmt.Println(canary.Preview("u-1", mapping.Values{Objects: map[string]map[string]any{"user": {"login": "u-1"}}})[0].Value)
	// Output:
	// u-1 u-1@example.com <nil>
	// u-2 u-2 <nil>
	// u-1@example.com
}
