package model

import (
	"github.com/scimwright/scimwright/internal/docstore"
)

// Message is a message that a production service would have sent. It is encrypted at rest as a whole, because its contents are secret. Its
// binding is MessageBinding of its document id.
type Message struct {
	Sealed string `json:"sealed"`
}

// KindMessage is the kind of the ids of messages.
const KindMessage Kind = "msg"

// MessageBinding is the seal binding of a message.
func MessageBinding(id string) string { return "message:" + id }

func messageCollection() docstore.Collection[Message] {
	return docstore.NewCollection[Message]("messages")
}
