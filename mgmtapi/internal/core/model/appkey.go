package model

import (
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// AppKey is a key that an application can sign with. Its document id is AppKeyID(app, kid): a key that several applications share has one
// document per application.
//
// The first key of an application is created when it is first read (see AppCredentials.OwnKID): generating an RSA key takes longer than
// everything else about an application, and most keys are never used.
type AppKey struct {
	AppID string      `json:"appId"`
	Key   signkey.Key `json:"key"`
}

// AppKeyID is the document id of a key of an application.
func AppKeyID(app, kid string) string { return docstore.JoinID(app, kid) }

// KIDLength is the number of characters of a key id.
const KIDLength = 43

// AppKeyByApp is the index of the keys by application.
const AppKeyByApp = "app"

func appKeyCollection() docstore.Collection[AppKey] {
	return docstore.NewCollection("app_keys",
		docstore.Index[AppKey]{Name: AppKeyByApp, Values: func(k *AppKey) []any { return []any{k.AppID} }},
	)
}
