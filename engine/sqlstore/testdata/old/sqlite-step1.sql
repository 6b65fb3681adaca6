PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE sqldb_steps (
	name TEXT NOT NULL, step BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, step));
INSERT INTO sqldb_steps VALUES('engine',1,'a8274b6aa7f75963eecf8ebeecd8437ed1937fee106c008134f717c28fdc264d');
CREATE TABLE app_lane (
	app_id      TEXT PRIMARY KEY,
	epoch       BIGINT NOT NULL,
	owner       TEXT NOT NULL,       -- empty when nobody holds the lease
	lease_until BIGINT NOT NULL,
	next_at     BIGINT,             -- when the lane is to be claimed, NULL for never
	kicks       BIGINT NOT NULL,    -- grows when somebody wants the hold to end
	hold        TEXT NOT NULL,
	hold_until  BIGINT NOT NULL,
	hold_reason TEXT NOT NULL,
	hold_streak BIGINT NOT NULL
);
INSERT INTO app_lane VALUES('crm',1800000000002,'',0,1800000000000,0,'',0,'',0);
INSERT INTO app_lane VALUES('wiki',1800000000002,'',0,1800003600000,0,'quarantine',1800003600000,'401',2);
CREATE TABLE sync_state (
	app_id       TEXT NOT NULL,
	kind         TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	desired_gen  BIGINT NOT NULL,
	synced_gen   BIGINT NOT NULL,
	full_gen     BIGINT NOT NULL,   -- groups: the whole membership is due when greater than synced_gen
	status       TEXT NOT NULL,
	want         TEXT NOT NULL,     -- empty before the first sequence
	tried        BIGINT NOT NULL,   -- 1: an account may exist although remote_id is empty
	anew         BIGINT NOT NULL,   -- 1: wanted again after a deactivation, and no sequence has succeeded since
	next_at      BIGINT,            -- when the principal is due, NULL for not before the next mark
	attempts     BIGINT NOT NULL,
	remote_id    TEXT NOT NULL,
	remote_name  TEXT NOT NULL,
	link_origin  TEXT NOT NULL,
	last_op      TEXT NOT NULL,
	last_http    BIGINT NOT NULL,
	last_error   TEXT NOT NULL,
	updated_at   BIGINT NOT NULL,
	PRIMARY KEY (app_id, kind, principal_id)
);
INSERT INTO sync_state VALUES('crm','user','ann',1,1,0,'clean','active',1,0,NULL,0,'r-ann','ann','created','create',201,'',1800000000000);
INSERT INTO sync_state VALUES('crm','user','bob',3,1,0,'dirty','inactive',1,0,1800000001000,0,'r-bob','bob','created','create',201,'',1800000001000);
INSERT INTO sync_state VALUES('crm','user','cat',1,0,0,'failed','',0,0,NULL,1,'','','','create',400,'userName is required',1800000000000);
INSERT INTO sync_state VALUES('crm','user','dan',1,0,0,'dirty','',0,0,1800000000000,0,'','','','',0,'',1800000000000);
INSERT INTO sync_state VALUES('crm','user','eve',1,0,0,'retrying','',0,0,1800003600000,2,'','','','create',503,'it is down',1800000000000);
INSERT INTO sync_state VALUES('crm','group','tea',1,1,1,'waiting','',0,0,NULL,0,'r-tea','Tea','created','create',201,'',1800000000000);
INSERT INTO sync_state VALUES('wiki','user','ann',1,0,0,'dirty','',0,0,1800000000000,0,'','','','',0,'',1800000000000);
INSERT INTO sync_state VALUES('crm','user','fay',1,1,0,'clean','',1,0,NULL,0,'r-fay','fay','imported','link',0,'',1800000000000);
CREATE TABLE member_state (
	app_id       TEXT NOT NULL,
	group_id     TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	want         BIGINT NOT NULL,   -- 1: belongs to the group
	pushed       BIGINT NOT NULL,   -- 1: is in the target's group
	pushed_id    TEXT NOT NULL,     -- as this
	asked        BIGINT NOT NULL,   -- marks since the directory was asked
	walk         BIGINT NOT NULL,   -- the last walk through the whole group that saw the user
	PRIMARY KEY (app_id, group_id, principal_id)
);
INSERT INTO member_state VALUES('crm','tea','ann',1,1,'r-ann',0,0);
INSERT INTO member_state VALUES('crm','tea','bob',1,0,'',0,0);
INSERT INTO member_state VALUES('crm','tea','cat',0,0,'',1,0);
CREATE TABLE sync_attempt (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	app_id          TEXT NOT NULL,
	kind            TEXT NOT NULL,
	principal_id    TEXT NOT NULL,
	gen             BIGINT NOT NULL,
	run_id          TEXT NOT NULL,
	at              BIGINT NOT NULL,
	method          TEXT NOT NULL,
	url             TEXT NOT NULL,
	request_header  TEXT NOT NULL,  -- JSON
	request_body    TEXT NOT NULL,
	http            BIGINT NOT NULL,
	response_header TEXT NOT NULL,  -- JSON
	response_body   TEXT NOT NULL,
	ms              BIGINT NOT NULL,
	error           TEXT NOT NULL
);
INSERT INTO sync_attempt VALUES(1,'crm','user','ann',1,'run-1',1800000000000,'POST','https://crm.example/scim/Users','{"Content-Type":["application/scim+json"]}','{"userName":"ann"}',201,'{"Location":["https://crm.example/scim/Users/r-ann"]}','{"id":"r-ann"}',12,'');
INSERT INTO sync_attempt VALUES(2,'crm','user','ann',1,'run-1',1800000000000,'POST','https://crm.example/scim/Users','{"Content-Type":["application/scim+json"]}','{"userName":"ann"}',201,'{"Location":["https://crm.example/scim/Users/r-ann"]}','{"id":"r-ann"}',12,'');
INSERT INTO sync_attempt VALUES(3,'crm','user','cat',1,'run-1',1800000000000,'POST','https://crm.example/scim/Users','{"Content-Type":["application/scim+json"]}','{"userName":"ann"}',201,'{"Location":["https://crm.example/scim/Users/r-ann"]}','{"id":"r-ann"}',12,'');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('sync_attempt',3);
CREATE INDEX app_lane_due ON app_lane (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX sync_state_remote ON sync_state (app_id, kind, remote_id) WHERE remote_id <> '';
CREATE INDEX sync_state_due_known ON sync_state (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'user' AND remote_id <> '';
CREATE INDEX sync_state_due_new ON sync_state (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'user' AND remote_id = '';
CREATE INDEX sync_state_due_group ON sync_state (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'group';
CREATE INDEX sync_state_due ON sync_state (app_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX member_state_user ON member_state (app_id, principal_id);
CREATE INDEX member_state_pending ON member_state (app_id, group_id, principal_id) WHERE want <> pushed;
CREATE INDEX member_state_asked ON member_state (app_id, group_id, principal_id) WHERE asked > 0;
CREATE INDEX sync_attempt_principal ON sync_attempt (app_id, kind, principal_id, id);
COMMIT;
