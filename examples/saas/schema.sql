CREATE TABLE IF NOT EXISTS users (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT NOT NULL UNIQUE,
  login         TEXT NOT NULL,
  login_key     TEXT NOT NULL UNIQUE,
  display       TEXT NOT NULL,
  active        BOOLEAN NOT NULL,
  password_hash TEXT NOT NULL,
  version       INTEGER NOT NULL,
  created       INTEGER NOT NULL,
  modified      INTEGER NOT NULL,
  scim          TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS teams (
  seq      INTEGER PRIMARY KEY AUTOINCREMENT,
  id       TEXT NOT NULL UNIQUE,
  display  TEXT NOT NULL,
  version  INTEGER NOT NULL,
  created  INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  scim     TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS team_members (
  seq    INTEGER PRIMARY KEY AUTOINCREMENT,
  team   TEXT NOT NULL,
  member TEXT NOT NULL,
  UNIQUE (team, member)
);
CREATE INDEX IF NOT EXISTS team_members_member ON team_members (member);
