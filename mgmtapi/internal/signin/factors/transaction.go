package factors

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// transactionRequest identifies a verification on another device.
type transactionRequest struct {
	target
	Transaction string `path:"transactionId" doc:"Id of the transaction."`

	transaction docstore.Doc[model.FactorTransaction]
}

func (t *transactionRequest) self() *transactionRequest { return t }

func (s *Slice) findTransaction(ctx context.Context, q docstore.Reader, r *transactionRequest) error {
	return s.findTransactionIn(ctx, q, r, r.User)
}

func (s *Slice) findTransactionIn(ctx context.Context, q docstore.Reader, r *transactionRequest, ref string) (err error) {
	if err := s.findIn(ctx, q, &r.target, ref); err != nil {
		return err
	}
	r.transaction, err = s.FactorTransactions.Get(ctx, q, r.Transaction)
	if err == nil && r.transaction.Value.Factor != r.found.ID { // the transaction belongs to another factor
		return rest.NotFound(nameTransaction, r.Transaction)
	}
	return rest.Missing(err, nameTransaction, r.Transaction)
}

// nameTransaction is the name of a transaction in errors.
const nameTransaction = "FactorTransaction"

func (s *Slice) poll(ctx context.Context, r *transactionRequest) (Verification, error) {
	return s.actOn(&r.target).polled(ctx, r.Transaction, &r.transaction.Value), nil
}

// polled returns the state of a transaction as the response to a poll.
func (a *act) polled(ctx context.Context, id string, t *model.FactorTransaction) Verification {
	out := Verification{Result: t.ResultAt(a.now)}
	switch out.Result {
	case model.FactorWaiting:
		out.ExpiresAt, out.Profile = rest.TimePtr(t.Expires), a.factor.Profile
		out.Links = rest.Links{
			"poll":   rest.To(a.url(ctx, "transactions", id), http.MethodGet),
			"cancel": rest.To(a.url(ctx, "transactions", id), http.MethodDelete),
		}
	case model.FactorRejected, model.FactorTimeout:
		out.Links = rest.Links{
			"verify": rest.To(a.url(ctx, "verify"), http.MethodPost), "factor": rest.To(a.url(ctx), http.MethodGet, http.MethodDelete),
		}
	}
	return out
}

// cancel cancels a pending transaction. It does not modify a complete one.
func (s *Slice) cancel(ctx context.Context, r *transactionRequest) (out Verification, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.findTransactionIn(ctx, tx, r, r.user.ID); err != nil {
			return err
		}
		a := s.actOn(&r.target)
		a.tx = tx
		t := r.transaction.Value
		if result := t.ResultAt(a.now); result != model.FactorWaiting && result != model.FactorCancelled {
			return rest.Failf(rest.CodeState, "The transaction is complete: %s.", result)
		}
		out = Verification{Result: model.FactorCancelled}
		if t.Result == model.FactorCancelled {
			return nil
		}
		t.Result = model.FactorCancelled
		if _, err := s.FactorTransactions.Update(ctx, tx, r.transaction.ID, r.transaction.Rev, t); err != nil {
			return err
		}
		return a.log(ctx, audit.FactorVerify, "The verification was canceled")
	})
	return out, err
}
