// Package smstemplates serves the templates of text messages. An enrollment, a resend or a challenge of an sms factor selects a template by
// id. Without an id, or with an unknown id, the message has the built-in text.
package smstemplates
