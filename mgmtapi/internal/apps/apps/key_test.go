package apps_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Proves C-apps-13.
func TestKeysOfApplications(t *testing.T) {
	w := apptest.New(t)
	first, second := w.Post("/apps", customSAML).OK(), w.Post("/apps", serviceClient).OK()
	id, kid := first.Text("id"), first.Text("credentials", "signing", "kid")
	path := "/apps/" + id + "/credentials/keys"
	require.Regexp(t, `^[\w-]{43}$`, kid)
	require.NotEqual(t, kid, second.Text("credentials", "signing", "kid"))
	_, err := w.Model.AppKeys.Get(t.Context(), w.Store.Reader(), model.AppKeyID(id, kid))
	require.Error(t, err, "the key was not generated before")

	// Concurrent first reads generate only one key: all responses are equal.
	bodies := make([]string, 4)
	var wg sync.WaitGroup
	for i := range bodies {
		wg.Go(func() { bodies[i] = string(w.Get(path).Body) })
	}
	wg.Wait()
	for _, body := range bodies {
		require.Equal(t, bodies[0], body)
	}
	var keys []map[string]any
	w.Get(path).OK().Into(&keys)
	require.Len(t, keys, 1)
	own := keys[0]
	require.Equal(t, kid, own["kid"])
	require.Equal(t, "RSA", own["kty"])
	require.Equal(t, "sig", own["use"])
	require.Equal(t, first.Text("created"), own["created"])
	require.NotContains(t, own, "d", "the private half")
	der, err := base64.StdEncoding.DecodeString(own["x5c"].([]any)[0].(string))
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	require.InDelta(t, 3650, parsed.NotAfter.Sub(parsed.NotBefore).Hours()/24, 3, "ten years")
	sum := sha256.Sum256(der)
	require.Equal(t, base64.RawURLEncoding.EncodeToString(sum[:]), own["x5t#S256"])
	require.Equal(t, kid, w.Get(path+"/"+kid).OK().Text("kid"))

	for _, query := range []string{"", "?validityYears=", "?validityYears=1", "?validityYears=11", "?validityYears=x", "?validityYears=2.5"} {
		w.Post(path+"/generate"+query, nil).Fails(400, "E0000001", "validityYears: ")
	}
	made := w.Post(path+"/generate?validityYears=2", nil).OK(201)
	newKID := made.Text("kid")
	require.InDelta(t, 730, daysBetween(t, made), 2)
	w.Get(path).OK().Into(&keys)
	require.Len(t, keys, 2)
	require.Equal(t, []any{kid, newKID}, []any{keys[0]["kid"], keys[1]["kid"]}, "the first key is listed first")

	// The application signs with the new key once credentials.signing.kid names it. A clone shares the key with another application.
	other := second.Text("id")
	elsewhere := "/apps/" + other + "/credentials/keys"
	body := strings.Replace(string(first.Body), kid, newKID, 1)
	require.Equal(t, newKID, w.Put("/apps/"+id, body).OK().Text("credentials", "signing", "kid"))
	require.Equal(t, newKID, w.Put("/apps/"+id, customSAML).OK().Text("credentials", "signing", "kid"),
		"an omitted key id keeps the signing key")
	w.Put("/apps/"+other, set(t, serviceClient, "credentials.signing.kid", newKID)).Fails(400, "E0000001",
		"credentials.signing.kid: The application has no key")
	require.Equal(t, []string{id}, w.Get("/apps?filter=credentials.signing.kid+eq+%22"+newKID+"%22").IDs())
	require.Empty(t, w.Get("/apps?filter=credentials.signing.kid+eq+"+kid).IDs())

	for query, code := range map[string]string{"": "E0000001", "?targetAid=": "E0000001", "?targetAid=" + id: "E0000001"} {
		w.Post(path+"/"+newKID+"/clone"+query, nil).Fails(400, code, "targetAid: ")
	}
	w.Post(path+"/"+kid+"/clone?targetAid="+id, nil).Fails(400, "E0000001", "targetAid: The application already has the key")
	w.Post(path+"/"+newKID+"/clone?targetAid=0oanosuch", nil).Fails(404, "E0000007", "0oanosuch (AppInstance)")
	cloned := w.Post(path+"/"+newKID+"/clone?targetAid="+other, nil).OK(201)
	require.Equal(t, made.Text("n"), cloned.Text("n"))
	require.Equal(t, made.Text("created"), cloned.Text("created"))
	require.Equal(t, newKID, w.Get(elsewhere+"/"+newKID).OK().Text("kid"))
	w.Post(path+"/"+newKID+"/clone?targetAid="+other, nil).Fails(400, "E0000001", "targetAid: ")
	w.Put("/apps/"+other, set(t, serviceClient, "credentials.signing.kid", newKID)).OK()
	require.Equal(t, []string{id, other}, w.Get("/apps?filter=credentials.signing.kid+eq+"+newKID).IDs())

	// An application whose sign-on mode uses no signatures has no signing keys. An unknown key id results in 404.
	bookmark := w.Bookmark("x")
	require.JSONEq(t, `[]`, string(w.Get("/apps/"+bookmark+"/credentials/keys").OK().Body))
	w.Post("/apps/"+bookmark+"/credentials/keys/generate?validityYears=2", nil).Fails(400, "E0000024")
	w.Post(path+"/"+newKID+"/clone?targetAid="+bookmark, nil).Fails(400, "E0000024")
	w.Put("/apps/"+bookmark, `{"label":"x","settings":{"app":{"url":"https://a.example/"}},"credentials":{"signing":{"kid":"`+kid+`"}}}`).
		Fails(400, "E0000001", "credentials.signing.kid: Applications with the sign-on mode BOOKMARK have no signing keys")
	for _, missing := range []string{"/apps/0oanosuch/credentials/keys", path + "/nosuch", "/apps/" + other + "/credentials/keys/" + kid} {
		w.Get(missing).Fails(404, "E0000007")
	}
	w.Post("/apps/0oanosuch/credentials/keys/generate?validityYears=2", nil).Fails(404, "E0000007", "(AppInstance)")
	w.Post(path+"/nosuch/clone?targetAid="+other, nil).Fails(404, "E0000007", "nosuch (OAuth2Key)")

	w.Post("/apps/"+id+"/lifecycle/deactivate", nil).OK()
	w.Delete("/apps/" + id).OK(204)
	_, err = w.Model.AppKeys.Get(t.Context(), w.Store.Reader(), model.AppKeyID(id, kid))
	require.Error(t, err, "keys are deleted with their application")
	require.Equal(t, newKID, w.Get(elsewhere+"/"+newKID).OK().Text("kid"), "shared keys remain")
}

