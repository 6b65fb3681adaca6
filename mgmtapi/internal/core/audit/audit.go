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

// Entry is a system log event as a slice supplies it.
type Entry struct {
	Type Type
	// Targets are the objects that the event concerns, the most important one first.
	Targets []model.LogParty
	// Failure is the cause of a failure, empty for a success.
	Failure string
	// Debug holds further details. It must not hold secrets.
	Debug map[string]string
	// Actor caused the event. Default: the caller of the request, or the service itself outside of requests.
	Actor *model.LogParty
}

// maxText is the maximum length of an externally supplied string in an event, in bytes.
const maxText = 1000

// Write adds events to the log, in their order. They are committed with the transaction of the change that they describe, or not at all.
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

// WriteAlone adds events in a separate transaction, for rejected requests: nothing else is committed. An error is logged and does not
// change the response.
func WriteAlone(ctx context.Context, d model.Deps, logger *slog.Logger, entries ...Entry) {
	ctx = context.WithoutCancel(ctx) // the client may have disconnected after the rejection
	if err := d.Update(ctx, func(tx *docstore.Tx) error { return Write(ctx, tx, d, entries...) }); err != nil {
		logger.ErrorContext(ctx, "writing the system log failed", "event", entries[0].Type, "error", err)
	}
}

// Refused logs the entry as a failure if err rejects an invalid change, and returns err. It does not log missing permissions, missing
// objects or temporary errors. It ignores errors of the log.
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

// origin returns the request, nil for a job, and the transaction id of the events.
func origin(ctx context.Context) (*model.LogRequest, string) {
	r := rest.RequestOf(ctx)
	if r.ID == "" {
		return nil, "job" + model.NewSecret(jobLength)
	}
	return &model.LogRequest{
		Path: short(redactPath(r.Path)), Query: short(redactQuery(r.Query)), IP: r.IP, UserAgent: short(r.UserAgent),
		TokenID: rest.Caller(ctx).TokenID,
	}, r.ID
}

// jobLength is the number of random characters in the id of a job.
const jobLength = 22

func actor(ctx context.Context, e Entry) model.LogParty {
	if e.Actor != nil {
		return *e.Actor
	}
	return Caller(ctx)
}

// Caller returns the caller of the request as an actor. Outside of requests, it returns the service itself.
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

// sensitiveParameters lists parts of the names of parameters whose values must not be logged.
var sensitiveParameters = []string{"token", "secret", "password", "passcode", "assertion", "answer", "code", "key"}

// sessionPath precedes the id of a session in a path. The id is a secret.
const sessionPath = "/api/v1/sessions/"

// qrCodePath precedes the token of a QR code at the end of a path. The token is a secret.
const qrCodePath = "/qr/"

// redactPath returns a path without the id of a session and without the token of a QR code.
func redactPath(path string) string {
	if at := strings.LastIndex(path, qrCodePath); at >= 0 {
		return path[:at+len(qrCodePath)] + "redacted"
	}
	id, found := strings.CutPrefix(path, sessionPath)
	if !found {
		return path
	}
	id, rest, _ := strings.Cut(id, "/")
	if id == "me" {
		return path
	}
	return strings.TrimSuffix(sessionPath+"redacted/"+rest, "/")
}

// redactQuery returns a query without the values of sensitive parameters.
func redactQuery(query url.Values) string {
	query = maps.Clone(query)
	for name := range query {
		lower := strings.ToLower(name)
		if slices.ContainsFunc(sensitiveParameters, func(part string) bool { return strings.Contains(lower, part) }) {
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

// AsJob returns a context whose events belong to no request, for scheduled work that runs during a request.
func AsJob(ctx context.Context) context.Context { return rest.Outside(ctx) }
