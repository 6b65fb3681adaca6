package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// ImportJob makes users of the accounts that an import has found at the target of an application. Its document id is
// ImportJobID(application, run).
type ImportJob struct {
	App string `json:"app"`
	// Run is the engine's import, which reads the list of the target and is over before anything is made of it.
	Run string `json:"run"`
	// Groups says that groups are read, of which nothing is made.
	Groups bool `json:"groups,omitempty"`
	// Base is the public base of the API, for links in messages.
	Base string `json:"base,omitempty"`
	// Open says that there is work left. After is the id at the target of the last account that was dealt with.
	Open  bool   `json:"open,omitempty"`
	After string `json:"after,omitempty"`

	Matched  int `json:"matched,omitempty"`  // accounts that belong to a user by now
	Created  int `json:"created,omitempty"`  // users that were made
	Updated  int `json:"updated,omitempty"`  // users whose profile has changed
	Waiting  int `json:"waiting,omitempty"`  // accounts that wait for consent
	Inactive int `json:"inactive,omitempty"` // accounts that are deactivated, and of which nothing was made
	// Errors are the first MaxImportErrors texts of what went wrong, Failed is how many accounts could not be imported.
	Errors []string  `json:"errors,omitempty"`
	Failed int       `json:"failed,omitempty"`
	Ended  time.Time `json:"ended,omitzero"`
}

// MaxImportErrors is how many errors of an import are kept, MaxImportError how long one is, in bytes: accounts may have names of any
// length.
const (
	MaxImportErrors = 100
	MaxImportError  = 1000
)

// Fail counts an account that could not be imported.
func (j *ImportJob) Fail(text string) {
	j.Failed++
	j.Note(text)
}

// Note keeps what went wrong with an account that was imported all the same.
func (j *ImportJob) Note(text string) {
	if len(j.Errors) < MaxImportErrors {
		j.Errors = append(j.Errors, Shortened(text, MaxImportError))
	}
}

// ImportJobID is the document id of a job.
func ImportJobID(app, run string) string { return docstore.JoinID(app, run) }

// The indexes of the jobs.
const (
	ImportJobByApp  = "app"  // the application
	ImportJobByOpen = "open" // the application, where Open
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

// ImportAction is what is made of an account.
type ImportAction string

// The actions.
const (
	ImportCreate ImportAction = "CREATE_USER"
	ImportLink   ImportAction = "LINK_USER"
)

// ImportDecision is what an inline hook has decided about an account that waits for consent. Its document id is
// JoinID(application, id at the target).
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
