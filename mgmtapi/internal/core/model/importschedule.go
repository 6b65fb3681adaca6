package model

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/scimwright/scimwright/internal/docstore"
)

// ImportSchedule determines when imports of users start automatically. SCIM has no way to list the changed accounts, so that full and
// incremental imports both read all accounts.
type ImportSchedule struct {
	On          bool        `json:"on,omitempty"`
	Full        ImportTimes `json:"full,omitzero"`
	Incremental ImportTimes `json:"incremental,omitzero"`
}

// ImportTimes is a schedule. It is empty without an expression.
type ImportTimes struct {
	// Expression is a UNIX cron expression of five fields: minute, hour, day of the month, month, day of the week. Timezone is the IANA name
	// of its time zone.
	Expression string `json:"expression,omitempty"`
	Timezone   string `json:"timezone,omitempty"`
}

// Next returns the first time of the schedule after the given time, or the zero time if the schedule has no later time.
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

// cronFields is the number of fields of an expression.
const cronFields = 5

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func parseCron(expression string) (cron.Schedule, error) {
	// The parser would also accept a time zone before the fields.
	if strings.Contains(expression, "=") || len(strings.Fields(expression)) != cronFields {
		return nil, fmt.Errorf("it has %d fields: minute, hour, day of the month, month, day of the week", cronFields)
	}
	schedule, err := cronParser.Parse(expression)
	if err == nil && schedule.Next(time.Unix(0, 0).UTC()).IsZero() {
		err = errors.New("there is no such day")
	}
	return schedule, err
}

// Problems returns why the expression and the time zone are invalid, "" if they are valid.
func (t ImportTimes) Problems() (expression, timezone string) {
	if _, err := parseCron(t.Expression); err != nil {
		expression = "The value must be a UNIX cron expression: " + err.Error()
	}
	return expression, checkTimezone(t.Timezone)
}

// DueImport is the time of the next scheduled import of an application. Its document id is the application id. It exists while the schedule
// has a next time.
type DueImport struct {
	Due time.Time `json:"due"`
	// At is the time at which a worker next processes the import: Due, or later while a worker is processing it.
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
