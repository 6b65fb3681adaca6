package factors

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// limit is a rate limit: at most count events in any period of length within.
type limit struct {
	what   string // prefix of the ids of the counters
	named  string // name of the limit in log events
	count  int
	within time.Duration
	code   rest.Code
}

// The rate limits.
var (
	wrongCodes  = limit{what: "wrong", named: "wrong codes and answers of a user", count: 5, within: 5 * time.Minute, code: rest.CodeRateLimit}
	textsToOne  = limit{what: "sms", named: "text messages to a number", count: 1, within: 30 * time.Second, code: rest.CodeSMSTooSoon}
	callsToOne  = limit{what: "call", named: "calls to a number", count: 1, within: 30 * time.Second, code: rest.CodeRateLimit}
	pushesToOne = limit{what: "push", named: "verifications of a push factor", count: 20, within: pushAnswerLife, code: rest.CodeRateLimit}
	emailsToOne = limit{what: "email", named: "emails to an address", count: 1, within: 5 * time.Second, code: rest.CodeEmailTooSoon}
)

// checkAttemptLimit rejects every attempt once the limit of wrong codes for the user is reached.
func (a *act) checkAttemptLimit(ctx context.Context, q docstore.Reader) error {
	if !a.kind.Guessable {
		return nil
	}
	_, err := a.checkLimit(ctx, q, wrongCodes, a.user.ID)
	return err
}

// count counts a wrong code.
func (a *act) count(ctx context.Context) error { return a.countEvent(ctx, wrongCodes, a.user.ID) }

// checkLimit returns the counter of a subject, nil if it has none, and an error if the limit is reached.
func (a *act) checkLimit(ctx context.Context, q docstore.Reader, l limit, subject string) (*docstore.Doc[model.FactorWindow], error) {
	doc, err := model.Optional(ctx, q, a.FactorWindows, model.FactorWindowID(l.what, subject))
	if err != nil || doc == nil {
		return nil, err
	}
	times := &doc.Value.Times
	*times = slices.DeleteFunc(*times, func(t time.Time) bool { return !a.now.Before(t.Add(l.within)) })
	if len(*times) < l.count {
		return doc, nil
	}
	a.exceeded = &l
	refused := rest.Fail(l.code)
	refused.Header = http.Header{}
	refused.Header.Set(rest.HeaderRateLimit, strconv.Itoa(l.count))
	refused.Header.Set(rest.HeaderRateRemaining, "0")
	refused.Header.Set(rest.HeaderRateReset, strconv.FormatInt((*times)[0].Add(l.within+time.Second-1).Unix(), 10))
	return nil, refused
}

// countEvent counts an event, or returns an error if the limit is reached.
func (a *act) countEvent(ctx context.Context, l limit, subject string) error {
	doc, err := a.checkLimit(ctx, a.tx, l, subject)
	if err != nil {
		return err
	}
	next := model.FactorWindow{Times: []time.Time{a.now}, Ends: a.now.Add(l.within)}
	if doc != nil {
		next.Times = append(doc.Value.Times, a.now)
		_, err = a.FactorWindows.Update(ctx, a.tx, doc.ID, doc.Rev, next)
		return err
	}
	// Each new counter also deletes the expired ones.
	if _, err := a.FactorWindows.DeleteWhere(ctx, a.tx, docstore.Le(model.FactorWindowByEnd, a.now)); err != nil {
		return err
	}
	_, err = a.FactorWindows.Insert(ctx, a.tx, model.FactorWindowID(l.what, subject), next)
	return err
}

// logExceeded logs that a limit was exceeded. It uses a separate transaction because the transaction of the operation is rolled back.
func (a *act) logExceeded(ctx context.Context) {
	if a.exceeded == nil {
		return
	}
	l := *a.exceeded
	targets := []model.LogParty{audit.User(a.user)}
	if a.rev != 0 {
		targets = append(targets, audit.Factor(a.id, &a.factor))
	}
	audit.WriteAlone(ctx, a.Deps, a.logger, audit.Entry{
		Type: audit.RateLimit, Failure: fmt.Sprintf("The limit of %d %s in %s was exceeded", l.count, l.named, formatDuration(l.within)),
		Targets: targets,
		Actor:   a.actor(ctx),
		Debug:   map[string]string{"limit": strconv.Itoa(l.count), "bucket": "factors." + l.what},
	})
}