func daysBetween(t *testing.T, key *apptest.Answer) float64 {
	t.Helper()
	der, err := base64.StdEncoding.DecodeString(key.Value("x5c").([]any)[0].(string))
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return c.NotAfter.Sub(c.NotBefore).Hours() / 24
}

// descriptor is the part of SAML metadata that a service provider reads.
type descriptor struct {
	XMLName xml.Name `xml:"urn:oasis:names:tc:SAML:2.0:metadata EntityDescriptor"`
	ID      string   `xml:"entityID,attr"`
	IDP     struct {
		Protocols string `xml:"protocolSupportEnumeration,attr"`
		Signed    bool   `xml:"WantAuthnRequestsSigned,attr"`
		Keys      []struct {
			Use         string `xml:"use,attr"`
			Certificate string `xml:"http://www.w3.org/2000/09/xmldsig# KeyInfo>X509Data>X509Certificate"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:metadata KeyDescriptor"`
		Logout  []service `xml:"urn:oasis:names:tc:SAML:2.0:metadata SingleLogoutService"`
		Formats []string  `xml:"urn:oasis:names:tc:SAML:2.0:metadata NameIDFormat"`
		SignOn  []service `xml:"urn:oasis:names:tc:SAML:2.0:metadata SingleSignOnService"`
	} `xml:"urn:oasis:names:tc:SAML:2.0:metadata IDPSSODescriptor"`
}

type service struct {
	Binding  string `xml:"Binding,attr"`
	Location string `xml:"Location,attr"`
}

// children returns the names of the child elements of the element with the name, in document order.
func children(t *testing.T, document []byte, of string) []string {
	t.Helper()
	var names []string
	decoder, depth, at := xml.NewDecoder(strings.NewReader(string(document))), 0, -1
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			if depth++; e.Name.Local == of {
				at = depth
			} else if at > 0 && depth == at+1 {
				names = append(names, e.Name.Local)
			}
		case xml.EndElement:
			if depth == at {
				at = -1
			}
			depth--
		}
	}
}

