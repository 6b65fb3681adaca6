package sequence

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
)

// batch returns the maximum number of members per request.
func batch(l engine.Learned, wanted int) int {
	if wanted <= 0 {
		wanted = plan.DefaultBatch
	}
	if l.MemberBatch > 0 {
		return min(l.MemberBatch, wanted)
	}
	return wanted
}

// learn stores the properties of the target that a sequence detected, except with FallbackNone.
func (r *run) learn(ctx context.Context) error {
	t, o := r.target, r.outcome
	if t.Fallback == engine.FallbackNone {
		return nil
	}
	known, now := r.Knowledge.Learned(), r.Now()
	grown := 0
	if o.Batch == 0 && o.Class == engine.Done && o.Operation == engine.OpMembers && known.MemberBatch > 0 {
		grown = known.MemberBatch + max(known.MemberBatch/4, 1)
	}
	if len(o.Learned) == 0 && o.Batch == 0 && grown == 0 {
		return nil
	}
	return r.Knowledge.Note(ctx, func(l *engine.Learned) {
		for trait, holds := range o.Learned {
			delete(l.Probed, trait)
			if !holds {
				delete(l.Traits, trait)
				continue
			}
			if l.Traits == nil {
				l.Traits = map[engine.Trait]time.Time{}
			}
			l.Traits[trait] = now
		}
		switch limit := batch(engine.Learned{}, t.MemberBatch); {
		case o.Batch > 0:
			l.MemberBatch = o.Batch
		case grown >= limit:
			l.MemberBatch = 0
		case grown > 0:
			l.MemberBatch = grown
		}
	})
}
