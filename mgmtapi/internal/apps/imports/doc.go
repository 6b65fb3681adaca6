// Package imports creates users from the accounts that an import has found on the target of an application, and updates the users of linked
// accounts. The settings of the feature INBOUND_PROVISIONING, the rules of the mapping from the application to users, and the inline hook
// of imports determine what happens to each account.
//
// A provisioning engine reads the target; this package depends only on the interface Engine. Processing starts when the engine has read the
// whole list of accounts successfully. Accounts are processed in batches, one transaction each, which also moves the cursor of the job. A
// restart therefore continues at the cursor, and memory does not grow with the list.
//
// service.go processes an import batch by batch. step.go decides what to do with an account. apply.go performs this step: it creates or
// updates the user and the assignment, and links the account. confirm.go applies a consent to the accounts that wait for one.
//
// An import never deactivates or unassigns a user, neither because an account is deactivated nor because it is no longer listed.
package imports
