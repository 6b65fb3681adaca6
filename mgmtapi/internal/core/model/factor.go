package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// FactorType is the type of a factor.
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

// FactorProvider is the provider of a factor.
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

// FactorStatus is the status of a factor.
type FactorStatus string

// The statuses of a factor. FactorPending, FactorEnrolled and FactorActive are stored; the remaining ones are derived, see Factor.
const (
	FactorNotSetUp FactorStatus = "NOT_SETUP"
	FactorPending  FactorStatus = "PENDING_ACTIVATION"
	FactorEnrolled FactorStatus = "ENROLLED"
	FactorActive   FactorStatus = "ACTIVE"
	FactorInactive FactorStatus = "INACTIVE"
	FactorExpired  FactorStatus = "EXPIRED"
)

// FactorPendingLife is the time within which a user can complete an enrollment.
const FactorPendingLife = 24 * time.Hour

// Factor is something that a user has or knows in addition to the password.
//
// The API derives the status that it shows from the stored status: a factor that was pending for longer than FactorPendingLife is EXPIRED,
// and a factor whose OrgFactor is INACTIVE is INACTIVE while the OrgFactor is.
type Factor struct {
	User     string         `json:"user"`
	Type     FactorType     `json:"type"`
	Provider FactorProvider `json:"provider"`
	// Vendor is the name of the provider.
	Vendor string       `json:"vendor"`
	Status FactorStatus `json:"status"`
	// Org is the id of the OrgFactor that allows the factor.
	Org string `json:"org"`
	// Profile is the public part of the factor.
	Profile map[string]string `json:"profile,omitempty"`
	// State is JSON, encrypted at rest with FactorBinding: keys, hashes of answers and codes, and the state of a verification. Hashes are
	// encrypted too, because the hash of a six-digit code can be reversed by trying all codes.
	State string `json:"state,omitempty"`
	// QR is the hash of the token that gives access to the QR code of a pending enrollment.
	QR string `json:"qr,omitempty"`
	// Enrolled is the start of the enrollment. Changed is the last change of the enrollment, the profile or the status, without verifications.
	Enrolled time.Time `json:"enrolled"`
	Changed  time.Time `json:"changed"`
}

// FactorBinding returns the binding with which package seal encrypts the state of a factor.
func FactorBinding(id string) string { return "factor:" + id }

// The indexes of the factors.
const (
	FactorByUser    = "user_id" // index by id of the user
	FactorByOrg     = "org"     // index by id of the OrgFactor
	FactorByPending = "pending" // index by the start of the enrollment, for pending factors
	// FactorByCredential is the index by the credential that a FIDO device has created.
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

// PhoneID returns the id of a user's phone. A phone has no document: it exists while a factor has its number.
func PhoneID(user, number string) string { return derivedID(KindPhone, user+"/"+number) }

// OrgFactor determines whether the organization allows a kind of factors. Its document id is the name of the kind. A kind without a
// document is allowed.
type OrgFactor struct {
	Status Status `json:"status"`
}

func orgFactorCollection() docstore.Collection[OrgFactor] {
	return docstore.NewCollection[OrgFactor]("org_factors")
}

// FactorResult is the result of a verification.
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

// FactorTransaction is a verification that another device completes, such as a push. A transaction that is FactorWaiting when it expires is
// FactorTimeout from then on.
type FactorTransaction struct {
	User    string       `json:"user"`
	Factor  string       `json:"factor"`
	Result  FactorResult `json:"result"`
	Expires time.Time    `json:"expires"`
}

// ResultAt returns the result at the given time.
func (t *FactorTransaction) ResultAt(now time.Time) FactorResult {
	if t.Result == FactorWaiting && !now.Before(t.Expires) {
		return FactorTimeout
	}
	return t.Result
}

// The indexes of the transactions of factors.
const (
	FactorTransactionByFactor  = "factor"  // index by id of the factor
	FactorTransactionByExpires = "expires" // index by the time of expiry
)

func factorTransactionCollection() docstore.Collection[FactorTransaction] {
	return docstore.NewCollection("factor_transactions",
		docstore.Index[FactorTransaction]{Name: FactorTransactionByFactor, Values: func(t *FactorTransaction) []any { return []any{t.Factor} }},
		docstore.Index[FactorTransaction]{Name: FactorTransactionByExpires, Kind: docstore.Int, Values: func(t *FactorTransaction) []any {
			return []any{t.Expires}
		}},
	)
}

// FactorWindow holds the times of rate-limited events: wrong codes of a user, messages to a number. Its document id is FactorWindowID.
type FactorWindow struct {
	// Times are the times of the events that still count, the earliest first.
	Times []time.Time `json:"times"`
	// Ends is the time after which no event counts.
	Ends time.Time `json:"ends"`
}

// FactorWindowID returns the document id of the window for an event and a subject.
func FactorWindowID(what, subject string) string { return docstore.JoinID(what, subject) }

// FactorWindowByEnd is the index of the windows by their end.
const FactorWindowByEnd = "ends"

func factorWindowCollection() docstore.Collection[FactorWindow] {
	return docstore.NewCollection("factor_windows",
		docstore.Index[FactorWindow]{Name: FactorWindowByEnd, Kind: docstore.Int, Values: func(w *FactorWindow) []any { return []any{w.Ends} }},
	)
}

// CustomOTPProfile returns the id of the built-in custom profile for one-time passcodes. It is the same in every organization.
func CustomOTPProfile() string { return derivedID(KindFactorProfile, "totp") }
