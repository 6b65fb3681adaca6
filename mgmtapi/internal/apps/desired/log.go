package desired

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// logUser tells the log of an attempt on a user: what was sent, and what it came to. u is the assignment as it was before.
func (s *State) logUser(ctx context.Context, tx *docstore.Tx, u *model.AppUser, r Result) error {
	if len(r.Steps) == 0 && (r.Outcome != Failed || u.ErrorSummary == r.summary()) {
		return nil // nothing was sent, and that is nothing new
	}
	app, err := model.Optional(ctx, tx, s.Apps, u.AppID)
	if err != nil || app == nil {
		return err
	}
	party := *u
	if r.RemoteID != "" {
		party.ExternalID = r.RemoteID
	}
	targets := []model.LogParty{audit.AppUser(&party), audit.App(app.ID, &app.Value)}
	user, err := model.Optional(ctx, tx, s.Users, u.UserID)
	if err != nil {
		return err
	}
	if user != nil {
		targets = append(targets, audit.User(*user))
	}
	entries := sent(r, targets, userEvent)
	if r.Outcome == Started && !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Method != http.MethodGet }) {
		return nil // it was only read whether the target is done
	}
	if r.Confirmed != "" {
		entries = append(entries, audit.Entry{Type: meant(r.Confirmed), Targets: targets})
	}
	if r.setPassword(u) {
		conn, err := model.Optional(ctx, tx, s.Connections, u.AppID)
		if err != nil {
			return err
		}
		entries = tellPassword(entries, targets, conn != nil && !conn.Value.Updates())
	}
	switch {
	case r.Outcome == Failed && !slices.ContainsFunc(entries, failure):
		entries = append(entries, audit.Entry{Type: meant(r.Operation), Targets: targets, Failure: r.reason()})
	case r.Outcome == Done:
		for _, event := range cameTo(u, r) {
			entries = append(entries, audit.Entry{Type: event, Targets: targets})
		}
	}
	return audit.Write(ctx, tx, s.Deps, entries...)
}

// tellPassword tells of a password that was set: the last request did, and nothing else if it is a PATCH, or profiles are not updated.
func tellPassword(entries []audit.Entry, targets []model.LogParty, alone bool) []audit.Entry {
	if last := len(entries) - 1; last >= 0 &&
		(alone && entries[last].Type == audit.TargetProfile || entries[last].Debug["scimMethod"] == http.MethodPatch) {
		entries[last].Type = audit.TargetPassword
		return entries
	}
	return append(entries, audit.Entry{Type: audit.TargetPassword, Targets: targets})
}

// failure says whether an entry tells of one.
func failure(e audit.Entry) bool { return e.Failure != "" }

// reason is why an attempt failed, never empty.
func (r Result) reason() string { return cmp.Or(r.summary(), "The attempt failed") }

// meant is the event of an attempt on a user that failed before anything was sent that is told of.
func meant(o Operation) audit.Type {
	switch o {
	case Created:
		return audit.TargetPush
	case Linked:
		return audit.TargetLink
	case Deactivated:
		return audit.TargetDeactivate
	case Reactivated:
		return audit.TargetReactivate
	default:
		return audit.TargetProfile
	}
}

// userEvent is the event of a request about a user, "" for one that is not told of: what only reads an account that is known
// changes nothing.
func userEvent(step Step, r Result) audit.Type {
	switch {
	case step.Method == http.MethodGet && strings.Contains(step.Path, "filter="), strings.HasSuffix(step.Path, ".search"):
		return audit.TargetLookup
	case step.Method == http.MethodGet && step.Alternative != "" && strings.Contains(step.Path, "startIndex=1&"):
		return audit.TargetLookup // the list is read instead
	case step.Method == http.MethodGet:
		return ""
	case step.Method == http.MethodPost:
		return audit.TargetPush
	case r.Operation == Deactivated:
		return audit.TargetDeactivate
	case r.Operation == Reactivated:
		return audit.TargetReactivate
	default:
		return audit.TargetProfile
	}
}

// cameTo is what a successful attempt on a user came to.
func cameTo(u *model.AppUser, r Result) []audit.Type {
	var events []audit.Type
	switch {
	case !u.Listed() && r.Operation == Deactivated:
		return []audit.Type{audit.TargetDeprovision, audit.AppUserDeprovision}
	case r.Operation == Created:
		events = append(events, audit.TargetPushed)
	case r.Operation == Linked:
		events = append(events, audit.TargetLink)
	}
	if u.Listed() && u.Status == model.AppUserStaged && r.RemoteID != "" {
		events = append(events, audit.AppUserProvision)
	}
	return events
}

