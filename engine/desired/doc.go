// Package desired stores the desired state of apps: their targets, users, groups and members. The [Store] is an engine.Directory.
//
// Use it in a program that has no directory of its own that could return the desired state of a user at any time: the program receives
// changes as messages, or copies them from another system. A program with its own tables of users implements engine.Directory instead,
// and needs no copy.
//
// The program passes the Store to provision.Options.Directory, calls [Store.Attach] with the engine, and then calls the methods of the
// Store instead of provision.Engine.Mark. One transaction contains a change and its mark, so that a crash cannot separate them.
//
// # Versions
//
// Each app, user, group and member list has a version, which the caller assigns: a number between 1 and 2^53 that increases with each
// change of this object, such as a counter, a revision or a time in milliseconds. Messages may therefore arrive late, repeatedly and in
// any order:
//
//   - A higher version replaces the stored content.
//   - The stored version with the same content has no effect and succeeds.
//   - The stored version with other content is rejected with a *[ContentError].
//   - An older version is rejected with a *[StaleError], which contains the stored version.
//
// A deletion is a version, too: a deleted user or group remains stored with the state engine.Absent, so that a late message does not
// create it again. The end state of an object depends only on the highest version. The four kinds of objects are independent: members may
// be written before their group.
//
// [Store.DeleteApp] removes all users, groups and members of an app, with their versions.
//
// # Users
//
// A user has either a SCIM resource, which is sent as it is, or a profile: attributes from which the rules of the app ([Mapping]) derive
// the resource when the engine needs it.
//
// # Many changes
//
// [Store.Batch] reads changes as lines of JSON, of any number, in bounded memory. A snapshot ([Store.BeginSnapshot]) finds the users or
// groups that the caller no longer lists.
//
// # Tables
//
// The tables have the prefix or schema of engine/sqlstore and can share its database: desired_app, desired_principal, desired_alias,
// desired_members, desired_member and desired_snapshot. Their columns are not part of the API. The table steps, which both packages
// share, contains the applied steps of the schema.
package desired

// write.go has the transaction of a change, principals.go the users and groups in it, members.go the members, batch.go and line.go the
// lines of a batch. To add a member to users or groups, add a field in principal.go and its name in line.go. To add a column, append a
// step in schema.go.
