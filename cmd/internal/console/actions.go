package console

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

var haltFields = []Field{
	{Name: "operations", Label: "Operations", Kind: "several", Options: haltNames(), Help: "None selected means all."},
	{Name: "reason", Label: "Reason", Kind: "text", Help: "Other operators see it next to the halt."},
}

func haltNames() (names []string) {
	for _, op := range engine.HaltOperations() {
		names = append(names, string(op))
	}
	return names
}

// actions is the table of actions, by operation.
var actions = map[string]Row{
	"retryProvisioningTask": {
		Label: "Retry", What: "Sends the change again now.", Direct: true,
		Done: func(url.Values, json.RawMessage) string { return "The change is retried." },
	},
	"dismissProvisioningTask": {
		Label: "Dismiss",
		What:  "Marks the failed change as resolved without changing the target. The next change of the user or group is sent as usual.",
		Done:  func(url.Values, json.RawMessage) string { return "The change is marked as resolved." },
	},
	"retryAllProvisioningTasks": {
		Label: "Retry all", What: "Sends all failed changes of the app again now.", Direct: true,
		Done: func(_ url.Values, response json.RawMessage) string {
			var n struct{ Retried int }
			_ = json.Unmarshal(response, &n)
			return plural(n.Retried, "change") + " retried."
		},
	},
	"approveRemovals": {
		Label: "Review removals", Submit: "Approve",
		What:  "Sends the deactivations and deletions that the deletion guard has blocked. Users lose their accounts.",
		Count: blockedRemovals, Counted: "expected",
		Done: func(args url.Values, _ json.RawMessage) string {
			return "Removals approved: " + args.Get("expected") + "."
		},
	},
	"haltApp": {
		Label: "Halt", What: "The engine sends no requests of the selected operations for this app until you resume them.", Fields: haltFields,
		Done: func(url.Values, json.RawMessage) string { return "Halted." },
	},
	"resumeApp": {
		Label: "Resume", What: "Enables halted operations of this app again.", Direct: true, Fields: haltFields[:1],
		Done: func(url.Values, json.RawMessage) string { return "Resumed." },
	},
	"haltAllApps": {
		Label: "Halt all apps", What: "The engine sends no requests of the selected operations for any app until you resume them.",
		Fields: haltFields, Done: func(url.Values, json.RawMessage) string { return "Halted for all apps." },
	},
	"resumeAllApps": {
		Label: "Resume all apps", What: "Enables operations again that were halted for all apps.", Direct: true, Fields: haltFields[:1],
		Done: func(url.Values, json.RawMessage) string { return "Resumed for all apps." },
	},
	"releaseApp": {
		Label: "Release", What: "Ends the pause of the app, so that the engine sends its pending changes now.", Direct: true,
		Done: func(url.Values, json.RawMessage) string { return "Released: the engine sends the pending changes now." },
	},
	"testApp": {
		Label: "Test connection", What: "Reads the first users of the target with the stored credentials.", Direct: true,
		Done: func(url.Values, json.RawMessage) string {
			return "The connection works: the target returned its first users."
		},
	},
	"probeApp": {
		Label: "Probe", What: "Determines the features of the target with a temporary user and group, which are removed again.",
		Fields: []Field{{Name: "domain", Label: "Domain", Kind: "text", Help: "Of the temporary user. Default: example.com."}},
		Result: func(response json.RawMessage) (ResultPage, error) {
			var p engine.Profile
			err := json.Unmarshal(response, &p)
			return ResultPage{Heading: "Probe", Profile: &p}, err
		},
	},
	"unlearn": {
		Label: "Forget what was learned", What: "Removes the detected deviations and the result of the probe. The engine detects them again.",
		Done: func(url.Values, json.RawMessage) string {
			return "Removed. The engine detects the deviations of the target again."
		},
	},
	"createPlan": {
		Label: "New plan", What: "Computes the requests for users and groups without sending them. The plan can be reviewed and then applied.",
		Fields: []Field{
			{Name: "all", Label: "All users and groups of the app", Kind: "check", Default: "true"},
			{Name: "userIds", Label: "Users", Kind: "lines", Help: "Ids, one per line."},
			{Name: "groupIds", Label: "Groups", Kind: "lines", Help: "Ids, one per line."},
			{Name: "reason", Label: "Reason", Kind: "text"},
		},
		To: func(args url.Values, response json.RawMessage) string {
			var p engine.Plan
			_ = json.Unmarshal(response, &p)
			return appPath(args, "plans", p.ID)
		},
	},
	"applyPlan": {
		Label: "Apply",
		What:  "Sends the requests of the plan. Nothing is sent if the desired state has changed since the plan was created.",
		Count: itemsOfPlan,
		Fields: []Field{
			{Name: "first", Label: "Number of items to apply now", Kind: "number", Help: "The others can be applied afterwards. Default: all."},
		},
		Done: func(url.Values, json.RawMessage) string { return "The plan is being applied." },
	},
	"discardPlan": {
		Label: "Discard", What: "Deletes the plan. Items that were applied remain applied.",
		Done: func(url.Values, json.RawMessage) string { return "The plan is deleted." },
		To:   func(args url.Values, _ json.RawMessage) string { return appPath(args, "plans") },
	},
	"startImport": {
		Label:  "New import",
		What:   "Reads the accounts or groups of the target and matches them with users and groups. It changes nothing on the target.",
		Fields: []Field{{Name: "type", Label: "Read", Kind: "choice", Options: []string{"USERS", "GROUPS"}}},
		To: func(args url.Values, response json.RawMessage) string {
			var started struct{ JobID string }
			_ = json.Unmarshal(response, &started)
			return appPath(args, "imports", started.JobID)
		},
	},
	"confirmImport": {
		Label: "Link the matched accounts", Count: matchedAccounts,
		What: "Links each account with the verdict matched to its user. The engine manages these accounts from then on.",
		Done: func(_ url.Values, response json.RawMessage) string {
			var n api.Confirmed
			_ = json.Unmarshal(response, &n)
			return plural(n.Linked, "account") + " linked, " + plural(n.Created, "user") + " created."
		},
	},
	"driftReport": {
		Label: "Compare with the target", What: "Reads the list of the target and compares it with the desired state.",
		Fields: []Field{
			{Name: "kind", Label: "Compare", Kind: "choice", Options: []string{"user", "group"}},
			{Name: "repair", Label: "Provision again what differs", Kind: "check"},
		},
		Result: func(response json.RawMessage) (ResultPage, error) {
			var d api.Drift
			err := json.Unmarshal(response, &d)
			return ResultPage{Heading: "Comparison with the target", Drift: &d}, err
		},
	},
	"reconcileApp": {
		Label: "Reconcile",
		What:  "Compares all users and groups with the target, and provisions again those that differ or have no state in the engine.",
		Result: func(response json.RawMessage) (ResultPage, error) {
			found := map[string]*api.Reconciled{}
			err := json.Unmarshal(response, &found)
			return ResultPage{Heading: "Reconciliation", Reconciled: found}, err
		},
	},
	"provisionPrincipal": {
		Label: "Provision now", What: "Sends the pending requests of this user or group now, and shows them.",
		Fields: []Field{
			{Name: "forceSync", Label: "Also send attributes that the target has ignored before", Kind: "check"},
			{Name: "allMembers", Label: "Push all members of the group, not only the changes", Kind: "check"},
		},
		Result: traceResult,
	},
	"rehearsePrincipal": {
		Label: "Dry run", What: "Shows the requests that would be sent now. It reads the target and changes nothing.", Direct: true,
		Result: traceResult,
	},
	"verifyPrincipal": {
		Label: "Read back", What: "Reads the account on the target and compares it with the desired state.", Direct: true,
		Result: func(response json.RawMessage) (ResultPage, error) {
			var v api.Verification
			err := json.Unmarshal(response, &v)
			return ResultPage{Heading: "Read back", Verification: &v}, err
		},
	},
}

