package model

import (
	"github.com/scimwright/scimwright/internal/docstore"
)

// Message is a message that a production service would have sent. The whole message is encrypted with MessageBinding(document id), because
// its contents are secret.
type Message struct {
	Sealed string `json:"sealed"`
}

// KindMessage is the kind of the ids of messages.
const KindMessage Kind = "msg"

// MessageBinding returns the binding with which package seal encrypts a message.
func MessageBinding(id string) string { return "message:" + id }

func messageCollection() docstore.Collection[Message] {
	return docstore.NewCollection[Message]("messages")
}
