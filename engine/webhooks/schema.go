package webhooks

// steps are the steps of the schema. New ones are only appended. KEY is replaced by the type of the dialect, names in braces by table
// names. Times are milliseconds since 1970, 0 for none.
var steps = []string{`
CREATE TABLE {webhook_endpoint} (
	endpoint_id   KEY PRIMARY KEY,
	scope         KEY NOT NULL,             -- an app, or the beginning of the ids of apps
	exact         BIGINT NOT NULL,          -- 1: scope is an app
	url           TEXT NOT NULL,
	types         TEXT NOT NULL,            -- JSON
	secrets       TEXT NOT NULL,            -- encrypted JSON
	description   TEXT NOT NULL,
	version       BIGINT NOT NULL,          -- number of changes by callers
	disabled      BIGINT NOT NULL,
	reason        TEXT NOT NULL,            -- why the endpoint is disabled
	failures      BIGINT NOT NULL,          -- failed messages since the last success
	failing_since BIGINT NOT NULL,
	hold_until    BIGINT NOT NULL,
	last_error    TEXT NOT NULL,
	delivered_at  BIGINT NOT NULL,
	dropped       BIGINT NOT NULL,          -- dead letters removed because of their number
	owner         KEY NOT NULL,             -- the process that delivers
	epoch         BIGINT NOT NULL,          -- increases with each owner
	lease_until   BIGINT NOT NULL,          -- by the clock of the database
	created_at    BIGINT NOT NULL,
	changed_at    BIGINT NOT NULL
);
CREATE INDEX {.webhook_endpoint_scope} ON {webhook_endpoint} (scope);
CREATE INDEX {.webhook_endpoint_owner} ON {webhook_endpoint} (owner);

CREATE TABLE {webhook_cursor} (             -- the last event that is delivered, or has a letter
	endpoint_id KEY NOT NULL,
	app_id      KEY NOT NULL,
	seq         BIGINT NOT NULL,
	at          BIGINT NOT NULL,            -- time of the event, 0 if unknown
	PRIMARY KEY (endpoint_id, app_id)
);

CREATE TABLE {webhook_letter} (             -- undelivered messages before the cursor
	endpoint_id  KEY NOT NULL,
	app_id       KEY NOT NULL,
	seq          BIGINT NOT NULL,
	kind         KEY NOT NULL,
	principal_id KEY NOT NULL,
	type         KEY NOT NULL,
	message_id   KEY NOT NULL,
	body         TEXT NOT NULL,
	dead         BIGINT NOT NULL,           -- 1: not retried
	attempts     BIGINT NOT NULL,
	next_at      BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	failed_at    BIGINT NOT NULL,           -- last failed attempt
	status       BIGINT NOT NULL,           -- of the last response, 0 for none
	error        TEXT NOT NULL,
	PRIMARY KEY (endpoint_id, dead, app_id, seq, message_id)
);
CREATE INDEX {.webhook_letter_failed} ON {webhook_letter} (dead, failed_at);
`}
