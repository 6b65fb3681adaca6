package authz

import (
	"fmt"
	"testing"

	"github.com/scimwright/scimwright/mgmtapi/model"
)

// manyGrants is a caller with 50 assignments, of which only the last one meets a need of a user of one group.
func manyGrants() *Access {
	a := &Access{User: "00u"}
	for i := range 49 {
		r := model.RoleAssignment{Type: model.RoleUserAdmin, Assignee: "00u"}
		for n := range 100 {
			r.Targets = append(r.Targets, model.RoleTarget{Group: fmt.Sprintf("00g%d-%d", i, n)})
		}
		a.add(standardGrant(&r, "00u"))
	}
	a.add(standardGrant(&model.RoleAssignment{Type: model.RoleUserAdmin, Targets: []model.RoleTarget{{Group: "00gmine"}}}, "00u"))
	return a
}

// manyResources is a caller with one custom role on a set of 1,000 resources, the last of which meets the need.
func manyResources() *Access {
	var resources []model.SetResource
	for i := range 999 {
		resources = append(resources, model.SetResource{ORN: nameMembers(fmt.Sprintf("00g%d", i)).ORN("org")})
	}
	resources = append(resources, model.SetResource{ORN: nameMembers("00gmine").ORN("org")})
	a := &Access{User: "00u"}
	a.add(Grant{
		Type: model.RoleCustom, scope: newScope(resources, "org"),
		held: compile(&model.CustomRole{Permissions: []model.RolePermission{{Name: UsersManage}}}),
	})
	return a
}

func BenchmarkDecision(b *testing.B) {
	groups := []string{"00gmine"}
	for i := range 20 {
		groups = append([]string{fmt.Sprintf("00gother%d", i)}, groups...)
	}
	need, r := &changeProfile, &Resource{Kind: KindUser, ID: "00u1", Groups: groups}
	for name, access := range map[string]*Access{"50 assignments": manyGrants(), "1000 resources": manyResources()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !access.Meets(need, r) {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkNeeds(b *testing.B) {
	for b.Loop() {
		if _, ok := NeedsOf("GET", "/api/v1/logs"); !ok {
			b.Fatal("no rule")
		}
	}
}
