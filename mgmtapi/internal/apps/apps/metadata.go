package apps

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// The names in SAML 2.0 metadata (saml-metadata-2.0-os, section 2).
const (
	metadataNamespace  = "urn:oasis:names:tc:SAML:2.0:metadata"
	signatureNamespace = "http://www.w3.org/2000/09/xmldsig#"
	samlProtocol       = "urn:oasis:names:tc:SAML:2.0:protocol"
	bindingPost        = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
	bindingRedirect    = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
)

// entityDescriptor is the metadata of one identity provider. The members are in the order of the XML schema.
type entityDescriptor struct {
	XMLName   xml.Name         `xml:"md:EntityDescriptor"`
	Namespace string           `xml:"xmlns:md,attr"`
	EntityID  string           `xml:"entityID,attr"`
	IDP       idpSSODescriptor `xml:"md:IDPSSODescriptor"`
}

type idpSSODescriptor struct {
	Signed        bool          `xml:"WantAuthnRequestsSigned,attr"`
	Protocols     string        `xml:"protocolSupportEnumeration,attr"`
	Key           keyDescriptor `xml:"md:KeyDescriptor"`
	SingleLogout  []endpoint    `xml:"md:SingleLogoutService"`
	NameIDFormats []string      `xml:"md:NameIDFormat"`
	SingleSignOn  []endpoint    `xml:"md:SingleSignOnService"`
}

type keyDescriptor struct {
	Use  string  `xml:"use,attr"`
	Info keyInfo `xml:"ds:KeyInfo"`
}

type keyInfo struct {
	Namespace   string `xml:"xmlns:ds,attr"`
	Certificate string `xml:"ds:X509Data>ds:X509Certificate"`
}

type endpoint struct {
	Binding  string `xml:"Binding,attr"`
	Location string `xml:"Location,attr"`
}

func endpoints(location string) []endpoint {
	return []endpoint{{bindingPost, location}, {bindingRedirect, location}}
}

type metadataRequest struct {
	getRequest
	KID string `query:"kid" doc:"Id of the key in the metadata. Default: the signing key of the application."`
}

// metadata returns the metadata of the identity provider for the application.
func (s *Slice) metadata(ctx context.Context, req *metadataRequest) (rest.XML, error) {
	app := req.app.Value
	if app.SignOnMode != catalog.SAML {
		return rest.XML{}, rest.Fail(rest.CodeAppOperation, "signOnMode: Only applications with the sign-on mode SAML_2_0 have SAML metadata")
	}
	key, err := s.key(ctx, s.Store.Reader(), req.app, cmp.Or(req.KID, app.Credentials.SigningKID))
	if err != nil {
		return rest.XML{}, err
	}
	describe := entityDescriptor{
		Namespace: metadataNamespace, EntityID: entityID(app),
		IDP: idpSSODescriptor{
			Protocols:     samlProtocol,
			Key:           keyDescriptor{Use: "signing", Info: keyInfo{Namespace: signatureNamespace, Certificate: key.Value.Key.X5C()[0]}},
			NameIDFormats: formatsOf(app),
			SingleSignOn:  endpoints(signOnURL(ctx, req.app, "sso")),
		},
	}
	if logout, _ := app.Settings.SignOn["slo"].(map[string]any); logout["enabled"] == true {
		describe.IDP.SingleLogout = endpoints(signOnURL(ctx, req.app, "slo"))
	}
	document, err := xml.Marshal(describe)
	if err != nil {
		return rest.XML{}, fmt.Errorf("apps: metadata of %s: %w", req.AppID, err)
	}
	return rest.XML{Document: append([]byte(xml.Header), document...)}, nil
}

// entityID returns the name of the identity provider: the one in the settings, or a default that does not depend on the URL of the API.
func entityID(app model.App) string {
	if given, _ := app.Settings.SignOn["idpIssuer"].(string); given != "" {
		return strings.ReplaceAll(given, "${org.externalKey}", app.IssuerID)
	}
	return "urn:svc:saml:" + app.IssuerID
}

// signOnURL returns the URL to which browsers bring the application's sign-on requests.
func signOnURL(ctx context.Context, app docstore.Doc[model.App], what string) string {
	return rest.URL(ctx, "app", app.Value.Name, app.Value.IssuerID, what, "saml")
}

// formatsOf returns the formats of user names in assertions: two that every application supports, and the configured one.
func formatsOf(app model.App) []string {
	formats := nameIDFormats[:2:2]
	if own, _ := app.Settings.SignOn["subjectNameIdFormat"].(string); own != "" && !slices.Contains(formats, own) {
		formats = append(formats, own)
	}
	return formats
}
