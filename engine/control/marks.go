package control

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/rest"
)

// maxMarks is the maximum number of marks, and of members in all of them, in one request.
const maxMarks = 10_000

func (a *api) markRoutes() []rest.Route {
	return []rest.Route{
		row(a, "markPrincipals", "POST /apps/{app}/marks",
			"Report that the desired state of users or groups may have changed: the engine queries the directory for it", 0, a.mark),
	}
}

type marksRequest struct {
	appRequest
	Body struct {
		Marks []mark `json:"marks" required:"true" min:"1" max:"10000" doc:"at most 10,000 users and groups, with at most 10,000 members"`
	} `body:"required"`
}

type mark struct {
	Kind       string   `json:"kind" required:"true" enum:"user,group" doc:"kind of the principal"`
	ID         string   `json:"id" required:"true" max:"256" doc:"id of the user or group in the directory"`
	Members    []string `json:"members,omitempty" max:"10000" doc:"of a group: ids of the users that may have joined or left"`
	AllMembers bool     `json:"allMembers,omitempty" doc:"of a group: read all members again"`
	Retry      bool     `json:"retry,omitempty" doc:"end the delay after failures"`
}

type marked struct {
	Marked int `json:"marked" readOnly:"true" doc:"number of users and groups that were marked"`
}

// mark marks principals in one transaction. A repetition does no harm: the engine queries the directory once more.
func (a *api) mark(ctx context.Context, r *marksRequest) (marked, error) {
	marks, members := make([]engine.Mark, 0, len(r.Body.Marks)), 0
	for i, m := range r.Body.Marks {
		kind := engine.Kind(m.Kind)
		if kind != engine.Group && (len(m.Members) > 0 || m.AllMembers) {
			return marked{}, rest.Invalid(fmt.Sprintf("marks[%d]", i), "Only a group has members")
		}
		if members += len(m.Members); members > maxMarks {
			return marked{}, rest.Invalid("marks", "At most %d members are allowed in one request", maxMarks)
		}
		marks = append(marks, engine.Mark{
			App: r.App, Kind: kind, ID: m.ID, Members: m.Members, AllMembers: m.AllMembers, Retry: m.Retry,
		})
	}
	err := a.update(ctx, r.App, func(tx engine.Execer) error { return a.o.Engine.Mark(ctx, tx, marks...) })
	return marked{Marked: len(marks)}, Rejected(err, "AppInstance", r.App)
}