// Proves C-apps-18.
func TestSAMLMetadata(t *testing.T) {
	w := apptest.New(t)
	app := w.Post("/apps",
		set(t, customSAML, "settings.signOn.subjectNameIdFormat", "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent")).OK()
	id, kid := app.Text("id"), app.Text("credentials", "signing", "kid")
	_, path, _ := strings.Cut(app.Text("_links", "metadata", "href"), "/api/v1")
	require.Equal(t, "application/xml", app.Text("_links", "metadata", "type"))
	require.Equal(t, "/apps/"+id+"/sso/saml/metadata", path)

	read := func(path string) (d descriptor, document []byte) {
		answer := w.Get(path).OK()
		require.Equal(t, "application/xml", answer.Header.Get("Content-Type"))
		require.NoError(t, xml.Unmarshal(answer.Body, &d))
		return d, answer.Body
	}
	d, document := read(path)
	require.True(t, strings.HasPrefix(string(document), xml.Header))
	require.Regexp(t, `^urn:svc:saml:exk\w{17}$`, d.ID)
	require.Equal(t, "urn:oasis:names:tc:SAML:2.0:protocol", d.IDP.Protocols)
	require.Len(t, d.IDP.Keys, 1)
	require.Equal(t, "signing", d.IDP.Keys[0].Use)
	require.Equal(t, w.Get("/apps/"+id+"/credentials/keys/"+kid).OK().Value("x5c"), []any{d.IDP.Keys[0].Certificate})
	require.Equal(t, []string{
		"urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified", "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
		"urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
	}, d.IDP.Formats)
	require.Empty(t, d.IDP.Logout)
	require.Len(t, d.IDP.SignOn, 2)
	for i, binding := range []string{"HTTP-POST", "HTTP-Redirect"} {
		require.Equal(t, "urn:oasis:names:tc:SAML:2.0:bindings:"+binding, d.IDP.SignOn[i].Binding)
		require.Regexp(t, `^http://.*/app/sandbox_acmeco2_1/exk\w{17}/sso/saml$`, d.IDP.SignOn[i].Location)
	}

	made := w.Post("/apps/"+id+"/credentials/keys/generate?validityYears=3", nil).OK(201)
	d, _ = read(path + "?kid=" + made.Text("kid"))
	require.Equal(t, made.Value("x5c"), []any{d.IDP.Keys[0].Certificate})
	w.Get(path+"?kid=nosuch").Fails(404, "E0000007", "nosuch (OAuth2Key)")

	// The metadata has all optional elements, in the order of the XML schema, and an entity id with characters that require escaping.
	body := set(t, customSAML, "settings.signOn.idpIssuer", `urn:<"Acme" & 'Co'>:${org.externalKey}`)
	body = set(t, body, "settings.signOn.spCertificate", object{"x5c": []any{certificate(t)}})
	body = set(t, body, "settings.signOn.slo", object{"enabled": true, "spIssuer": "urn:sp", "logoutUrl": "https://sp.example/out"})
	body = set(t, body, "credentials.signing.kid", made.Text("kid"))
	w.Put("/apps/"+id, body).OK()
	d, document = read(path)
	require.Regexp(t, `^urn:<"Acme" & 'Co'>:exk\w{17}$`, d.ID)
	require.Equal(t, made.Value("x5c"), []any{d.IDP.Keys[0].Certificate}, "the signing key of the application")
	require.Len(t, d.IDP.Logout, 2)
	require.Regexp(t, `/slo/saml$`, d.IDP.Logout[0].Location)
	require.Equal(t, []string{"IDPSSODescriptor"}, children(t, document, "EntityDescriptor"))
	require.Equal(t, []string{
		"KeyDescriptor", "SingleLogoutService", "SingleLogoutService", "NameIDFormat", "NameIDFormat", "SingleSignOnService",
		"SingleSignOnService",
	}, children(t, document, "IDPSSODescriptor"))
	require.Equal(t, []string{"KeyInfo"}, children(t, document, "KeyDescriptor"))

	w.Get("/apps/"+w.Bookmark("x")+"/sso/saml/metadata").Fails(400, "E0000024")
	w.Get("/apps/"+w.Post("/apps", serviceClient).OK().Text("id")+"/sso/saml/metadata").Fails(400, "E0000024")
	w.Get("/apps/0oanosuch/sso/saml/metadata").Fails(404, "E0000007", "(AppInstance)")
}
