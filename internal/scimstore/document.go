package scimstore

import (
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// document is the stored form of a resource.
type document struct {
	Resource     *scim.Resource
	Display      string
	PasswordHash string
}

// Names of the stored members.
const (
	keyResource = "resource"
	keyDisplay  = "display"
	keyPassword = "passwordHash"
)

// usualSize is the typical length of a document in bytes.
const usualSize = 1024

// AppendJSON appends the JSON text of the document to dst.
func (d *document) AppendJSON(dst []byte) []byte {
	dst = slices.Grow(dst, usualSize)
	dst = append(dst, `{"`+keyResource+`":`...)
	dst = d.Resource.AppendJSON(dst)
	dst = append(dst, `,"`+keyDisplay+`":`...)
	dst = scim.AppendValue(dst, d.Display)
	if d.PasswordHash != "" {
		dst = append(dst, `,"`+keyPassword+`":`...)
		dst = scim.AppendValue(dst, d.PasswordHash)
	}
	return append(dst, '}')
}

// UnmarshalJSON decodes the document in one pass, without a first pass of encoding/json that delimits the parts.
func (d *document) UnmarshalJSON(data []byte) error {
	o, err := scim.Decode(data)
	if err != nil {
		return err
	}
	*d = document{Resource: &scim.Resource{}, Display: o.Text(keyDisplay), PasswordHash: o.Text(keyPassword)}
	if r := o.Complex(keyResource); r != nil {
		d.Resource.Object = *r
	}
	return nil
}

func documentOf(rec *scimserver.Record) document {
	return document{Resource: rec.Resource, Display: rec.Display, PasswordHash: rec.PasswordHash}
}

// recordOf returns the record of a document, without its groups.
func recordOf(k *kind, doc docstore.Doc[document]) *scimserver.Record {
	return &scimserver.Record{
		Type: k.Name, ID: doc.ID, Version: doc.Rev, Order: doc.Seq(), Created: doc.Created, LastModified: doc.Updated,
		Resource: doc.Value.Resource, Display: doc.Value.Display, PasswordHash: doc.Value.PasswordHash,
	}
}
