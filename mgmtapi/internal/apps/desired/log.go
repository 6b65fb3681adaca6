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

// logUser writes the log entries for an attempt on a user: its requests and its outcome. u is the assignment before the attempt.
func (s *State) logUser(ctx context.Context, tx *docstore.Tx, u *model.AppUser, r Result) error {
	if len(r.Steps) == 0 && (r.Outcome != Failed || u.ErrorSummary == r.summary()) {
		return nil // no request was sent, and the error is logged already
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
	entries := requestEntries(r, targets, userEvent)
	if r.Outcome == Started && !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Method != http.MethodGet }) {
		return nil // the attempt only checked whether the target has carried out a change that it accepted earlier
	}
	if r.Confirmed != "" {
		entries = append(entries, audit.Entry{Type: operationEvent(r.Confirmed), Targets: targets})
	}
	if r.setPassword(u) {
		conn, err := model.Optional(ctx, tx, s.Connections, u.AppID)
		if err != nil {
			return err
		}
		entries = addPasswordEntry(entries, targets, conn != nil && !conn.Value.Updates())
	}
	switch {
	case r.Outcome == Failed && !slices.ContainsFunc(entries, hasFailure):
		entries = append(entries, audit.Entry{Type: operationEvent(r.Operation), Targets: targets, Failure: r.reason()})
	case r.Outcome == Done:
		for _, event := range outcomeEvents(u, r) {
			entries = append(entries, audit.Entry{Type: event, Targets: targets})
		}
	}
	return audit.Write(ctx, tx, s.Deps, entries...)
}

// addPasswordEntry logs that an attempt has set a password. If the last request of the attempt set nothing but the password, the entry of
// this request becomes the password entry. This is the case if the request is a PATCH, or if alone is true. Otherwise addPasswordEntry adds
// an entry.
func addPasswordEntry(entries []audit.Entry, targets []model.LogParty, alone bool) []audit.Entry {
	if last := len(entries) - 1; last >= 0 &&
		(alone && entries[last].Type == audit.TargetProfile || entries[last].Debug["scimMethod"] == http.MethodPatch) {
		entries[last].Type = audit.TargetPassword
		return entries
	}
	return append(entries, audit.Entry{Type: audit.TargetPassword, Targets: targets})
}

// hasFailure reports whether an entry describes a failure.
func hasFailure(e audit.Entry) bool { return e.Failure != "" }

// reason returns the cause of a failed attempt, never empty.
func (r Result) reason() string { return cmp.Or(r.summary(), "The attempt failed") }

// operationEvent returns the event for an operation on a user that no logged request represents: it failed before
// a request was sent, or the target confirmed it later.
func operationEvent(o Operation) audit.Type {
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

// userEvent returns the event of a request about a user, "" for a request that is not logged: reading a known account changes nothing.
func userEvent(step Step, r Result) audit.Type {
	switch {
	case step.Method == http.MethodGet && strings.Contains(step.Path, "filter="), strings.HasSuffix(step.Path, ".search"):
		return audit.TargetLookup
	case step.Method == http.MethodGet && step.Alternative != "" && strings.Contains(step.Path, "startIndex=1&"):
		return audit.TargetLookup // the target does not support the search, so the engine reads the list of users instead
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

// outcomeEvents returns the events of a successful attempt on a user, in addition to those of its requests.
func outcomeEvents(u *model.AppUser, r Result) []audit.Type {
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

// logGroup writes the log entries for an attempt on a pushed group. m is the push mapping before the attempt.
func (s *State) logGroup(ctx context.Context, tx *docstore.Tx, m docstore.Doc[model.PushMapping], r Result) error {
	if len(r.Steps) == 0 && (r.Outcome != Failed || m.Value.ErrorSummary == r.summary()) {
		return nil // no request was sent, and the error is logged already
	}
	app, err := model.Optional(ctx, tx, s.Apps, m.Value.AppID)
	if err != nil || app == nil {
		return err
	}
	targets := []model.LogParty{audit.PushMapping(m.ID, &m.Value), audit.App(app.ID, &app.Value)}
	entries := requestEntries(r, targets, groupEvent)
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

// confirmedGroup maps changes of groups that a target accepted and carried out later to their events.
var confirmedGroup = map[Operation]audit.Type{
	Created: audit.TargetGroupAdd, Updated: audit.TargetGroupUpdate, Removed: audit.TargetGroupRemove,
}

// groupEvent returns the event of a request about a group, "" for a request that is not logged.
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

// requestEntries returns the log entries for the requests of an attempt, each with its result.
func requestEntries(r Result, targets []model.LogParty, eventOf func(Step, Result) audit.Type) []audit.Entry {
	var entries []audit.Entry
	culprit := r.failedStep()
	for i, step := range r.Steps {
		event := eventOf(step, r)
		if event == "" || step.Method != http.MethodGet && step.Status == http.StatusAccepted {
			continue // an accepted change is logged once its result is known
		}
		e := audit.Entry{Type: event, Targets: targets, Debug: map[string]string{
			"scimMethod": step.Method, "scimPath": step.Path, "scimStatus": strconv.Itoa(step.Status),
		}}
		if step.Alternative != "" {
			e.Debug["scimAlternative"] = step.Alternative
		}
		switch {
		case i == culprit:
			e.Failure = r.reason() // this request failed the attempt, even if its status reports a success
		case accepted(step):
		case step.Message != "":
			e.Failure = model.Shortened(step.Message, maxErrorSummary)
		case step.Status == 0:
			e.Failure = "No response from the target"
		default:
			e.Failure = "The target responded with status " + strconv.Itoa(step.Status)
		}
		entries = append(entries, e)
	}
	return entries
}

// failedStep returns the index of the request that failed the attempt, or -1 if no request failed it. It is the last request, unless that
// was a successful read after a rejected request or after a write.
func (r Result) failedStep() int {
	last := len(r.Steps) - 1
	if r.Outcome != Failed || r.Lapsed { // a lapsed attempt has failed because of a request of an earlier attempt
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
			return last // the last request, a read, failed the attempt: Error does not quote the message of the earlier rejected request
		}
	}
	return last
}

// accepted reports whether a request succeeded. A read with the status 404 counts as success: the user does not exist on the target.
func accepted(step Step) bool {
	return step.Status >= 200 && step.Status < 300 && step.Message == "" || step.Method == http.MethodGet && step.Status == http.StatusNotFound
}
