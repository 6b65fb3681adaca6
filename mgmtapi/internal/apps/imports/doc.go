// Package imports makes users of the accounts that an import has found at the target of an application, and keeps the users of accounts
// up to date that are linked: by the settings of the feature INBOUND_PROVISIONING and the rules of the mapping from the application to
// users, after the inline hook of imports was asked.
//
// Reading the target is the business of a provisioning engine, which this package knows by an interface alone. What is made of a list
// begins when the whole list was read well. It is done account by account in pieces, each in a transaction of its own that also moves
// the cursor of the job, so that a restart goes on where it was and memory does not grow with the list.
//
// service.go does the work of an import batch by batch, step.go decides what an account leads to, and apply.go carries that out: it creates
// or updates the user and the assignment, and links the account. confirm.go has what waits for a consent.
//
// An import deactivates and unassigns nobody: neither because an account is deactivated nor because it is not listed any more.
package imports
