package factors

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/scimwright/scimwright/internal/openapi"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/mfa"
)

// Factor is a factor in JSON.
type Factor struct {
	ID       string `json:"id" readOnly:"true" doc:"Id of the factor."`
	Type     string `json:"factorType" readOnly:"true" doc:"Type of the factor."`
	Provider string `json:"provider" readOnly:"true" doc:"Provider of the factor."`
	Vendor   string `json:"vendorName" readOnly:"true" doc:"Name of the provider."`

	Status string `json:"status" readOnly:"true" enum:"PENDING_ACTIVATION,ENROLLED,ACTIVE,INACTIVE,EXPIRED" doc:"Status of the factor."`

	Created     rest.Time         `json:"created" readOnly:"true" doc:"Time at which the enrollment started."`
	LastUpdated rest.Time         `json:"lastUpdated" readOnly:"true" doc:"Time of the last change of profile or status."`
	Profile     map[string]string `json:"profile,omitempty" readOnly:"true" doc:"Profile of the factor, by its type."`
	Links       rest.Links        `json:"_links" readOnly:"true" doc:"Links to the operations that the status allows."`

	Embedded map[string]any `json:"_embedded,omitempty" readOnly:"true" doc:"activation: data to complete the enrollment."`
}

// FactorProfile is the profile of a factor in requests, the same as during a sign-in.
type FactorProfile = mfa.FactorProfile

// Proof is a proof of possession of a factor, the same as during a sign-in.
type Proof = mfa.Proof

// FactorOrActivation is the response to an activation: the factor if it is complete, otherwise the state of its enrollment.
type FactorOrActivation struct{ shown any }

// MarshalJSON writes the Factor or the Activation.
func (f FactorOrActivation) MarshalJSON() ([]byte, error) { return json.Marshal(f.shown) }

// OpenAPISchema returns a schema of both alternatives.
func (FactorOrActivation) OpenAPISchema() *openapi.Schema {
	activation := openapi.Object(map[string]*openapi.Schema{
		"expiresAt":    openapi.DateTime(),
		"factorResult": openapi.String(),
		"host":         openapi.String(),
		"signature":    openapi.String(),
		"_links":       {Type: openapi.TypeObject, AdditionalProperties: true},
	})
	activation.Required = []string{"factorResult", "_links"}
	return &openapi.Schema{OneOf: []*openapi.Schema{openapi.Component("Factor"), activation}}
}

// Activation is the state of an enrollment that another device completes.
type Activation struct {
	ExpiresAt *rest.Time         `json:"expiresAt,omitempty" readOnly:"true" doc:"Time until which the enrollment can be completed."`
	Result    model.FactorResult `json:"factorResult" readOnly:"true" enum:"WAITING,CANCELLED,TIMEOUT,ERROR" doc:"State of the enrollment."`
	Host      string             `json:"host,omitempty" readOnly:"true" doc:"Host of the vendor's page, for web."`
	Signature string             `json:"signature,omitempty" readOnly:"true" doc:"Signed request for that page, for web."`
	Links     rest.Links         `json:"_links" readOnly:"true" doc:"Links to the next operations."`
}

// Verification is the result of a verification, or the challenge for it.
type Verification struct {
	Result    model.FactorResult `json:"factorResult" readOnly:"true" doc:"Result of the verification."`
	Message   string             `json:"factorMessage,omitempty" readOnly:"true" doc:"Human-readable details of the result."`
	ExpiresAt *rest.Time         `json:"expiresAt,omitempty" readOnly:"true" doc:"Time until which the verification can be completed."`
	Profile   map[string]string  `json:"profile,omitempty" readOnly:"true" doc:"Profile of the factor."`
	Embedded  map[string]any     `json:"_embedded,omitempty" readOnly:"true" doc:"challenge: data to sign."`
	Links     rest.Links         `json:"_links,omitempty" readOnly:"true" doc:"Links to the next operations."`

	created     bool   // a transaction was created
	transaction string // id of a verification on another device
}

// MoreTags implements rest.Described.
func (Verification) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"factorResult": `enum:"SUCCESS,CHALLENGE,WAITING,REJECTED,CANCELLED,TIMEOUT,FAILED,ERROR,PASSCODE_REPLAYED,TIME_WINDOW_EXCEEDED"`,
	}
}

// HTTPStatus returns 201 if the request created a transaction to poll, otherwise 200.
func (v Verification) HTTPStatus() int {
	if v.created {
		return http.StatusCreated
	}
	return 0
}

// url returns the URL of the factor, or of a path below it.
func (a *act) url(ctx context.Context, segments ...string) string {
	return factorURL(ctx, a.user.ID, a.id, segments...)
}

func factorURL(ctx context.Context, user, id string, segments ...string) string {
	return rest.URL(ctx, append([]string{"api", "v1", "users", user, "factors", id}, segments...)...)
}

func toUser(ctx context.Context, id string) rest.Link {
	return rest.To(rest.URL(ctx, "api", "v1", "users", id), http.MethodGet)
}

// links returns the links of a factor in a status.
func (k *kind) links(ctx context.Context, id string, f *model.Factor, status model.FactorStatus) rest.Links {
	at := func(segments ...string) string { return factorURL(ctx, f.User, id, segments...) }
	links := rest.Links{"user": toUser(ctx, f.User)}
	switch status {
	case model.FactorPending:
		links["self"] = rest.To(at(), http.MethodGet)
		links["activate"] = rest.To(at("lifecycle", "activate"), http.MethodPost)
		if k.Resend != "" {
			resend := rest.To(at("resend"), http.MethodPost)
			resend.Name = k.Resend
			links["resend"] = []rest.Link{resend}
		}
	case model.FactorActive:
		links["self"] = rest.To(at(), http.MethodGet, http.MethodDelete)
		if k.Type == model.FactorQuestion {
			links["questions"] = rest.To(rest.URL(ctx, "api", "v1", "users", f.User, "factors", "questions"), http.MethodGet)
		} else {
			links["verify"] = rest.To(at("verify"), http.MethodPost)
		}
	default:
		links["self"] = rest.To(at(), http.MethodGet, http.MethodDelete)
	}
	if k.Link != nil {
		k.Link(ctx, id, f, links)
	}
	return links
}

// render returns the factor with its current status.
func (s *Slice) render(ctx context.Context, q docstore.Reader, a *act) (Factor, error) {
	status, err := s.statusOf(ctx, q, &a.factor)
	if err != nil {
		return Factor{}, err
	}
	return a.show(ctx, status)
}

// show returns the factor with the given status.
func (a *act) show(ctx context.Context, status model.FactorStatus) (Factor, error) {
	f := &a.factor
	out := Factor{
		ID: a.id, Type: string(f.Type), Provider: string(f.Provider), Vendor: f.Vendor, Status: string(status),
		Created: rest.TimeOf(f.Enrolled), LastUpdated: rest.TimeOf(f.Changed), Profile: f.Profile, Links: a.kind.links(ctx, a.id, f, status),
	}
	if status == model.FactorPending && a.kind.Pending != nil {
		activation, err := a.kind.Pending(ctx, a)
		if err != nil {
			return Factor{}, err
		}
		out.Embedded = map[string]any{"activation": activation}
	}
	return out, nil
}

func (s *Slice) get(ctx context.Context, t *target) (Factor, error) {
	return s.render(ctx, s.Store.Reader(), s.actOn(t))
}
