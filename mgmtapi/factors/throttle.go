package factors

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// limit is how often something may happen within a time. The time begins with the first one.
type limit struct {
	what   string
	count  int
	within time.Duration
	code   rest.Code
}

// The limits.
var (
	wrongCodes  = limit{what: "wrong", count: 5, within: 5 * time.Minute, code: rest.CodeRateLimit}
	textsToOne  = limit{what: "sms", count: 1, within: 30 * time.Second, code: rest.CodeSMSTooSoon}
	callsToOne  = limit{what: "call", count: 1, within: 30 * time.Second, code: rest.CodeRateLimit}
	emailsToOne = limit{what: "email", count: 1, within: 5 * time.Second, code: rest.CodeEmailTooSoon}
)

// patience refuses whoever has given too many wrong codes for the user, whatever comes now.
func (a *act) patience(ctx context.Context) error {
	if !a.kind.Guessable {
		return nil
	}
	_, err := a.room(ctx, wrongCodes, a.user.ID)
	return err
}

// count counts a wrong code.
func (a *act) count(ctx context.Context) error { return a.take(ctx, wrongCodes, a.user.ID) }

// room returns the window of a subject, nil when none is open, and refuses when it is full.
func (a *act) room(ctx context.Context, l limit, subject string) (*docstore.Doc[model.FactorWindow], error) {
	doc, err := model.Optional(ctx, a.tx, a.FactorWindows, model.FactorWindowID(l.what, subject))
	if err != nil || doc == nil {
		return nil, err
	}
	if a.now.Before(doc.Value.Ends) && doc.Value.Count >= l.count {
		refused := rest.Fail(l.code)
		refused.Header = http.Header{}
		refused.Header.Set(rest.HeaderRateLimit, strconv.Itoa(l.count))
		refused.Header.Set(rest.HeaderRateRemaining, "0")
		refused.Header.Set(rest.HeaderRateReset, strconv.FormatInt(doc.Value.Ends.Add(time.Second-1).Unix(), 10))
		return nil, refused
	}
	return doc, nil
}

// take counts one more, or refuses it.
func (a *act) take(ctx context.Context, l limit, subject string) error {
	doc, err := a.room(ctx, l, subject)
	if err != nil {
		return err
	}
	if doc != nil {
		next := doc.Value
		next.Count++
		if !a.now.Before(next.Ends) {
			next = model.FactorWindow{Count: 1, Ends: a.now.Add(l.within)}
		}
		_, err = a.FactorWindows.Update(ctx, a.tx, doc.ID, doc.Rev, next)
		return err
	}
	// Whoever opens a window clears away those that are over.
	if _, err := a.FactorWindows.DeleteWhere(ctx, a.tx, docstore.Le(model.FactorWindowByEnd, a.now)); err != nil {
		return err
	}
	next := model.FactorWindow{Count: 1, Ends: a.now.Add(l.within)}
	_, err = a.FactorWindows.Insert(ctx, a.tx, model.FactorWindowID(l.what, subject), next)
	return err
}
