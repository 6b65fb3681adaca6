package imports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/drift"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

// match assigns a verdict to each object of a page.
func (w *Worker) match(ctx context.Context, run engine.ImportRun, page []*scim.Resource) ([]engine.RemoteObject, error) {
	kind := run.Request.Kind
	objects, seen := make([]engine.RemoteObject, len(page)), make([]drift.Object, len(page))
	ids := make([]string, len(page))
	for i, r := range page {
		seen[i] = drift.ObjectOf(r)
		ids[i] = r.ID()
		objects[i] = engine.RemoteObject{
			App: run.App, Kind: kind, RemoteID: seen[i].RemoteID, UserName: seen[i].UserName, ExternalID: seen[i].ExternalID,
			DisplayName: seen[i].DisplayName, Active: plan.IsActive(r), Hash: contentHash(r), Run: run.ID, Resource: r,
		}
		if len(seen[i].Emails) > 0 {
			objects[i].Email = seen[i].Emails[0]
		}
	}
	owners, err := w.Store.StatesByRemoteID(ctx, run.App, kind, ids)
	if err != nil {
		return nil, err
	}
	linked := map[string]string{}
	for _, s := range owners {
		linked[s.RemoteID] = s.ID
	}
	var open []int // indexes of the objects that belong to no principal yet
	var asked []engine.RemoteObject
	for i := range objects {
		if owner, ok := linked[objects[i].RemoteID]; ok {
			objects[i].Verdict, objects[i].Principal = engine.VerdictLinked, owner
			continue
		}
		open, asked = append(open, i), append(asked, objects[i])
	}
	if len(open) == 0 {
		return objects, nil
	}
	matcher, ok := w.Directory.(engine.Matcher)
	if !ok {
		return nil, engine.ErrNoMatcher // the run was started by an engine with another directory
	}
	candidates, err := matcher.Match(ctx, run.App, kind, asked)
	if err == nil && len(candidates) != len(asked) {
		err = fmt.Errorf("Match of the directory returned %d lists of candidates for %d objects: return one list for each object",
			len(candidates), len(asked))
	}
	if err != nil {
		return nil, fmt.Errorf("the directory cannot match the accounts: %w", err)
	}
	var matched []string
	for n, i := range open {
		m := drift.Find(seen[i], candidates[n], run.Request.Match, run.Request.Partial)
		o := &objects[i]
		o.Verdict, o.Rule = m.Verdict, m.Rule
		if m.Verdict == engine.VerdictMatched {
			o.Principal = m.IDs[0]
			matched = append(matched, m.IDs[0])
		} else {
			o.Candidates = m.IDs[:min(len(m.IDs), engine.MaxCandidates)]
		}
	}
	states, err := w.Store.StatesByID(ctx, run.App, kind, matched)
	if err != nil {
		return nil, err
	}
	accounts := map[string]string{}
	for _, s := range states {
		accounts[s.ID] = s.RemoteID
	}
	for _, i := range open {
		o := &objects[i]
		if has := accounts[o.Principal]; o.Verdict == engine.VerdictMatched && has != "" {
			o.Verdict, o.Note = engine.VerdictAmbiguous, o.Principal+" already has the account "+has
			o.Candidates, o.Principal = []string{o.Principal}, ""
		}
	}
	return objects, nil
}

// contentHash identifies the content of a resource, without the metadata.
func contentHash(r *scim.Resource) string {
	content := r.Clone()
	content.Delete("meta")
	sum := sha256.Sum256(content.AppendJSON(nil))
	return hex.EncodeToString(sum[:16])
}
