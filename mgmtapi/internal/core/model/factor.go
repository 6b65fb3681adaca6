package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// FactorType says what a factor is.
type FactorType string

// The types of factors.
const (
	FactorQuestion FactorType = "question"
	FactorSMS      FactorType = "sms"
	FactorCall     FactorType = "call"
	FactorEmail    FactorType = "email"
	FactorPush     FactorType = "push"
	FactorTOTP     FactorType = "token:software:totp"
	FactorToken    FactorType = "token"
	FactorHardware FactorType = "token:hardware"
	FactorHOTP     FactorType = "token:hotp"
	FactorWeb      FactorType = "web"
	FactorU2F      FactorType = "u2f"
	FactorWebAuthn FactorType = "webauthn"
)

// FactorProvider says whose factor it is.
type FactorProvider string

// The providers of factors.
const (
	FactorProviderService FactorProvider = "SVC"
	FactorProviderCustom  FactorProvider = "CUSTOM"
	FactorProviderFIDO    FactorProvider = "FIDO"
	FactorProviderA       FactorProvider = "VENDOR_A"
	FactorProviderB       FactorProvider = "VENDOR_B"
	FactorProviderC       FactorProvider = "VENDOR_C"
	FactorProviderD       FactorProvider = "VENDOR_D"
	FactorProviderE       FactorProvider = "VENDOR_E"
)

// FactorStatus is how far a factor is.
type FactorStatus string

// The statuses of a factor. Stored are FactorPending, FactorEnrolled and FactorActive; the others follow, see the type Factor.
const (
	FactorNotSetUp FactorStatus = "NOT_SETUP"
	FactorPending  FactorStatus = "PENDING_ACTIVATION"
	FactorEnrolled FactorStatus = "ENROLLED"
	FactorActive   FactorStatus = "ACTIVE"
	FactorInactive FactorStatus = "INACTIVE"
	FactorExpired  FactorStatus = "EXPIRED"
)

// FactorPendingLife is how long an enrolment can be completed.
const FactorPendingLife = 24 * time.Hour

// Factor is something that a user has or knows beside the password.
//
// A stored status tells what happened to the factor. What is shown follows from it: one that was pending for longer than
// FactorPendingLife is EXPIRED, and one whose OrgFactor is INACTIVE is INACTIVE as long as that is.
type Factor struct {
	User     string         `json:"user"`
	Type     FactorType     `json:"type"`
	Provider FactorProvider `json:"provider"`
	// Vendor is the name that the provider goes by.
	Vendor string       `json:"vendor"`
	Status FactorStatus `json:"status"`
	// Org is the id of the OrgFactor that allows it.
	Org string `json:"org"`
	// Profile is shown.
	Profile map[string]string `json:"profile,omitempty"`
	// State is JSON, sealed with FactorBinding: keys, hashes of answers and codes, and what a verification has to remember. Hashes are
	// sealed, too, because a hash of six digits is undone by trying them all.
	State string `json:"state,omitempty"`
	// QR is the hash of the token that opens the QR code of a pending enrolment.
	QR string `json:"qr,omitempty"`
	// Enrolled is when the enrolment began, Changed when it, the profile or the status last changed: verifications do not count.
	Enrolled time.Time `json:"enrolled"`
	Changed  time.Time `json:"changed"`
}

// FactorBinding is the seal binding of the state of a factor.
func FactorBinding(id string) string { return "factor:" + id }

// The indexes of the factors.
const (
	FactorByUser    = "user_id" // id of the user
	FactorByOrg     = "org"     // id of the OrgFactor
	FactorByPending = "pending" // when the enrolment began, of those that are pending
	// FactorByCredential is the index by the credential that a device of FIDO has made.
	FactorByCredential = "credential"
)

