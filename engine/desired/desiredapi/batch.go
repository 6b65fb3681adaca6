package desiredapi

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) batchRoutes() []rest.Route {
	return []rest.Route{
		row(a, "Batches", "writeBatch", "POST /apps/{app}/batch", "Write many changes of an app, one in each line", a.writeBatch),
	}
}

type batchRequest struct {
	appPath
	Snapshot int64       `query:"snapshot" min:"1" doc:"number of the snapshot that the lines belong to"`
	Body     rest.Stream `body:"required" doc:"JSON objects, one in each line; the member op is the operation"`
}

// Report is the result of a batch.
type Report struct {
	Lines       int         `json:"lines" readOnly:"true" doc:"number of lines"`
	Applied     int         `json:"applied" readOnly:"true" doc:"number of lines that changed an object"`
	Unchanged   int         `json:"unchanged" readOnly:"true" doc:"number of lines whose content was stored already"`
	Stale       int         `json:"stale" readOnly:"true" doc:"number of lines with an older version than the stored one"`
	Failed      int         `json:"failed" readOnly:"true" doc:"number of lines that were rejected for another reason"`
	StaleLines  []LineError `json:"staleLines" readOnly:"true" doc:"the first 100 stale lines"`
	FailedLines []LineError `json:"failedLines" readOnly:"true" doc:"the first 100 failed lines"`
}

// LineError is a line that was not applied.
type LineError struct {
	Line    int    `json:"line" readOnly:"true" doc:"number of the line, from 1"`
	ID      string `json:"id,omitempty" readOnly:"true" doc:"id in the line"`
	Reason  string `json:"reason" readOnly:"true" enum:"stale,content,gap,invalid,secret" doc:"kind of the error"`
	Current int64  `json:"current,omitempty" readOnly:"true" doc:"the stored version, if the reason is stale, content or gap"`
	Member  string `json:"member,omitempty" readOnly:"true" doc:"the invalid member, if the reason is invalid"`
	Error   string `json:"error" readOnly:"true" doc:"the error in words"`
}

func (a *api) writeBatch(ctx context.Context, r *batchRequest) (Report, error) {
	report, err := a.s.Batch(ctx, r.App, r.Body, desired.BatchOptions{Snapshot: r.Snapshot})
	if err != nil {
		return Report{}, rejected(err, r.App, "", "")
	}
	if report.Lines == 0 {
		return Report{}, rest.Failf(rest.CodeBody, "The request body has no lines.")
	}
	return Report{
		Lines: report.Lines, Applied: report.Applied, Unchanged: report.Unchanged, Stale: report.Stale, Failed: report.Failed,
		StaleLines: lineErrors(report.StaleLines), FailedLines: lineErrors(report.FailedLines),
	}, nil
}

func lineErrors(lines []desired.LineError) []LineError {
	out := make([]LineError, 0, len(lines))
	for _, l := range lines {
		e := LineError{Line: l.Line, ID: l.ID, Reason: "secret", Error: l.Err.Error()}
		if stale, ok := errors.AsType[*desired.StaleError](l.Err); ok {
			e.Reason, e.Current = "stale", stale.Current
		} else if content, ok := errors.AsType[*desired.ContentError](l.Err); ok {
			e.Reason, e.Current = "content", content.Version
		} else if gap, ok := errors.AsType[*desired.GapError](l.Err); ok {
			e.Reason, e.Current = "gap", gap.Current
		} else if input, ok := errors.AsType[*desired.InputError](l.Err); ok {
			e.Reason, e.Member, e.Error = "invalid", input.Member, input.Problem
		}
		out = append(out, e)
	}
	return out
}
