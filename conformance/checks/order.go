package checks

import "github.com/scimwright/scimwright/conformance"

// Order returns the phases of a run for conformance.Options.Order, so that a run that ends early is still useful. The rule: first what
// every provisioning client needs, in the order in which a client needs it; then the client flows; then all other checks by level. The
// caller may change the slice.
func Order() []conformance.Phase {
	return []conformance.Phase{
		{Name: "connection", Checks: []string{
			"discovery.service-provider-config",
			"discovery.resource-types",
			"discovery.schemas",
			"discovery.user-schema",
			"auth.missing-credentials",
			"auth.wrong-token",
			"read.media-type",
		}},
		{Name: "lookup", Checks: []string{
			"read.by-id",
			"read.unknown-id",
			"list.envelope",
			"list.total",
			"list.count",
			"list.start-index",
			"list.walk",
			"filter.eq",
			"filter.no-match",
			"groups.filter-display-name",
		}},
		{Name: "create", Checks: []string{
			"create.status",
			"create.location",
			"create.meta",
			"create.schemas",
			"create.keeps-attributes",
			"create.core-attributes",
			"create.multi-valued-attributes",
			"create.external-id",
			"create.duplicate-user-name",
			"create.missing-user-name",
			"create.password-never-returned",
			"groups.create",
		}},
		{Name: "update", Checks: []string{
			"put.replaces",
			"put.multi-valued",
			"put.round-trip",
			"put.rename",
			"patch.response",
			"patch.replace-simple",
			"patch.replace-no-path",
			"patch.replace-sub-attribute",
			"patch.replace-value-path",
			"patch.add-single-valued",
			"patch.add-multi-valued",
			"patch.remove-simple",
			"groups.patch-add-member",
			"groups.patch-remove-member",
			"groups.patch-replace-members",
			"groups.patch-rename",
			"groups.put-members",
		}},
		{Name: "deactivate", Checks: []string{
			"patch.deactivate",
			"put.active",
		}},
		{Name: "delete", Checks: []string{
			"delete.status",
			"delete.group-status",
			"delete.gone",
			"delete.not-listed",
			"groups.delete",
		}},
		{Name: "client flows", Clients: true},
		{Name: "must", Checks: []string{string(conformance.Must)}},
		{Name: "should", Checks: []string{string(conformance.Should)}},
		{Name: "interop", Checks: []string{string(conformance.Interop)}},
		{Name: "may", Checks: []string{string(conformance.May)}},
	}
}
