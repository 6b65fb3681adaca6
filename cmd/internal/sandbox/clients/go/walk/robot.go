package walk

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
)

// Robot is a service application that calls the API with access tokens. It requests them with private_key_jwt.
type Robot struct {
	ClientID, PrivateKey string // the private key in PEM format
	KeyID                string
	Scopes               []string
}

// NewRobot registers a service application with the role SUPER_ADMIN, at the base URL and with an API token.
func NewRobot(base, token string) (*Robot, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	r := &Robot{KeyID: "robot",
		Scopes: []string{"svc.roles.manage", "svc.authorizationServers.manage", "svc.inlineHooks.manage", "svc.users.manage",
			"svc.groups.manage"}}
	r.PrivateKey = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	text := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }
	var client struct {
		ID string `json:"client_id"`
	}
	err = post(base+"/oauth2/v1/clients", token, map[string]any{
		"client_name": "Robot", "application_type": "service", "grant_types": []string{"client_credentials"}, "response_types": []string{"token"},
		"token_endpoint_auth_method": "private_key_jwt",
		"jwks": map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "use": "sig", "kid": r.KeyID, "n": text(key.N), "e": text(big.NewInt(int64(key.E))),
		}}},
	}, &client)
	if err != nil {
		return nil, err
	}
	r.ClientID = client.ID
	for _, scope := range r.Scopes {
		if err := post(base+"/api/v1/apps/"+r.ClientID+"/grants", token, map[string]any{"scopeId": scope, "issuer": base}, nil); err != nil {
			return nil, err
		}
	}
	return r, post(base+"/oauth2/v1/clients/"+r.ClientID+"/roles", token, map[string]any{"type": "SUPER_ADMIN"}, nil)
}

func post(url, token string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "SSWS "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if data, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: %s: %s", url, res.Status, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}
