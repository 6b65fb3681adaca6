package sqlstore

import (
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// steps are the steps of the schema. New ones are only appended. KEY and SERIAL are replaced by types of the dialect, names in braces by
// table names. The first step creates the tables that legacySteps result in, with the columns in the order in which legacySteps added them.
var steps = []string{`
CREATE TABLE {app_lane} (
	app_id      KEY PRIMARY KEY,
	epoch       BIGINT NOT NULL,
	owner       KEY NOT NULL,                   -- empty if there is no lease
	lease_until BIGINT NOT NULL,
	next_at     BIGINT,                         -- when the lane is to be claimed, NULL for never
	kicks       BIGINT NOT NULL,                -- grows with every request to end the hold
	hold        TEXT NOT NULL,
	hold_until  BIGINT NOT NULL,
	hold_reason TEXT NOT NULL,
	hold_streak BIGINT NOT NULL,
	learned     TEXT NOT NULL DEFAULT '',       -- JSON, about the target
	marks       BIGINT NOT NULL DEFAULT 0,      -- grows with every mark of a principal
	profile     TEXT NOT NULL DEFAULT '',       -- JSON, the result of a probe; empty if unset
	success_at  BIGINT NOT NULL DEFAULT 0,      -- the last success of a sequence
	event_seq   BIGINT NOT NULL DEFAULT 0,      -- of the app's last lifecycle event
	rest        TEXT NOT NULL DEFAULT ''        -- JSON, why nothing is sent; empty if unset
);
CREATE INDEX {.app_lane_due} ON {app_lane} (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE {sync_state} (
	app_id           KEY NOT NULL,
	kind             KEY NOT NULL,
	principal_id     KEY NOT NULL,
	desired_gen      BIGINT NOT NULL,
	synced_gen       BIGINT NOT NULL,
	full_gen         BIGINT NOT NULL,           -- groups: the whole membership is due when greater than synced_gen
	status           KEY NOT NULL,
	want             TEXT NOT NULL,             -- empty before the first sequence
	tried            BIGINT NOT NULL,           -- 1: an account may exist although remote_id is empty
	anew             BIGINT NOT NULL,           -- 1: desired again after a deactivation, and no sequence has succeeded since
	next_at          BIGINT,                    -- when the principal is due, NULL for not before the next mark
	attempts         BIGINT NOT NULL,
	remote_id        KEY NOT NULL,
	remote_name      TEXT NOT NULL,
	link_origin      TEXT NOT NULL,
	last_op          TEXT NOT NULL,
	last_http        BIGINT NOT NULL,
	last_error       TEXT NOT NULL,
	updated_at       BIGINT NOT NULL,
	unkept           TEXT NOT NULL DEFAULT '',  -- JSON, by attribute path; empty if unset
	halted           BIGINT NOT NULL DEFAULT 0, -- 1: held, because last_op is halted
	password_version TEXT NOT NULL DEFAULT '',  -- that the account is known to have
	dirty_since      BIGINT NOT NULL DEFAULT 0, -- the first mark that is not synchronized, 0 if there is none
	overdue_at       BIGINT NOT NULL DEFAULT 0, -- when an overdue deactivation was reported, 0 if it was not
	fresh_gen        BIGINT NOT NULL DEFAULT 0, -- what earlier sequences report about unkept attributes is dropped
	manager_id       KEY NOT NULL DEFAULT '',   -- users: the principal that is the manager
	waiting_on       TEXT NOT NULL DEFAULT '',  -- JSON, principals; empty if unset
	former_id        KEY NOT NULL DEFAULT '',   -- remote_id before the present one
	told             TEXT NOT NULL DEFAULT '',  -- the failure that an event has reported; empty if unset
	pending          TEXT NOT NULL DEFAULT '',  -- JSON, a change that the target has accepted; empty if unset
	PRIMARY KEY (app_id, kind, principal_id)
);
CREATE INDEX {.sync_state_remote} ON {sync_state} (app_id, kind, remote_id) WHERE remote_id <> '';
CREATE INDEX {.sync_state_due_known} ON {sync_state} (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'user' AND remote_id <> '';
CREATE INDEX {.sync_state_due_new} ON {sync_state} (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'user' AND remote_id = '';
CREATE INDEX {.sync_state_due_group} ON {sync_state} (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'group';
CREATE INDEX {.sync_state_leaving} ON {sync_state} (app_id, want) WHERE next_at IS NOT NULL AND want IN ('inactive', 'absent');
CREATE INDEX {.sync_state_held} ON {sync_state} (app_id, last_op) WHERE status = 'held';
CREATE INDEX {.sync_state_since} ON {sync_state} (app_id, dirty_since) WHERE dirty_since > 0;
CREATE INDEX {.sync_state_late} ON {sync_state} (app_id, dirty_since, principal_id)
	WHERE kind = 'user' AND dirty_since > 0 AND overdue_at = 0 AND (remote_id <> '' OR tried = 1);
CREATE INDEX {.sync_state_manager} ON {sync_state} (app_id, manager_id) WHERE manager_id <> '';
CREATE INDEX {.sync_state_former} ON {sync_state} (app_id, kind, former_id) WHERE former_id <> '';
CREATE INDEX {.sync_state_task} ON {sync_state} (app_id, kind, principal_id, status) ` +
	`WHERE status IN ('retrying', 'failed', 'held', 'pending');
CREATE INDEX {.sync_state_pending} ON {sync_state} (app_id, next_at) WHERE next_at IS NOT NULL AND status = 'pending';

CREATE TABLE {member_state} (
	app_id       KEY NOT NULL,
	group_id     KEY NOT NULL,
	principal_id KEY NOT NULL,
	want         BIGINT NOT NULL,               -- 1: belongs to the group
	pushed       BIGINT NOT NULL,               -- 1: is in the target's group
	pushed_id    TEXT NOT NULL,                 -- as this
	asked        BIGINT NOT NULL,               -- marks since the last query of the directory
	walk         BIGINT NOT NULL,               -- the last walk through the whole group that saw the user
	PRIMARY KEY (app_id, group_id, principal_id)
);
CREATE INDEX {.member_state_user} ON {member_state} (app_id, principal_id);
CREATE INDEX {.member_state_pending} ON {member_state} (app_id, group_id, principal_id) WHERE want <> pushed;
CREATE INDEX {.member_state_asked} ON {member_state} (app_id, group_id, principal_id) WHERE asked > 0;

CREATE TABLE {sync_attempt} (
	id              SERIAL,
	app_id          KEY NOT NULL,
	kind            KEY NOT NULL,
	principal_id    KEY NOT NULL,
	gen             BIGINT NOT NULL,
	run_id          TEXT NOT NULL,
	at              BIGINT NOT NULL,
	method          TEXT NOT NULL,
	url             TEXT NOT NULL,
	request_header  TEXT NOT NULL,              -- JSON
	request_body    TEXT NOT NULL,
	http            BIGINT NOT NULL,
	response_header TEXT NOT NULL,              -- JSON
	response_body   TEXT NOT NULL,
	ms              BIGINT NOT NULL,
	error           TEXT NOT NULL
);
CREATE INDEX {.sync_attempt_principal} ON {sync_attempt} (app_id, kind, principal_id, id);

CREATE TABLE {removal} (
	app_id       KEY NOT NULL,
	kind         KEY NOT NULL,
	principal_id KEY NOT NULL,
	at           BIGINT NOT NULL,               -- when the guard allowed it
	approved     BIGINT NOT NULL,               -- 1: by an administrator, so that it does not count
	PRIMARY KEY (app_id, kind, principal_id)
);
CREATE INDEX {.removal_at} ON {removal} (app_id, at);

CREATE TABLE {halt} (
	app_id KEY NOT NULL,                        -- empty for all apps
	op     KEY NOT NULL,
	reason TEXT NOT NULL,
	since  BIGINT NOT NULL,
	PRIMARY KEY (app_id, op)
);

CREATE TABLE {import_run} (
	id          SERIAL,
	app_id      KEY NOT NULL,
	kind        KEY NOT NULL,
	request     TEXT NOT NULL,                  -- JSON
	state       KEY NOT NULL,
	seen        BIGINT NOT NULL,                -- objects that were read
	total       BIGINT NOT NULL,                -- that the target reports
	read_all    BIGINT NOT NULL,                -- 1: the whole list was read
	known       BIGINT NOT NULL,                -- objects of earlier runs that were not gone at the beginning
	lost        BIGINT NOT NULL,                -- principals whose account is not listed
	attempts    BIGINT NOT NULL,
	error       TEXT NOT NULL,
	counts      TEXT NOT NULL,                  -- JSON, by verdict, at the end of the run
	begun       BIGINT NOT NULL,
	ended       BIGINT NOT NULL,
	epoch       BIGINT NOT NULL,
	owner       KEY NOT NULL,                   -- empty if there is no lease
	lease_until BIGINT NOT NULL,
	next_at     BIGINT NOT NULL                 -- when a running one is to be claimed
);
CREATE UNIQUE INDEX {.import_run_running} ON {import_run} (app_id, kind) WHERE state = 'running';
CREATE INDEX {.import_run_app} ON {import_run} (app_id, kind, id);

CREATE TABLE {remote_object} (
	app_id       KEY NOT NULL,
	kind         KEY NOT NULL,
	remote_id    KEY NOT NULL,
	user_name    TEXT NOT NULL,
	external_id  TEXT NOT NULL,
	email        TEXT NOT NULL,
	display_name TEXT NOT NULL,
	active       BIGINT NOT NULL,
	hash         TEXT NOT NULL,
	run_id       BIGINT NOT NULL,               -- that saw it last
	verdict      KEY NOT NULL,
	rule         TEXT NOT NULL,
	principal_id KEY NOT NULL,                  -- when linked or matched
	candidates   TEXT NOT NULL,                 -- JSON, empty if unset
	note         TEXT NOT NULL,
	resource     TEXT NOT NULL DEFAULT '',      -- JSON, the whole object; empty if it was not kept
	PRIMARY KEY (app_id, kind, remote_id)
);
CREATE INDEX {.remote_object_verdict} ON {remote_object} (app_id, kind, verdict, remote_id);

CREATE TABLE {plan} (
	id         KEY PRIMARY KEY,
	app_id     KEY NOT NULL,
	status     KEY NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	doc        TEXT NOT NULL                    -- JSON, the rest
);
CREATE INDEX {.plan_app} ON {plan} (app_id, created_at);

CREATE TABLE {plan_item} (
	plan_id      KEY NOT NULL,
	seq          BIGINT NOT NULL,
	kind         KEY NOT NULL,
	principal_id KEY NOT NULL,
	operation    KEY NOT NULL,
	outcome      KEY NOT NULL,
	generation   BIGINT NOT NULL,               -- desired at the time
	digest       TEXT NOT NULL,                 -- of the desired state
	marked       BIGINT NOT NULL,               -- 1: applied
	doc          TEXT NOT NULL,                 -- JSON, the details
	PRIMARY KEY (plan_id, seq)
);

CREATE TABLE {lifecycle_event} (
	app_id       KEY NOT NULL,
	seq          BIGINT NOT NULL,               -- ascending without gaps
	at           BIGINT NOT NULL,
	type         TEXT NOT NULL,
	kind         TEXT NOT NULL,                 -- empty for events of the app
	principal_id TEXT NOT NULL,
	data         TEXT NOT NULL,                 -- JSON
	PRIMARY KEY (app_id, seq)
);
`, `
CREATE TABLE {process} (
	id          KEY PRIMARY KEY,
	name        TEXT NOT NULL,
	lease       BIGINT NOT NULL,                -- milliseconds without a heartbeat after which the process is dead
	started_at  BIGINT NOT NULL,                -- by the clock of the database, as seen_at and valid_until
	seen_at     BIGINT NOT NULL,                -- the last heartbeat
	valid_until BIGINT NOT NULL,                -- 0 if the database belongs to one process
	lanes       BIGINT NOT NULL,                -- mean number of running lanes before the last heartbeat, in thousandths
	in_flight   BIGINT NOT NULL,                -- principals that were being processed at the last heartbeat
	takeovers   BIGINT NOT NULL,                -- lanes that the process has taken from dead ones
	rechecks    BIGINT NOT NULL                 -- principals that the process has requeued because they were in flight
);

CREATE TABLE {in_flight} (
	app_id     KEY NOT NULL,
	epoch      BIGINT NOT NULL,                 -- of the lane when the note was written
	principals TEXT NOT NULL,                   -- JSON
	recheck_at BIGINT,                          -- when the principals are requeued, NULL while the process is alive
	PRIMARY KEY (app_id, epoch)
);

ALTER TABLE {app_lane} ADD COLUMN process KEY NOT NULL DEFAULT '';
UPDATE {app_lane} SET lease_until = ` + noLease + ` WHERE owner = '';
UPDATE {import_run} SET lease_until = ` + noLease + ` WHERE owner = '';
DROP INDEX {app_lane_due};
CREATE INDEX {.app_lane_claim} ON {app_lane} (next_at) WHERE process = '' AND next_at IS NOT NULL;
CREATE INDEX {.app_lane_process} ON {app_lane} (process) WHERE process <> '';
`, sqliteStep + `
CREATE TABLE {job} (
	id      SERIAL,
	kind    KEY NOT NULL,
	job_key KEY NOT NULL,
	state   KEY NOT NULL,
	attempt BIGINT NOT NULL,
	at      BIGINT NOT NULL,                    -- start of the running or the next attempt, or end of the job
	error   TEXT NOT NULL                       -- of the last attempt that failed
);
CREATE UNIQUE INDEX {.job_unfinished} ON {job} (kind, job_key) WHERE state IN ('waiting', 'running');
CREATE INDEX {.job_due} ON {job} (at) WHERE state = 'waiting';
CREATE INDEX {.job_ended} ON {job} (at) WHERE state IN ('finished', 'failed');
`, `
CREATE TABLE {mark_trace} (
	app_id       KEY NOT NULL,
	kind         KEY NOT NULL,
	principal_id KEY NOT NULL,
	contexts     TEXT NOT NULL,                 -- trace contexts of the marks, oldest first, separated by spaces
	PRIMARY KEY (app_id, kind, principal_id)
);
`, `
ALTER TABLE {app_lane} ADD COLUMN tenant KEY NOT NULL DEFAULT '';
CREATE INDEX {.app_lane_tenant} ON {app_lane} (tenant, next_at) WHERE process = '' AND next_at IS NOT NULL AND lease_until >= 0;
`, `
ALTER TABLE {process} ADD COLUMN retired BIGINT NOT NULL DEFAULT 0; -- 1: it claims no more lanes and releases those that it has
CREATE INDEX {.process_retired} ON {process} (id) WHERE retired = 1;
`}

// noLease is the value of lease_until of a lane or import without a lease of an earlier version. Those versions had leases with an owner
// and an end; lease_until and owner have no other meaning in this version. With this value an engine of an earlier version that still runs
// claims nothing.
const noLease = "9223372036854775807"

// unleased selects lanes that no process has. A lease of an earlier version lasts until its end. Parameter: the current time.
const unleased = `process = '' AND (lease_until = ` + noLease + ` OR lease_until <= ?)`

// sqliteStep is the first line of a step that only SQLite needs. On PostgreSQL the step is recorded and not applied.
const sqliteStep = "-- SQLite\n"

// withTypes replaces the types in a step by those of the dialect. It returns an empty string for a step of another dialect.
func withTypes(step string, d sqldb.Dialect) string {
	if strings.HasPrefix(step, sqliteStep) && d != sqldb.SQLite {
		return ""
	}
	return strings.NewReplacer("PRIMARY KEY", "PRIMARY KEY", " KEY", " "+d.TextType(), " SERIAL", " "+d.SerialKey()).Replace(step)
}
