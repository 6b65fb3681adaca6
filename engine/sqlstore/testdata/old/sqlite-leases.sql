PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE sqldb_steps (
	name TEXT NOT NULL, step BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, step));
INSERT INTO sqldb_steps VALUES('engine',1,'a8274b6aa7f75963eecf8ebeecd8437ed1937fee106c008134f717c28fdc264d');
INSERT INTO sqldb_steps VALUES('engine',2,'1c00401c834b83366e434ef5c6d14d6900b234c5a2c3519bc517a1ebbe338ece');
INSERT INTO sqldb_steps VALUES('engine',3,'98f4efe7d1073ac4f0e188046e39e0737f2441e8741d5d867d4540da16ac55a0');
INSERT INTO sqldb_steps VALUES('engine',4,'abf82f745d026a8cdcd58e82c6034524ae4018016e12c34f87df6eb34a3d53b3');
INSERT INTO sqldb_steps VALUES('engine',5,'7523bb8ddd03b41b0ca7dc6c88404d2170ae537ab215860ae8f706d25f8373b4');
INSERT INTO sqldb_steps VALUES('engine',6,'45b69dde51fb4f60713e2d5f8d05dacd0c149c83da41bb0330df8338709659ca');
INSERT INTO sqldb_steps VALUES('engine',7,'c51c93448fb76877e33aae261a990ece29c906636ec87bbab8304a2789d95144');
INSERT INTO sqldb_steps VALUES('engine',8,'b4bdce6c9c744e8c7f294149a3591e896e22b866175d9d0b32cea8e6f919f2b9');
INSERT INTO sqldb_steps VALUES('engine',9,'9cd5d1ac8fb065d9d1e8a663ce93a793322e6d0317c6916c4c3efd86fb0443b5');
INSERT INTO sqldb_steps VALUES('engine',10,'232a676f304384ce2ec47577f6895f38c91e2bf028b9f1ad04d84a55fe1a5f00');
INSERT INTO sqldb_steps VALUES('engine',11,'d7cb206079ca2b1ce68b632ad225ad4d4d8c95aa3e62bc8d74120a4ec3b8ebf3');
INSERT INTO sqldb_steps VALUES('engine',12,'8906272d17639fdca3d847f0adaaab0741009ece1dd6286b331e11b4896ba0f4');
INSERT INTO sqldb_steps VALUES('engine',13,'e46215d9b21beb06d7f39aeba046fa49ac9b4354772a8eece6d7b94acc1aab6d');
INSERT INTO sqldb_steps VALUES('engine',14,'c06bbe34a9d819a9be48ff5818fd73bba5eb907c9d41f6895d113c33e992db9e');
INSERT INTO sqldb_steps VALUES('engine',15,'b3e34856e166dc218d3954d61098d39406d91e19053f0f6bf6ed9ef5426ced93');
INSERT INTO sqldb_steps VALUES('engine',16,'d842fdb886cfd2379925d50208f0a412065da01c8530d2eb6e9835f0e3062874');
INSERT INTO sqldb_steps VALUES('engine',1000000,'the tables were renamed by a later version');
CREATE TABLE IF NOT EXISTS "scimwright_app_lane" (
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
, learned TEXT NOT NULL DEFAULT '', marks BIGINT NOT NULL DEFAULT 0, profile TEXT NOT NULL DEFAULT '', success_at  BIGINT NOT NULL DEFAULT 0, event_seq BIGINT NOT NULL DEFAULT 0, rest TEXT NOT NULL DEFAULT '');
INSERT INTO scimwright_app_lane VALUES('crm',1800000000002,'',0,1800000000000,0,'',0,'',0,'{"baseUrl":"https://crm.example/scim","traits":{"no-patch":"2027-01-15T08:00:00Z"},"memberBatch":50}',3,'{"baseUrl":"https://crm.example/scim","profile":{"at":"2027-01-15T08:00:00Z","results":null,"advertised":{"present":false},"requests":7}}',1800000000000,5,'');
INSERT INTO scimwright_app_lane VALUES('wiki',1800000000002,'',0,1800003600000,0,'quarantine',1800003600000,'401',2,'',1,'',0,1,'');
INSERT INTO scimwright_app_lane VALUES('busy',1799999999001,'old engine',1800000190000,1799999999000,0,'',0,'',0,'',1,'',0,0,'');
INSERT INTO scimwright_app_lane VALUES('idle',1799999999002,'',0,1800003600000,0,'',0,'',0,'',1,'',0,0,'');
CREATE TABLE IF NOT EXISTS "scimwright_sync_state" (
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
	updated_at   BIGINT NOT NULL, unkept TEXT NOT NULL DEFAULT '', halted BIGINT NOT NULL DEFAULT 0, password_version TEXT NOT NULL DEFAULT '', dirty_since BIGINT NOT NULL DEFAULT 0, overdue_at  BIGINT NOT NULL DEFAULT 0, fresh_gen BIGINT NOT NULL DEFAULT 0, manager_id TEXT NOT NULL DEFAULT '', waiting_on TEXT NOT NULL DEFAULT '', former_id TEXT NOT NULL DEFAULT '', told TEXT NOT NULL DEFAULT '', pending TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (app_id, kind, principal_id)
);
INSERT INTO scimwright_sync_state VALUES('crm','user','ann',1,1,0,'clean','active',1,0,NULL,0,'r-ann','ann','created','create',201,'',1800000000000,'{"title":{"sent":"x","rounds":3,"ignored":true}}',0,'v1',0,0,0,'','','','','');
INSERT INTO scimwright_sync_state VALUES('crm','user','bob',3,1,0,'dirty','inactive',1,0,1800000001000,0,'r-bob','bob','created','create',201,'',1800000001000,'',0,'',1800000000000,0,0,'ann','','','','');
INSERT INTO scimwright_sync_state VALUES('crm','user','cat',1,0,0,'failed','',0,0,NULL,1,'','','','create',400,'userName is required',1800000000000,'',0,'',1800000000000,0,0,'','','','failed create 400','');
INSERT INTO scimwright_sync_state VALUES('crm','user','dan',1,0,0,'dirty','',0,0,1800000000000,0,'','','','',0,'',1800000000000,'',0,'',1800000000000,0,0,'','','','','');
INSERT INTO scimwright_sync_state VALUES('crm','user','eve',1,0,0,'retrying','',0,0,1800003600000,2,'','','','create',503,'it is down',1800000000000,'',0,'',1800000000000,0,0,'','','','retrying','');
INSERT INTO scimwright_sync_state VALUES('crm','group','tea',1,1,1,'waiting','',0,0,NULL,0,'r-tea','Tea','created','create',201,'',1800000000000,'',0,'',0,0,0,'','["bob"]','','','');
INSERT INTO scimwright_sync_state VALUES('wiki','user','ann',1,0,0,'dirty','',0,0,1800000000000,0,'','','','',0,'',1800000000000,'',0,'',1800000000000,0,0,'','','','','');
INSERT INTO scimwright_sync_state VALUES('crm','user','fay',1,1,0,'clean','',1,0,NULL,0,'r-fay','fay','imported','link',0,'',1800000000000,'',0,'',0,0,0,'','','','','');
INSERT INTO scimwright_sync_state VALUES('busy','user','ann',1,0,0,'dirty','',0,0,1799999999000,0,'','','','',0,'',1799999999000,'',0,'',1799999999000,0,0,'','','','','');
INSERT INTO scimwright_sync_state VALUES('idle','user','ann',1,0,0,'dirty','',0,0,1799999999000,0,'','','','',0,'',1799999999000,'',0,'',1799999999000,0,0,'','','','','');
CREATE TABLE IF NOT EXISTS "scimwright_member_state" (
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
INSERT INTO scimwright_member_state VALUES('crm','tea','ann',1,1,'r-ann',0,0);
INSERT INTO scimwright_member_state VALUES('crm','tea','bob',1,0,'',0,0);
INSERT INTO scimwright_member_state VALUES('crm','tea','cat',0,0,'',1,0);
CREATE TABLE IF NOT EXISTS "scimwright_sync_attempt" (
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
INSERT INTO scimwright_sync_attempt VALUES(1,'crm','user','ann',1,'run-1',1800000000000,'POST','https://crm.example/scim/Users','{"Content-Type":["application/scim+json"]}','{"userName":"ann"}',201,'{"Location":["https://crm.example/scim/Users/r-ann"]}','{"id":"r-ann"}',12,'');
INSERT INTO scimwright_sync_attempt VALUES(2,'crm','user','ann',1,'run-1',1800000000000,'POST','https://crm.example/scim/Users','{"Content-Type":["application/scim+json"]}','{"userName":"ann"}',201,'{"Location":["https://crm.example/scim/Users/r-ann"]}','{"id":"r-ann"}',12,'');
INSERT INTO scimwright_sync_attempt VALUES(3,'crm','user','cat',1,'run-1',1800000000000,'POST','https://crm.example/scim/Users','{"Content-Type":["application/scim+json"]}','{"userName":"ann"}',201,'{"Location":["https://crm.example/scim/Users/r-ann"]}','{"id":"r-ann"}',12,'');
CREATE TABLE IF NOT EXISTS "scimwright_removal" (
	app_id       TEXT NOT NULL,
	kind         TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	at           BIGINT NOT NULL,   -- when it was let through
	approved     BIGINT NOT NULL,   -- 1: by somebody, so that it does not count
	PRIMARY KEY (app_id, kind, principal_id)
);
INSERT INTO scimwright_removal VALUES('crm','user','bob',1800000000000,0);
CREATE TABLE IF NOT EXISTS "scimwright_halt" (
	app_id TEXT NOT NULL,            -- empty for all apps
	op     TEXT NOT NULL,
	reason TEXT NOT NULL,
	since  BIGINT NOT NULL,
	PRIMARY KEY (app_id, op)
);
INSERT INTO scimwright_halt VALUES('crm','delete','audit',1800000000000);
INSERT INTO scimwright_halt VALUES('','unlink','freeze',1800000000000);
CREATE TABLE IF NOT EXISTS "scimwright_import_run" (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	app_id      TEXT NOT NULL,
	kind        TEXT NOT NULL,
	request     TEXT NOT NULL,      -- JSON
	state       TEXT NOT NULL,
	seen        BIGINT NOT NULL,    -- objects that were read
	total       BIGINT NOT NULL,    -- that the target says there are
	read_all    BIGINT NOT NULL,    -- 1: the whole list was read
	known       BIGINT NOT NULL,    -- objects that earlier runs have seen and that were not gone at the beginning
	lost        BIGINT NOT NULL,    -- principals whose account is not listed
	attempts    BIGINT NOT NULL,
	error       TEXT NOT NULL,
	counts      TEXT NOT NULL,      -- JSON, by verdict, at the end of the run
	begun       BIGINT NOT NULL,
	ended       BIGINT NOT NULL,
	epoch       BIGINT NOT NULL,
	owner       TEXT NOT NULL,       -- empty when nobody works on it
	lease_until BIGINT NOT NULL,
	next_at     BIGINT NOT NULL     -- when a running one is to be claimed
);
INSERT INTO scimwright_import_run VALUES(1,'crm','user','{"kind":"user","match":["email"],"maxGone":20}','done',2,2,1,0,0,0,'','{"linked":1,"unmatched":1}',1800000000000,1800000000000,2,'',0,0);
INSERT INTO scimwright_import_run VALUES(2,'crm','group','{"kind":"group","match":null,"maxGone":0}','running',0,-1,0,0,0,0,'','',1800000000000,0,1,'old engine',1800000190000,1800000000000);
CREATE TABLE IF NOT EXISTS "scimwright_remote_object" (
	app_id       TEXT NOT NULL,
	kind         TEXT NOT NULL,
	remote_id    TEXT NOT NULL,
	user_name    TEXT NOT NULL,
	external_id  TEXT NOT NULL,
	email        TEXT NOT NULL,
	display_name TEXT NOT NULL,
	active       BIGINT NOT NULL,
	hash         TEXT NOT NULL,
	run_id       BIGINT NOT NULL,   -- that saw it last
	verdict      TEXT NOT NULL,
	rule         TEXT NOT NULL,
	principal_id TEXT NOT NULL,      -- when linked or matched
	candidates   TEXT NOT NULL,     -- JSON, empty for none
	note         TEXT NOT NULL, resource TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (app_id, kind, remote_id)
);
INSERT INTO scimwright_remote_object VALUES('crm','user','r-fay','fay','','','',0,'i',1,'linked','','fay','','','');
INSERT INTO scimwright_remote_object VALUES('crm','user','r-gil','gil','','gil@x','',1,'h',1,'unmatched','','','','','{"userName":"gil"}');
CREATE TABLE IF NOT EXISTS "scimwright_plan" (
	id         TEXT PRIMARY KEY,
	app_id     TEXT NOT NULL,
	status     TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	doc        TEXT NOT NULL        -- JSON, the rest
);
INSERT INTO scimwright_plan VALUES('plan-1','crm','open',1800000000000,1800003600000,'{"id":"plan-1","app":"crm","reason":"tidy","baseUrl":"https://crm.example/scim","status":"open","createdAt":"2027-01-15T08:00:00Z","expiresAt":"2027-01-15T09:00:00Z","items":1,"operations":{"update":1},"outcomes":{}}');
CREATE TABLE IF NOT EXISTS "scimwright_plan_item" (
	plan_id      TEXT NOT NULL,
	seq          BIGINT NOT NULL,
	kind         TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	operation    TEXT NOT NULL,
	outcome      TEXT NOT NULL,
	generation   BIGINT NOT NULL,   -- desired at the time
	digest       TEXT NOT NULL,     -- of the desired state
	marked       BIGINT NOT NULL,   -- 1: applied
	doc          TEXT NOT NULL,     -- JSON, the details
	PRIMARY KEY (plan_id, seq)
);
INSERT INTO scimwright_plan_item VALUES('plan-1',1,'user','ann','update','done',1,'d',0,'{"seq":1,"kind":"user","id":"ann","operation":"update","outcome":"done","generation":1,"digest":"d","marked":false,"sent":0,"requests":null}');
CREATE TABLE IF NOT EXISTS "scimwright_lifecycle_event" (
	app_id       TEXT NOT NULL,
	seq          BIGINT NOT NULL,   -- ascending without gaps
	at           BIGINT NOT NULL,
	type         TEXT NOT NULL,
	kind         TEXT NOT NULL,     -- empty for events of the app
	principal_id TEXT NOT NULL,
	data         TEXT NOT NULL,     -- JSON
	PRIMARY KEY (app_id, seq)
);
INSERT INTO scimwright_lifecycle_event VALUES('crm',1,1800000000000,'user.created','user','ann','{"operation":"create","status":"clean","http":201,"remoteId":"r-ann","run":"run-1"}');
INSERT INTO scimwright_lifecycle_event VALUES('crm',2,1800000000000,'user.created','user','bob','{"operation":"create","status":"clean","http":201,"remoteId":"r-bob"}');
INSERT INTO scimwright_lifecycle_event VALUES('crm',3,1800000000000,'user.failed','user','cat','{"operation":"create","status":"failed","http":400,"run":"run-1"}');
INSERT INTO scimwright_lifecycle_event VALUES('crm',4,1800000000000,'user.failed','user','eve','{"operation":"create","status":"retrying","http":503}');
INSERT INTO scimwright_lifecycle_event VALUES('crm',5,1800000000000,'group.created','group','tea','{"operation":"create","status":"waiting","http":201,"remoteId":"r-tea"}');
INSERT INTO scimwright_lifecycle_event VALUES('wiki',1,1800000000000,'app.quarantined','','','{"hold":"quarantine","until":"2027-01-15T09:00:00Z"}');
CREATE TABLE IF NOT EXISTS "scimwright_steps" (name TEXT NOT NULL, step BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, step));
INSERT INTO scimwright_steps VALUES('engine',1,'308e9f70a723854833c357babd96c1092de1115df6ea01ac8906c5a9a40b0e34');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('scimwright_sync_attempt',3);
INSERT INTO sqlite_sequence VALUES('scimwright_import_run',2);
CREATE INDEX "scimwright_app_lane_due" ON "scimwright_app_lane" (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX "scimwright_sync_state_remote" ON "scimwright_sync_state" (app_id, kind, remote_id) WHERE remote_id <> '';
CREATE INDEX "scimwright_sync_state_due_known" ON "scimwright_sync_state" (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'user' AND remote_id <> '';
CREATE INDEX "scimwright_sync_state_due_new" ON "scimwright_sync_state" (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'user' AND remote_id = '';
CREATE INDEX "scimwright_sync_state_due_group" ON "scimwright_sync_state" (app_id, next_at) WHERE next_at IS NOT NULL AND kind = 'group';
CREATE INDEX "scimwright_sync_state_leaving" ON "scimwright_sync_state" (app_id, want) WHERE next_at IS NOT NULL AND want IN ('inactive', 'absent');
CREATE INDEX "scimwright_sync_state_held" ON "scimwright_sync_state" (app_id, last_op) WHERE status = 'held';
CREATE INDEX "scimwright_sync_state_since" ON "scimwright_sync_state" (app_id, dirty_since) WHERE dirty_since > 0;
CREATE INDEX "scimwright_sync_state_late" ON "scimwright_sync_state" (app_id, dirty_since, principal_id)
	WHERE kind = 'user' AND dirty_since > 0 AND overdue_at = 0 AND (remote_id <> '' OR tried = 1);
CREATE INDEX "scimwright_sync_state_manager" ON "scimwright_sync_state" (app_id, manager_id) WHERE manager_id <> '';
CREATE INDEX "scimwright_sync_state_former" ON "scimwright_sync_state" (app_id, kind, former_id) WHERE former_id <> '';
CREATE INDEX "scimwright_sync_state_task" ON "scimwright_sync_state" (app_id, kind, principal_id, status) WHERE status IN ('retrying', 'failed', 'held', 'pending');
CREATE INDEX "scimwright_sync_state_pending" ON "scimwright_sync_state" (app_id, next_at) WHERE next_at IS NOT NULL AND status = 'pending';
CREATE INDEX "scimwright_member_state_user" ON "scimwright_member_state" (app_id, principal_id);
CREATE INDEX "scimwright_member_state_pending" ON "scimwright_member_state" (app_id, group_id, principal_id) WHERE want <> pushed;
CREATE INDEX "scimwright_member_state_asked" ON "scimwright_member_state" (app_id, group_id, principal_id) WHERE asked > 0;
CREATE INDEX "scimwright_sync_attempt_principal" ON "scimwright_sync_attempt" (app_id, kind, principal_id, id);
CREATE INDEX "scimwright_removal_at" ON "scimwright_removal" (app_id, at);
CREATE UNIQUE INDEX "scimwright_import_run_running" ON "scimwright_import_run" (app_id, kind) WHERE state = 'running';
CREATE INDEX "scimwright_import_run_app" ON "scimwright_import_run" (app_id, kind, id);
CREATE INDEX "scimwright_remote_object_verdict" ON "scimwright_remote_object" (app_id, kind, verdict, remote_id);
CREATE INDEX "scimwright_plan_app" ON "scimwright_plan" (app_id, created_at);
COMMIT;