func traceResult(response json.RawMessage) (ResultPage, error) {
	var t api.Trace
	err := json.Unmarshal(response, &t)
	heading := "Requests that were sent"
	if t.Rehearsed {
		heading = "Dry run"
	}
	return ResultPage{Heading: heading, Trace: &t}, err
}

// appPath returns a path below the base.
func appPath(args url.Values, segments ...string) string {
	path := "/apps/" + url.PathEscape(args.Get("app"))
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	return path
}

// maxNamed is the maximum number of names that a form lists.
const maxNamed = 20

// removals are the operations that the deletion guard blocks.
var removals = []engine.Operation{engine.RemoveUser, engine.RemoveGroup}

func blockedRemovals(ctx context.Context, c *api.Client, args url.Values) (int, []Fact, error) {
	tasks, err := c.Tasks(ctx, args.Get("app"))
	n := 0
	var facts []Fact
	for _, t := range tasks {
		if t.Status != engine.StatusHeld || !slices.Contains(removals, t.Operation) {
			continue
		}
		if n++; n <= maxNamed {
			facts = append(facts, Fact{string(t.Operation), nameOr(t.Name, t.ID)})
		}
	}
	if n > maxNamed {
		facts = append(facts, Fact{"and", plural(n-maxNamed, "further removal")})
	}
	return n, facts, err
}

func nameOr(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

func itemsOfPlan(ctx context.Context, c *api.Client, args url.Values) (int, []Fact, error) {
	p, err := c.Plan(ctx, args.Get("app"), args.Get("plan"))
	var facts []Fact
	for _, op := range sortedKeys(p.Operations) {
		facts = append(facts, Fact{string(op), num(p.Operations[op])})
	}
	return p.Items, facts, err
}

func matchedAccounts(ctx context.Context, c *api.Client, args url.Values) (int, []Fact, error) {
	i, err := c.Import(ctx, args.Get("app"), args.Get("job"))
	n := i.Verdicts[engine.VerdictMatched]
	return n, []Fact{{"matched accounts", num(n)}}, err
}
