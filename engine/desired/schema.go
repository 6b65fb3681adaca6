package desired

// steps are the steps of the schema. New ones are only appended. KEY is replaced by the type of the dialect, names in braces by table
// names.
var steps = []string{`
CREATE TABLE {desired_app} (
	app_id     KEY PRIMARY KEY,
	version    BIGINT NOT NULL,
	deleted    BIGINT NOT NULL,
	doc        TEXT NOT NULL,              -- JSON without secrets
	secrets    TEXT NOT NULL,              -- encrypted, empty if there are none
	matched    BIGINT NOT NULL,            -- version whose mapping the columns of desired_principal result from
	matched_to KEY NOT NULL,               -- id of the last user whose columns result from version
	changed_at BIGINT NOT NULL
);

CREATE TABLE {desired_principal} (
	app_id       KEY NOT NULL,
	kind         KEY NOT NULL,
	principal_id KEY NOT NULL,
	version      BIGINT NOT NULL,
	want         KEY NOT NULL,
	doc          TEXT NOT NULL,            -- JSON without the password
	password     TEXT NOT NULL,            -- encrypted, empty if there is none
	seen         BIGINT NOT NULL,          -- the last snapshot that contains the principal
	name         KEY NOT NULL,             -- userName or displayName in lower case
	external_id  KEY NOT NULL,             -- empty if it equals principal_id
	email        KEY NOT NULL,             -- the first address in lower case that differs from name
	changed_at   BIGINT NOT NULL,
	PRIMARY KEY (app_id, kind, principal_id)
);
CREATE INDEX {.desired_principal_name} ON {desired_principal} (app_id, kind, name) WHERE name <> '';
CREATE INDEX {.desired_principal_external} ON {desired_principal} (app_id, kind, external_id) WHERE external_id <> '';
CREATE INDEX {.desired_principal_email} ON {desired_principal} (app_id, kind, email) WHERE email <> '';

CREATE TABLE {desired_alias} (             -- further addresses of users
	app_id       KEY NOT NULL,
	principal_id KEY NOT NULL,
	email        KEY NOT NULL,
	PRIMARY KEY (app_id, principal_id, email)
);
CREATE INDEX {.desired_alias_email} ON {desired_alias} (app_id, email);

CREATE TABLE {desired_members} (
	app_id     KEY NOT NULL,
	group_id   KEY NOT NULL,
	version    BIGINT NOT NULL,
	changed_at BIGINT NOT NULL,
	PRIMARY KEY (app_id, group_id)
);

CREATE TABLE {desired_member} (
	app_id   KEY NOT NULL,
	group_id KEY NOT NULL,
	user_id  KEY NOT NULL,
	PRIMARY KEY (app_id, group_id, user_id)
);

CREATE TABLE {desired_snapshot} (
	app_id   KEY NOT NULL,
	kind     KEY NOT NULL,
	number   BIGINT NOT NULL,              -- of the last snapshot
	state    KEY NOT NULL,
	expected BIGINT NOT NULL,              -- confirmed number of missing principals
	begun_at BIGINT NOT NULL,
	ended_at BIGINT NOT NULL,
	PRIMARY KEY (app_id, kind)
);`, `
CREATE INDEX {.desired_principal_gone} ON {desired_principal} (changed_at, app_id, kind, principal_id) WHERE want = 'absent';`,
}
