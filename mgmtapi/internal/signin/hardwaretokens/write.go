package hardwaretokens

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey"
)

// TokenSeed is the body of a request to add a hardware token.
type TokenSeed struct {
	SerialNumber string `json:"serialNumber" required:"true" doc:"Serial number on the token, up to twelve digits."`
	PublicID     string `json:"publicId" required:"true" doc:"Public id, the prefix of each password: twelve modhex characters."`
	PrivateID    string `json:"privateId" required:"true" writeOnly:"true" doc:"Secret id: twelve hexadecimal digits."`
	AESKey       string `json:"aesKey" required:"true" writeOnly:"true" doc:"Secret key: 32 hexadecimal digits."`
}

type createRequest struct {
	Body TokenSeed `body:"required"`

	serial string
	seed   model.HardwareSeed
}

// checkCreate parses the seed.
func checkCreate(_ context.Context, r *createRequest, causes *rest.Causes) error {
	var ok bool
	if r.serial, ok = model.SerialNumber(r.Body.SerialNumber); !ok && !causes.Has("serialNumber") {
		causes.Add("serialNumber", "The value must be a number of at most %d digits", model.SerialLength)
	}
	if (len(r.Body.PublicID) != yubikey.PublicIDLength || !yubikey.IsModhex(r.Body.PublicID)) && !causes.Has("publicId") {
		causes.Add("publicId", "The value must have %d modhex characters", yubikey.PublicIDLength)
	}
	for _, secret := range []struct {
		name, text string
		into       []byte
	}{{"privateId", r.Body.PrivateID, r.seed.PrivateID[:]}, {"aesKey", r.Body.AESKey, r.seed.Key[:]}} {
		data, err := hex.DecodeString(secret.text)
		if (err != nil || copy(secret.into, data) != len(data) || len(data) != len(secret.into)) && !causes.Has(secret.name) {
			causes.Add(secret.name, "The value must have %d hexadecimal digits", 2*len(secret.into))
		}
	}
	return nil
}

// uniqueMembers maps the unique indexes to the members of the request.
var uniqueMembers = map[string]string{model.HardwareTokenBySerial: "serialNumber", model.HardwareTokenByPublicID: "publicId"}

func (s *Slice) create(ctx context.Context, r *createRequest) (HardwareToken, error) {
	id := model.NewID(model.KindHardwareToken)
	sealed, err := r.seed.Seal(s.o.Secrets, id)
	if err != nil {
		return HardwareToken{}, err
	}
	var doc docstore.Doc[model.HardwareToken]
	err = s.Update(ctx, func(tx *docstore.Tx) (err error) {
		doc, err = s.HardwareTokens.Insert(ctx, tx, id,
			model.HardwareToken{Serial: r.serial, PublicID: r.Body.PublicID, Seed: sealed, Made: s.Now()})
		if unique, ok := errors.AsType[*docstore.UniqueError](err); ok {
			return rest.NotUnique(uniqueMembers[unique.Index])
		}
		if err != nil {
			return err
		}
		return s.log(ctx, tx, audit.HardwareTokenCreate, doc)
	})
	return s.render(ctx, doc), err
}

func (s *Slice) delete(ctx context.Context, t *target) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		if t.found.Value.User != "" {
			return rest.Fail(rest.CodeState, "status: The token belongs to a user")
		}
		if err := s.HardwareTokens.Delete(ctx, tx, t.ID); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.HardwareTokenDelete, t.found)
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.HardwareTokenDelete, Targets: []model.LogParty{audit.HardwareToken(t.found)}}, err)
}

func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, doc docstore.Doc[model.HardwareToken]) error {
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.HardwareToken(doc)}})
}
