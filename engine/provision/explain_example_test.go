package provision_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/mapping"
)

// mapped is a directory that computes its users with a mapping, and can therefore explain values.
type mapped struct {
	*enginetest.Directory
	mapping *mapping.Mapping
	values  mapping.Values
}

// Explain implements engine.Explainer.
func (d mapped) Explain(context.Context, string, engine.Kind, string) (engine.Explanation, error) {
	x := engine.Explanation{Reasons: []string{"Ada is in the group Sales", "the group Sales is assigned to the app CRM"}}
	for _, row := range d.mapping.Preview(d.values) {
		rule := cmp.Or(row.Rule.Expression, fmt.Sprint(row.Rule.Constant))
		x.Values = append(x.Values,
			engine.Value{Path: row.Rule.Target, Source: "mapping of the app CRM", Rule: rule, Value: row.Value, Error: row.Error})
	}
	return x, nil
}

func ExampleExplainer() {
	m, err := mapping.Compile([]mapping.Rule{
		{Target: "userName", Expression: `user.login + "@example.com"`}, {Target: "locale", Constant: "en-GB"},
	}, mapping.Options{Names: mapping.Names{"user": {"login": mapping.String}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var d engine.Explainer = mapped{
		mapping: m, values: mapping.Values{Objects: map[string]map[string]any{"user": {"login": "ada"}}},
	}
	x, _ := d.Explain(context.Background(), "crm", engine.User, "u-1")
	fmt.Println(x.Reasons[1])
	for _, v := range x.Values {
		fmt.Println(v.Path, "=", v.Value, "by", v.Rule)
	}
	// Output:
	// the group Sales is assigned to the app CRM
	// userName = ada@example.com by user.login + "@example.com"
	// locale = en-GB by en-GB
}
