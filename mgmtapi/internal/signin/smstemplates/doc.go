// Package smstemplates serves the templates of text messages: an enrollment, a resend or a challenge of a factor of the type sms chooses
// one by its id. Without one, or with an id that no template has, the message has the built-in text.
package smstemplates
