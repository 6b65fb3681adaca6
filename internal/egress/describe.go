package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// Describe returns why a request got no response, for an administrator who has chosen its URL. The description contains nothing that the
// server has sent: errors of net/http can contain the first line of the response, and errors of crypto/x509 the names in a certificate.
func Describe(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // url.Error adds the method and the URL of the request, which the description omits
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("the host %q cannot be found", dns.Name)
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Error()
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "tls: failed to verify certificate: " + describeCertificate(certificate.Err)
	}
	// Its text has no data from the server: it consists of addresses and a system error or the name of a TLS alert.
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Error()
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "timeout"
	}
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was closed without a response"
	case errors.Is(err, context.Canceled):
		return "the request was canceled"
	case notTLS, errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not use TLS"
	default:
		return "no valid HTTP response"
	}
}

// describeCertificate returns why a certificate is not trusted, in the wording of crypto/x509 without names from the certificate.
func describeCertificate(err error) string {
	_, host := errors.AsType[x509.HostnameError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case host:
		return "x509: certificate is not valid for the host of the URL"
	case authority:
		return "x509: certificate signed by unknown authority"
	case ok && invalid.Reason == x509.Expired:
		return "x509: certificate has expired or is not yet valid"
	default:
		return "x509: certificate is not valid"
	}
}
