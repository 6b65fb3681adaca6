package factors

import (
	"context"
	"crypto/subtle"
	"fmt"

	"github.com/skip2/go-qrcode"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// qrToken is the number of random characters of the token for a QR code, qrSize the width of the image in pixels.
const (
	qrToken = 32
	qrSize  = 256
)

// newQR generates the token for the QR code of the enrollment. The kind stores it encrypted, so that it can be shown again.
func (a *act) newQR() string {
	token := model.NewSecret(qrToken)
	a.factor.QR = model.SecretHash(token)
	return token
}

// qrLink returns the link to the QR code with the token.
func (a *act) qrLink(ctx context.Context, token string) rest.Link {
	link := rest.To(a.url(ctx, "qr", token))
	link.Type = "image/png"
	return link
}

type qrRequest struct {
	User   string `path:"user" doc:"Id of the user."`
	Factor string `path:"factorId" doc:"Id of the factor."`
	Token  string `path:"token" doc:"Token from the link of the enrollment. No other credential is required."`

	found docstore.Doc[model.Factor]
}

// findQR finds the enrollment of a token. Without a valid token, the error does not reveal whether the factor exists.
func (s *Slice) findQR(ctx context.Context, r *qrRequest) error {
	doc, err := model.Optional(ctx, s.Store.Reader(), s.Factors, r.Factor)
	if err != nil {
		return err
	}
	refused := rest.NotFound(name, r.Factor)
	if doc == nil || doc.Value.User != r.User || doc.Value.QR == "" {
		return refused
	}
	status, err := s.statusOf(ctx, s.Store.Reader(), &doc.Value)
	if err != nil {
		return err
	}
	if status != model.FactorPending || subtle.ConstantTimeCompare([]byte(doc.Value.QR), []byte(model.SecretHash(r.Token))) != 1 {
		return refused
	}
	r.found = *doc
	return nil
}

func (s *Slice) qr(ctx context.Context, r *qrRequest) (rest.PNG, error) {
	user, err := s.Users.Get(ctx, s.Store.Reader(), r.User)
	if err != nil {
		return rest.PNG{}, rest.Missing(err, "User", r.User)
	}
	a := s.actOn(&target{owner: owner{user: user}, found: r.found})
	if a.kind.QR == nil {
		return rest.PNG{}, rest.NotFound(name, r.Factor)
	}
	content, err := a.kind.QR(ctx, a)
	if err != nil {
		return rest.PNG{}, err
	}
	picture, err := qrcode.Encode(content, qrcode.Medium, qrSize)
	if err != nil {
		return rest.PNG{}, fmt.Errorf("QR code of the factor %s: %w", r.Factor, err)
	}
	return rest.PNG{Picture: picture}, nil
}