func factorCollection() docstore.Collection[Factor] {
	return docstore.NewCollection("factors",
		docstore.Index[Factor]{Name: FactorByUser, Values: func(f *Factor) []any { return []any{f.User} }},
		docstore.Index[Factor]{Name: FactorByOrg, Values: func(f *Factor) []any { return []any{f.Org} }},
		docstore.Index[Factor]{Name: FactorByPending, Kind: docstore.Int, Values: func(f *Factor) []any {
			if f.Status != FactorPending {
				return nil
			}
			return []any{f.Enrolled}
		}},
		docstore.Index[Factor]{Name: FactorByCredential, Values: func(f *Factor) []any {
			if f.Provider != FactorProviderFIDO || f.Profile["credentialId"] == "" {
				return nil
			}
			return []any{f.Profile["credentialId"]}
		}},
	)
}

// PhoneID is the id of a phone of a user. A phone has no document: it is there as long as a factor has its number.
func PhoneID(user, number string) string { return derivedID(KindPhone, user+"/"+number) }

// OrgFactor says whether the organisation allows a kind of factors. Its document id is the name of the kind; one without a document
// is allowed.
type OrgFactor struct {
	Status Status `json:"status"`
}

func orgFactorCollection() docstore.Collection[OrgFactor] {
	return docstore.NewCollection[OrgFactor]("org_factors")
}

// FactorResult is what came of a verification.
type FactorResult string

// The results of verifications.
const (
	FactorSuccess   FactorResult = "SUCCESS"
	FactorChallenge FactorResult = "CHALLENGE"
	FactorWaiting   FactorResult = "WAITING"
	FactorRejected  FactorResult = "REJECTED"
	FactorCancelled FactorResult = "CANCELLED"
	FactorTimeout   FactorResult = "TIMEOUT"
	FactorFailed    FactorResult = "FAILED"
	FactorError     FactorResult = "ERROR"
	FactorReplayed  FactorResult = "PASSCODE_REPLAYED"
	FactorOutside   FactorResult = "TIME_WINDOW_EXCEEDED"
)

// FactorTransaction is a verification that somebody else answers, as a push. One that is FactorWaiting when it expires is
// FactorTimeout from then on.
type FactorTransaction struct {
	User    string       `json:"user"`
	Factor  string       `json:"factor"`
	Result  FactorResult `json:"result"`
	Expires time.Time    `json:"expires"`
}

// ResultAt is the result at a time.
func (t *FactorTransaction) ResultAt(now time.Time) FactorResult {
	if t.Result == FactorWaiting && !now.Before(t.Expires) {
		return FactorTimeout
	}
	return t.Result
}

// The indexes of the transactions of factors.
const (
	FactorTransactionByFactor  = "factor"  // id of the factor
	FactorTransactionByExpires = "expires" // when it expires
)

func factorTransactionCollection() docstore.Collection[FactorTransaction] {
	return docstore.NewCollection("factor_transactions",
		docstore.Index[FactorTransaction]{Name: FactorTransactionByFactor, Values: func(t *FactorTransaction) []any { return []any{t.Factor} }},
		docstore.Index[FactorTransaction]{Name: FactorTransactionByExpires, Kind: docstore.Int, Values: func(t *FactorTransaction) []any {
			return []any{t.Expires}
		}},
	)
}

// FactorWindow is when something happened that may happen only so often in a time: wrong codes of a user, messages to a number. Its
// document id is FactorWindowID.
type FactorWindow struct {
	// Times are when it happened, the earliest first: only those that still count.
	Times []time.Time `json:"times"`
	// Ends is when none counts any more.
	Ends time.Time `json:"ends"`
}

// FactorWindowID is the document id of what is counted of a subject.
func FactorWindowID(what, subject string) string { return docstore.JoinID(what, subject) }

// FactorWindowByEnd is the index of the windows by their end.
const FactorWindowByEnd = "ends"

func factorWindowCollection() docstore.Collection[FactorWindow] {
	return docstore.NewCollection("factor_windows",
		docstore.Index[FactorWindow]{Name: FactorWindowByEnd, Kind: docstore.Int, Values: func(w *FactorWindow) []any { return []any{w.Ends} }},
	)
}

// CustomOTPProfile is the id of the custom profile for one-time passcodes that is shipped: it is the same everywhere.
func CustomOTPProfile() string { return derivedID(KindFactorProfile, "totp") }
