package policies

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const (
	defaultName = "Default Policy"
	defaultRule = "Default Rule"
	active      = "ACTIVE"
)

// PolicyInput is a policy in requests.
type PolicyInput struct {
	Type        string    `json:"type" required:"true" doc:"Type. Cannot be changed."`
	Name        string    `json:"name" required:"true" doc:"Name. Cannot be changed."`
	Description string    `json:"description" max:"255" doc:"Description."`
	Status      string    `json:"status" empty:"absent" doc:"Status. Cannot be changed."`
	Priority    *int      `json:"priority" doc:"Priority. Cannot be changed."`
	Settings    *Settings `json:"settings" doc:"Settings. Only the password policy and the enrollment policy accept new settings."`
}

// Policy is a policy in responses.
type Policy struct {
	ID          string     `json:"id" readOnly:"true" doc:"Id."`
	Type        string     `json:"type" readOnly:"true" enum:"PASSWORD,SVC_SIGN_ON,MFA_ENROLL" doc:"Type."`
	Name        string     `json:"name" readOnly:"true" doc:"Name."`
	Description string     `json:"description" readOnly:"true" doc:"Description."`
	Status      string     `json:"status" readOnly:"true" enum:"ACTIVE" doc:"Status."`
	Priority    int        `json:"priority" readOnly:"true" doc:"Order of evaluation."`
	System      bool       `json:"system" readOnly:"true" doc:"true for a system policy or rule."`
	Conditions  Conditions `json:"conditions" readOnly:"true" doc:"Users that the policy applies to."`

	Settings *Settings `json:"settings,omitempty" doc:"Settings of the password policy; with Optional Password, of the enrollment policy too."`

	Created     rest.Time  `json:"created" readOnly:"true" doc:"Time of creation."`
	LastUpdated rest.Time  `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`
	Links       rest.Links `json:"_links" readOnly:"true" doc:"Links."`
}

// Conditions are the users and networks that a policy applies to.
type Conditions struct {
	People *People `json:"people,omitempty" doc:"Groups."`
}

// People are the groups that a policy applies to.
type People struct {
	Groups *Include `json:"groups,omitempty" doc:"Groups."`
}

// Include lists included ids.
type Include struct {
	Include []string `json:"include" doc:"Ids."`
}

// Network is the network condition of a policy or rule.
type Network struct {
	Connection string `json:"connection" enum:"ANYWHERE" doc:"Clients that the policy or rule applies to, by their network."`
}

func (s *Slice) render(ctx context.Context, doc docstore.Doc[model.OrgPolicy], org model.Org) Policy {
	self := []string{"api", "v1", "policies", doc.ID}
	p := Policy{
		ID: doc.ID, Type: string(doc.Value.Type), Name: defaultName, Description: doc.Value.Description, Status: active, Priority: 1,
		System:     true,
		Conditions: Conditions{People: &People{Groups: &Include{[]string{org.Everyone}}}},
		Created:    rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated),
		Links: rest.Links{"self": rest.To(rest.URL(ctx, self...), "GET", "PUT"),
			"rules": rest.To(rest.URL(ctx, append(self, "rules")...), "GET")},
	}
	switch {
	case doc.Value.Password != nil:
		p.Settings = shown(doc.Value.Password)
	case doc.Value.Type == model.PolicyEnroll && s.OptionalPassword:
		p.Settings = shownEnrollment(doc.Value.PasswordEnroll)
	}
	return p
}
