package model

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/scimwright/scimwright/internal/docstore"
)

// ImportSchedule says when imports of users begin by themselves. SCIM has no way to list what has changed, so that both kinds read all
// accounts.
type ImportSchedule struct {
	On          bool        `json:"on,omitempty"`
	Full        ImportTimes `json:"full,omitzero"`
	Incremental ImportTimes `json:"incremental,omitzero"`
}

// ImportTimes are points in time; none without an expression.
type ImportTimes struct {
	// Expression is a UNIX cron expression of five fields: minute, hour, day of the month, month, day of the week. Timezone is the IANA
	// name of the zone that it is meant in.
	Expression string `json:"expression,omitempty"`
	Timezone   string `json:"timezone,omitempty"`
}

// Next is the first time of the schedule behind an instant, zero when there is none.
func (s *ImportSchedule) Next(after time.Time) time.Time {
	var first time.Time
	if !s.On {
		return first
	}
	for _, times := range []ImportTimes{s.Full, s.Incremental} {
		if next := times.next(after); first.IsZero() || !next.IsZero() && next.Before(first) {
			first = next
		}
	}
	return first
}

func (t ImportTimes) next(after time.Time) time.Time {
	schedule, err := parseCron(t.Expression)
	zone, unknown := time.LoadLocation(t.Timezone)
	if err != nil || unknown != nil {
		return time.Time{}
	}
	return schedule.Next(after.In(zone))
}

// cronFields is how many fields an expression has.
const cronFields = 5

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func parseCron(expression string) (cron.Schedule, error) {
	// The parser would take a zone in front of the fields, too.
	if strings.Contains(expression, "=") || len(strings.Fields(expression)) != cronFields {
		return nil, fmt.Errorf("it has %d fields: minute, hour, day of the month, month, day of the week", cronFields)
	}
	schedule, err := cronParser.Parse(expression)
	if err == nil && schedule.Next(time.Unix(0, 0).UTC()).IsZero() {
		err = errors.New("there is no such day")
	}
	return schedule, err
}

// Problems say what is wrong with the expression and with the zone, "" for nothing.
func (t ImportTimes) Problems() (expression, timezone string) {
	if _, err := parseCron(t.Expression); err != nil {
		expression = "The value must be a UNIX cron expression: " + err.Error()
	}
	return expression, checkTimezone(t.Timezone)
}

// DueImport says when the next import of an application begins by its schedule. Its document id is the application id; it exists as
// long as the schedule has a next time.
type DueImport struct {
	Due time.Time `json:"due"`
	// At is when it is to be looked at: at Due, or later while somebody is at it.
	At time.Time `json:"at"`
	// Base is the public base of the API, for links in messages.
	Base string `json:"base,omitempty"`
}

// The indexes of the due imports.
const (
	DueImportByDue = "due"
	DueImportByAt  = "at"
)

func dueImportCollection() docstore.Collection[DueImport] {
	return docstore.NewCollection("due_imports",
		docstore.Index[DueImport]{Name: DueImportByDue, Kind: docstore.Int, Values: func(d *DueImport) []any { return []any{d.Due} }},
		docstore.Index[DueImport]{Name: DueImportByAt, Kind: docstore.Int, Values: func(d *DueImport) []any { return []any{d.At} }},
	)
}
