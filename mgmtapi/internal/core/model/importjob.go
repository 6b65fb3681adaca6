package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// ImportJob creates and updates users from the accounts that an import has found on the target of an application. Its document id is
// ImportJobID(application, run).
type ImportJob struct {
	App string `json:"app"`
	// Run is the id of the engine's import, which reads the list of accounts from the target. Users are created from the list after the
	// engine's import has finished.
	Run string `json:"run"`
	// Groups is true for an import of groups. It creates no users.
	Groups bool `json:"groups,omitempty"`
	// Base is the public base of the API, for links in messages.
	Base string `json:"base,omitempty"`
	// Open is true while accounts are left to process. After is the target's id of the last processed account.
	Open  bool   `json:"open,omitempty"`
	After string `json:"after,omitempty"`

	Matched  int `json:"matched,omitempty"`  // number of accounts that are linked to a user
	Created  int `json:"created,omitempty"`  // created users
	Updated  int `json:"updated,omitempty"`  // number of users whose profile changed
	Waiting  int `json:"waiting,omitempty"`  // number of accounts that wait for confirmation
	Inactive int `json:"inactive,omitempty"` // number of deactivated accounts, for which no user is created
	// Errors holds the first MaxImportErrors error texts. Failed is the number of accounts that could not be imported.
	Errors []string  `json:"errors,omitempty"`
	Failed int       `json:"failed,omitempty"`
	Ended  time.Time `json:"ended,omitzero"`

	// Worker is the process that processes the accounts, until the time Claimed. It is set only if several processes may share the database.
	Worker  string    `json:"worker,omitempty"`
	Claimed time.Time `json:"claimed,omitzero"`
}

// MaxImportErrors is the maximum number of stored errors per import. MaxImportError is the maximum length of one, in bytes: account names
// may have any length.
const (
	MaxImportErrors = 100
	MaxImportError  = 1000
)

// Fail counts an account that could not be imported.
func (j *ImportJob) Fail(text string) {
	j.Failed++
	j.Note(text)
}

// Note stores an error of an account that was imported anyway.
func (j *ImportJob) Note(text string) {
	if len(j.Errors) < MaxImportErrors {
		j.Errors = append(j.Errors, Shortened(text, MaxImportError))
	}
}

// ImportJobID returns the document id of a job.
func ImportJobID(app, run string) string { return docstore.JoinID(app, run) }

// The indexes of the jobs.
const (
	ImportJobByApp  = "app"  // index by the application
	ImportJobByOpen = "open" // index by the application, for jobs that are Open
)

func importJobCollection() docstore.Collection[ImportJob] {
	return docstore.NewCollection("import_jobs",
		docstore.Index[ImportJob]{Name: ImportJobByApp, Values: func(j *ImportJob) []any { return []any{j.App} }},
		docstore.Index[ImportJob]{Name: ImportJobByOpen, Values: func(j *ImportJob) []any {
			if !j.Open {
				return nil
			}
			return []any{j.App}
		}},
	)
}

// ImportAction is the action of an import for an account.
type ImportAction string

// The actions.
const (
	ImportCreate ImportAction = "CREATE_USER"
	ImportLink   ImportAction = "LINK_USER"
)

// ImportDecision is the decision of an inline hook about an account that waits for confirmation. Its document id is JoinID(application, the
// target's id of the account).
type ImportDecision struct {
	App         string         `json:"app"`
	Action      ImportAction   `json:"action"`
	User        string         `json:"user,omitempty"`
	AppProfile  map[string]any `json:"appProfile,omitempty"`
	UserProfile map[string]any `json:"userProfile,omitempty"`
}

// ImportDecisionByApp is the index of the decisions by application.
const ImportDecisionByApp = "app"

func importDecisionCollection() docstore.Collection[ImportDecision] {
	return docstore.NewCollection("import_decisions",
		docstore.Index[ImportDecision]{Name: ImportDecisionByApp, Values: func(d *ImportDecision) []any { return []any{d.App} }})
}
