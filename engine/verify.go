package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine/plan"
)

// Proof says whether a principal has come to its desired state, by the engine's own count and by what the target has.
type Proof struct {
	App  string `json:"app"`
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`

	Desired   int64     `json:"desired"`         // generation of the last mark, 0 for a principal that was never marked
	Confirmed int64     `json:"confirmed"`       // generation that the target is known to have
	ReadAt    time.Time `json:"readAt,omitzero"` // zero when the target could not be read, or there was nothing to be read
	Equal     bool      `json:"equal"`           // the target has all that is desired, but for what is in Ignored
	// Differ are the paths in which the target differs, Diff tells how: before is what the target has, after what is desired.
	Differ []string     `json:"differ,omitempty"`
	Diff   []Difference `json:"diff,omitempty"`
	// Members are those that the target's group has too few (Add) or too many (Remove).
	Members *MemberDiff `json:"members,omitempty"`
	// Waiting are users that cannot be members yet, because they have no account.
	Waiting []string `json:"waiting,omitempty"`
	// Ignored are the paths that the target does not keep, and that are left alone since.
	Ignored []string `json:"ignored,omitempty"`
	// Message says why the target was not read, or what was found besides.
	Message string `json:"message,omitempty"`
}

// Converged says that nothing is left to be done: the last mark is confirmed, and the target was read and is equal, or nothing is
// wanted there and nothing was ever made (ReadAt is zero then).
func (p Proof) Converged() bool { return p.Desired == p.Confirmed && p.Equal && len(p.Waiting) == 0 }

// String returns a line such as "desired 17, confirmed 17, read back equal at 10:02:03".
func (p Proof) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "desired %d, confirmed %d, ", p.Desired, p.Confirmed)
	switch {
	case p.ReadAt.IsZero():
		b.WriteString("not read back")
	case p.Equal:
		b.WriteString("read back equal at " + p.ReadAt.Format(time.TimeOnly))
	default:
		b.WriteString("read back different at " + p.ReadAt.Format(time.TimeOnly) + " in " + strings.Join(p.Differ, ", "))
	}
	if len(p.Ignored) > 0 {
		b.WriteString(", not kept by the target: " + strings.Join(p.Ignored, ", "))
	}
	if len(p.Waiting) > 0 {
		b.WriteString(", waiting for " + strings.Join(p.Waiting, ", "))
	}
	if p.Message != "" {
		b.WriteString(" (" + p.Message + ")")
	}
	return b.String()
}

// Verify reads a principal at the target and compares it with what the directory says now. Nothing is written, neither at the
// target nor in the store. A group is compared by its name and all its members; one whose members the target never shows cannot
// be, and Ignored names them. What the options of the app exclude, such as updates, is not compared. The error is about the app
// (ErrUnknownApp), the store or ctx; what the target or the directory cannot tell is in Proof.Message.
func (e *Engine) Verify(ctx context.Context, app string, kind Kind, id string) (Proof, error) {
	x, err := e.rehearsal(ctx, app, nil)
	if err != nil {
		return Proof{}, err
	}
	r, err := x.one(ctx, kind, id, rehearsalOptions{marked: true, unguarded: true, unsure: true, unwaiting: true})
	if err != nil {
		return Proof{}, err
	}
	t := r.trace()
	p := Proof{
		App: app, Kind: kind, ID: id, Desired: t.State.Desired, Confirmed: t.State.Synced, Waiting: t.Waiting, Message: t.Message,
	}
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case t.Outcome != plan.Done:
		return p, nil
	case len(t.Requests) == 0: // there is nothing to be done, and nothing that it could be done to
		p.Equal = true
		return p, nil
	}
	p.ReadAt, p.Diff, p.Members = e.o.Now(), t.Diff, t.Members
	if kind == Group && t.Members != nil && r.known.TraitsAt(e.o.Now())[plan.MembersHidden] {
		p.Members, p.Ignored = nil, []string{"members"}
	}
	for _, d := range p.Diff {
		p.Differ = append(p.Differ, d.Path)
	}
	if p.Members != nil {
		p.Differ = append(p.Differ, "members")
	}
	for path, u := range r.outcome.Unkept {
		if u.Ignored {
			p.Ignored = append(p.Ignored, path)
		}
	}
	slices.Sort(p.Ignored)
	if t.Operation == plan.OpCreate {
		p.Message = "there is no account or group at the target"
		p.Differ = append(p.Differ, "id")
	}
	p.Equal = len(p.Differ) == 0
	return p, nil
}
