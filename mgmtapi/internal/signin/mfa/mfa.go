// Package mfa defines the interface between sign-ins and the factors of users: mgmtapi/internal/signin/authn calls it,
// mgmtapi/internal/signin/factors implements it.
package mfa

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Proof is a proof of possession of a factor, by its type.
type Proof struct {
	PassCode          string `json:"passCode" max:"64" writeOnly:"true" doc:"Code from a message or a device."`
	NextPassCode      string `json:"nextPassCode" max:"64" writeOnly:"true" doc:"Next code of the device."`
	Answer            string `json:"answer" max:"255" writeOnly:"true" doc:"Answer to the question."`
	ClientData        string `json:"clientData" max:"8192" doc:"Client data that the device signed, in Base64."`
	RegistrationData  string `json:"registrationData" max:"16384" doc:"Registration of a U2F device, in Base64."`
	Attestation       string `json:"attestation" max:"32768" doc:"Attestation of a WebAuthn device, in Base64."`
	AuthenticatorData string `json:"authenticatorData" max:"8192" doc:"Data of a WebAuthn device, in Base64."`
	SignatureData     string `json:"signatureData" max:"8192" doc:"Signature of a device, in Base64."`
}

// FactorProfile is the profile of a factor in requests, by its type. Read-only members are ignored.
type FactorProfile struct {
	Question     string `json:"question" doc:"Key of a question, or custom."`
	QuestionText string `json:"questionText" max:"200" doc:"The question, for custom."`
	Answer       string `json:"answer" max:"255" writeOnly:"true" doc:"Answer to the question, at least 4 characters."`
	PhoneNumber  string `json:"phoneNumber" max:"100" doc:"Phone number; stored in E.164 format."`
	Extension    string `json:"phoneExtension" max:"15" doc:"Extension dialed after the number, for calls."`
	Email        string `json:"email" max:"100" doc:"Primary or secondary address of the user."`
	CredentialID string `json:"credentialId" max:"255" doc:"Name of the token, or name of the user at the vendor."`
	SharedSecret string `json:"sharedSecret" max:"1024" writeOnly:"true" doc:"Secret of a token of a custom profile: hexadecimal or Base32."`
}

// SignInFactor is a factor as shown during a sign-in: phone numbers and addresses are masked.
type SignInFactor struct {
	ID       string `json:"id,omitempty" readOnly:"true" doc:"Id of the factor. Absent if it can be enrolled."`
	Type     string `json:"factorType" readOnly:"true" doc:"Type of the factor."`
	Provider string `json:"provider" readOnly:"true" doc:"Provider of the factor."`
	Vendor   string `json:"vendorName" readOnly:"true" doc:"Name of the provider."`

	Status string `json:"status,omitempty" readOnly:"true" enum:"NOT_SETUP,PENDING_ACTIVATION" doc:"Status of a factor that is not complete."`

	Profile map[string]string `json:"profile,omitempty" readOnly:"true" doc:"Profile of the factor, by its type."`

	Embedded map[string]any `json:"_embedded,omitempty" readOnly:"true" doc:"challenge: data to sign. activation: enrollment data."`

	Links rest.Links `json:"_links,omitempty" readOnly:"true" doc:"Links to the operations on the factor."`
}

// Attempt is a step of a verification, or of an enrollment.
type Attempt struct {
	// User and Factor are ids.
	User, Factor string
	Proof        Proof
	// Transaction is the id of the pending verification of the sign-in, empty if no verification is pending.
	Transaction string
}

// Enrollment is a new factor.
type Enrollment struct {
	User     string
	Type     string
	Provider string
	Profile  FactorProfile
	Proof    Proof
}

// Outcome is the result of a step that was not rejected.
type Outcome struct {
	// Result is SUCCESS, or the state of the verification. It is WAITING until an enrollment is complete.
	Result model.FactorResult
	Factor SignInFactor
	// Transaction is the id of a verification that another device completes.
	Transaction string
	// Method is the authentication method of the factor (RFC 8176).
	Method string
}

// Then runs in the transaction of a step, which may run again, unless the step is rejected.
type Then func(tx *docstore.Tx, o Outcome) error

// Factors are the further factors of users.
type Factors interface {
	// Usable lists the factors that a user can verify now.
	Usable(ctx context.Context, q docstore.Reader, user docstore.Doc[model.User]) ([]SignInFactor, error)
	// Verify verifies a factor or starts its verification. The same limits on wrong proofs and messages apply as to all verifications.
	Verify(ctx context.Context, a Attempt, then Then) error
	// EnsureEmail enrolls an email factor with the primary address of a user. That factor replaces an email factor with another address.
	// EnsureEmail does nothing if the user already has that factor, or if the organization does not allow email factors.
	EnsureEmail(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User]) error
	// Enrollable lists the types of factors that a user can enroll.
	Enrollable(ctx context.Context, q docstore.Reader, user docstore.Doc[model.User]) ([]SignInFactor, error)
	// Enroll enrolls a factor.
	Enroll(ctx context.Context, e Enrollment, then Then) error
	// Activate completes an enrollment or returns its state.
	Activate(ctx context.Context, a Attempt, then Then) error
}
