package model

import (
	"github.com/scimwright/scimwright/internal/docstore"
)

// Message is a message that would have been sent to somebody. It is sealed as a whole, because what it says is secret: its binding
// is MessageBinding of its document id.
type Message struct {
	Sealed string `json:"sealed"`
}

// KindMessage begins the ids of messages.
const KindMessage Kind = "msg"

// MessageBinding is the seal binding of a message.
func MessageBinding(id string) string { return "message:" + id }

func messageCollection() docstore.Collection[Message] {
	return docstore.NewCollection[Message]("messages")
}
