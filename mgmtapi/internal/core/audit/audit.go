package audit

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Entry is what a writer tells of an event.
type Entry struct {
	Type Type
	// Targets are what was acted on, the most important one first.
	Targets []model.LogParty
	// Failure is why it failed; empty for a success.
	Failure string
	// Debug holds further details. It must not hold secrets.
	Debug map[string]string
	// Actor acted. Defaults to the caller of the request, and outside of requests to the service itself.
	Actor *model.LogParty
}

// maxText is the length of the longest text of an event that somebody outside has chosen, in bytes.
const maxText = 1000

// Write adds events to the log, in their order. They are there when the transaction of the change that they tell of commits,
// and never otherwise.
func Write(ctx context.Context, tx *docstore.Tx, d model.Deps, entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	request, transaction := origin(ctx)
	events := make([]docstore.New[model.LogEvent], 0, len(entries))
	for _, e := range entries {
		now := d.Now()
		event := model.LogEvent{
			ID: model.NewLogID(now), Published: now, Type: string(e.Type), Actor: actor(ctx, e),
			Result: model.LogSuccess, Targets: e.Targets, Transaction: transaction, Request: request, Debug: e.Debug,
		}
		if e.Failure != "" {
			event.Result, event.Reason = model.LogFailure, short(e.Failure)
		}
		events = append(events, docstore.New[model.LogEvent]{ID: event.ID, Value: event})
	}
	return d.LogEvents.InsertMany(ctx, tx, events)
}

// WriteAlone adds events in a transaction of their own, for what was refused: nothing else commits then. A log that cannot be
// written does not change the answer, so that the error goes to the logger.
func WriteAlone(ctx context.Context, d model.Deps, logger *slog.Logger, entries ...Entry) {
	ctx = context.WithoutCancel(ctx) // whoever was refused may have left already
	if err := d.Update(ctx, func(tx *docstore.Tx) error { return Write(ctx, tx, d, entries...) }); err != nil {
		logger.ErrorContext(ctx, "writing the system log failed", "event", entries[0].Type, "error", err)
	}
}

// Refused tells the log that the change of the entry was refused, when err says that it was asked for what cannot be, and returns err. That
// is not what the caller may not do, nor what is not there or not now. A log that cannot be written does not change that.
func Refused(ctx context.Context, d model.Deps, e Entry, err error) error {
	refused, ok := errors.AsType[*rest.Error](err)
	if !ok || refused.Code == rest.CodeForbidden {
		return err
	}
	switch refused.Status() {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotImplemented:
	default:
		return err
	}
	e.Failure = refused.Text()
	WriteAlone(ctx, d, slog.New(slog.DiscardHandler), e)
	return err
}

// origin is the request, nil for a job, and the id of what the events belong to.
func origin(ctx context.Context) (*model.LogRequest, string) {
	r := rest.RequestOf(ctx)
	if r.ID == "" {
		return nil, "job" + model.NewSecret(jobLength)
	}
	return &model.LogRequest{
		Path: short(harmlessPath(r.Path)), Query: short(harmless(r.Query)), IP: r.IP, UserAgent: short(r.UserAgent),
		TokenID: rest.Caller(ctx).TokenID,
	}, r.ID
}

// jobLength is how many random characters the id of a job has.
const jobLength = 22

func actor(ctx context.Context, e Entry) model.LogParty {
	if e.Actor != nil {
		return *e.Actor
	}
	return Caller(ctx)
}

// Caller is who sent the request, as a party; outside of requests it is the service itself.
func Caller(ctx context.Context) model.LogParty {
	caller := rest.Caller(ctx)
	switch {
	case caller.UserID != "":
		return model.LogParty{ID: caller.UserID, Type: TypeUser, AlternateID: caller.Login, DisplayName: caller.Name}
	case caller.ClientID != "":
		return model.LogParty{ID: caller.ClientID, Type: TypeClient, AlternateID: caller.ClientID, DisplayName: caller.Name}
	case rest.RequestID(ctx) != "":
		return model.LogParty{ID: unknown, Type: TypeUser, AlternateID: unknown}
	default:
		return model.LogParty{ID: "system", Type: TypeSystem, AlternateID: "system@" + service, DisplayName: "System"}
	}
}

const (
	unknown = "unknown"
	service = "svc"
)

// secretive are parts of the names of parameters whose values are nobody's business.
var secretive = []string{"token", "secret", "password", "passcode", "assertion", "answer", "code", "key"}

// sessions is where the paths of sessions begin, whose ids are secrets.
const sessions = "/api/v1/sessions/"

// pictures begins what opens a QR code, at the end of paths.
const pictures = "/qr/"

// harmlessPath is a path without the id of a session, and without what opens a QR code.
func harmlessPath(path string) string {
	if at := strings.LastIndex(path, pictures); at >= 0 {
		return path[:at+len(pictures)] + "redacted"
	}
	id, found := strings.CutPrefix(path, sessions)
	if !found {
		return path
	}
	id, rest, _ := strings.Cut(id, "/")
	if id == "me" {
		return path
	}
	return strings.TrimSuffix(sessions+"redacted/"+rest, "/")
}

// harmless is a query without the values of parameters that may be secret.
func harmless(query url.Values) string {
	query = maps.Clone(query)
	for name := range query {
		lower := strings.ToLower(name)
		if slices.ContainsFunc(secretive, func(part string) bool { return strings.Contains(lower, part) }) {
			query[name] = []string{"redacted"}
		}
	}
	return query.Encode()
}

func short(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return strings.ToValidUTF8(text, "")
}

// AsJob is a context whose entries belong to no request: what they tell of was due, whoever was just calling.
func AsJob(ctx context.Context) context.Context { return rest.Outside(ctx) }