// logGroup tells the log of an attempt on a pushed group.
func (s *State) logGroup(ctx context.Context, tx *docstore.Tx, m docstore.Doc[model.PushMapping], r Result) error {
	if len(r.Steps) == 0 && (r.Outcome != Failed || m.Value.ErrorSummary == r.summary()) {
		return nil // nothing was sent, and that is nothing new
	}
	app, err := model.Optional(ctx, tx, s.Apps, m.Value.AppID)
	if err != nil || app == nil {
		return err
	}
	targets := []model.LogParty{audit.PushMapping(m.ID, &m.Value), audit.App(app.ID, &app.Value)}
	entries := sent(r, targets, groupEvent)
	if event := confirmedGroup[r.Confirmed]; event != "" {
		entries = append(entries, audit.Entry{Type: event, Targets: targets})
	}
	wrote := func(event audit.Type) bool {
		return slices.ContainsFunc(entries, func(e audit.Entry) bool { return e.Type == event })
	}
	switch {
	case r.Outcome == Failed:
		entries = append(entries, audit.Entry{Type: audit.PushFailed, Targets: targets, Failure: r.reason()})
	case r.Outcome == Done && wrote(audit.TargetGroupAdd):
		entries = append(entries, audit.Entry{Type: audit.PushPushed, Targets: targets})
	case r.Outcome == Done && wrote(audit.TargetGroupUpdate):
		entries = append(entries, audit.Entry{Type: audit.PushMembers, Targets: targets})
	}
	return audit.Write(ctx, tx, s.Deps, entries...)
}

// confirmedGroup are the events of changes of groups that a target has carried out after it had accepted them.
var confirmedGroup = map[Operation]audit.Type{
	Created: audit.TargetGroupAdd, Updated: audit.TargetGroupUpdate, Removed: audit.TargetGroupRemove,
}

// groupEvent is the event of a request about a group.
func groupEvent(step Step, _ Result) audit.Type {
	switch step.Method {
	case http.MethodPost:
		if strings.HasSuffix(step.Path, ".search") {
			return ""
		}
		return audit.TargetGroupAdd
	case http.MethodPut, http.MethodPatch:
		return audit.TargetGroupUpdate
	case http.MethodDelete:
		return audit.TargetGroupRemove
	default:
		return ""
	}
}

// sent is what the log tells of the requests of an attempt, each with its answer.
func sent(r Result, targets []model.LogParty, eventOf func(Step, Result) audit.Type) []audit.Entry {
	var entries []audit.Entry
	culprit := r.culprit()
	for i, step := range r.Steps {
		event := eventOf(step, r)
		if event == "" || step.Method != http.MethodGet && step.Status == http.StatusAccepted {
			continue // a change that was accepted is told of once it was carried out, or was not
		}
		e := audit.Entry{Type: event, Targets: targets, Debug: map[string]string{
			"scimMethod": step.Method, "scimPath": step.Path, "scimStatus": strconv.Itoa(step.Status),
		}}
		if step.Alternative != "" {
			e.Debug["scimAlternative"] = step.Alternative
		}
		switch {
		case i == culprit:
			e.Failure = r.reason() // also of an answer that looked like a success
		case accepted(step):
		case step.Message != "":
			e.Failure = model.Shortened(step.Message, maxErrorSummary)
		case step.Status == 0:
			e.Failure = "The target did not answer"
		default:
			e.Failure = "The target answered with the status " + strconv.Itoa(step.Status)
		}
		entries = append(entries, e)
	}
	return entries
}

// culprit is the index of the request for which the attempt has failed, -1 for none. That is the last one, unless that one was only to
// find out what is there after another one was rejected, or to read what another one has written.
func (r Result) culprit() int {
	last := len(r.Steps) - 1
	if r.Outcome != Failed || r.Lapsed { // the request that has failed was one of an earlier attempt
		return -1
	}
	if last < 0 || r.Steps[last].Method != http.MethodGet || !accepted(r.Steps[last]) {
		return last
	}
	for i, step := range slices.Backward(r.Steps) {
		switch {
		case step.Method == http.MethodGet:
		case accepted(step), step.Message == "", strings.Contains(r.Error, step.Message):
			return i
		default:
			return last // the read failed the attempt, not the request before
		}
	}
	return last
}

// accepted reports whether a target did what it was asked. A 404 is its way to say that a user is not there.
func accepted(step Step) bool {
	return step.Status >= 200 && step.Status < 300 && step.Message == "" || step.Method == http.MethodGet && step.Status == http.StatusNotFound
}
