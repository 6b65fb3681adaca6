package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/okta/okta-sdk-golang/v2/okta"
	"github.com/pquerna/otp/totp"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

// provider is the provider of the factors that the service itself implements.
const provider = "SVC"

// moved is the duration by which the factor steps move the sandbox clock forward. It exceeds the window of the rate limit for messages.
const moved = 31 * time.Second

// sandbox calls the sandbox API, which has the clock and the outbox.
func (w *work) sandbox(method, path, body string, answer any) error {
	r, err := http.NewRequestWithContext(w.ctx, method, os.Args[1]+"/sandbox/v1/"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "SSWS "+os.Args[2])
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(answer)
}

// code returns the last code that was sent to a user.
func (w *work) code(user string) (string, error) {
	var messages []struct {
		OTP string `json:"otp"`
	}
	if err := w.sandbox(http.MethodGet, "outbox?limit=1&userId="+user, "", &messages); err != nil || len(messages) == 0 {
		return "", fmt.Errorf("%d messages: %w", len(messages), err)
	}
	return messages[0].OTP, nil
}

// verified returns an error unless the service accepts the proof, such as a passcode, for the factor.
func (w *work) verified(factor string, proof okta.VerifyFactorRequest) error {
	answer, _, err := w.client.UserFactor.VerifyFactor(w.ctx, w.ada.Id, factor, proof, nil, nil)
	if err != nil {
		return err
	}
	return walk.Same("result", "SUCCESS", answer.FactorResult)
}

func (w *work) factors() {
	factors, user := w.client.UserFactor, w.ada.Id
	w.Step("list the factors that a user can enroll", func() error {
		list, _, err := factors.ListSupportedFactors(w.ctx, user)
		if err != nil {
			return err
		}
		first, ok := list[0].(*okta.UserFactor)
		return walk.All(walk.Same("type", true, ok), walk.Same("first", "question", first.FactorType))
	})
	w.Step("enroll and verify a question", func() error {
		questions, _, err := factors.ListSupportedSecurityQuestions(w.ctx, user)
		if err != nil {
			return err
		}
		f := okta.NewSecurityQuestionUserFactor()
		f.Provider, f.Profile = provider, &okta.SecurityQuestionUserFactorProfile{Question: questions[0].Question, Answer: "Mayonnaise"}
		if _, _, err := factors.EnrollFactor(w.ctx, user, f, nil); err != nil {
			return err
		}
		if err := walk.All(walk.Same("status", "ACTIVE", f.Status), walk.Same("text", questions[0].QuestionText, f.Profile.QuestionText)); err !=
			nil {
			return err
		}
		if err := w.verified(f.Id, okta.VerifyFactorRequest{Answer: "ketchup"}); err == nil {
			return fmt.Errorf("a wrong answer was accepted")
		}
		return w.verified(f.Id, okta.VerifyFactorRequest{Answer: " mayonnaise"})
	})
	w.Step("enroll, activate and verify text messages", func() error {
		f := okta.NewSmsUserFactor()
		f.Provider, f.Profile = provider, &okta.SmsUserFactorProfile{PhoneNumber: "+1-555-415-1337"}
		if _, _, err := factors.EnrollFactor(w.ctx, user, f, nil); err != nil {
			return err
		}
		if err := walk.All(walk.Same("status", "PENDING_ACTIVATION", f.Status),
			walk.Same("number", "+15554151337", f.Profile.PhoneNumber)); err != nil {
			return err
		}
		code, err := w.code(user)
		if err != nil {
			return err
		}
		if _, _, err := factors.ActivateFactor(w.ctx, user, f.Id, okta.ActivateFactorRequest{PassCode: code}, f); err != nil {
			return err
		}
		if err := walk.Same("status", "ACTIVE", f.Status); err != nil {
			return err
		}
		// Move the clock past the rate limit for messages to one number. Otherwise the API returns 429, and the library waits in real time.
		if err := w.sandbox(http.MethodPost, "clock", fmt.Sprintf(`{"advanceSeconds":%d}`, moved/time.Second), nil); err != nil {
			return err
		}
		challenge, _, err := factors.VerifyFactor(w.ctx, user, f.Id, okta.VerifyFactorRequest{}, nil, nil)
		if err != nil {
			return err
		}
		if err := walk.Same("result", "CHALLENGE", challenge.FactorResult); err != nil {
			return err
		}
		if code, err = w.code(user); err != nil {
			return err
		}
		return w.verified(f.Id, okta.VerifyFactorRequest{PassCode: code})
	})
	w.Step("enroll, activate and verify an app", func() error {
		f := okta.NewTotpUserFactor()
		f.Provider = provider
		if _, _, err := factors.EnrollFactor(w.ctx, user, f, nil); err != nil {
			return err
		}
		activation, _ := f.Embedded.(map[string]any)["activation"].(map[string]any)
		secret, _ := activation["sharedSecret"].(string)
		now, err := totp.GenerateCode(secret, time.Now().Add(moved))
		if err != nil {
			return err
		}
		if _, _, err := factors.ActivateFactor(w.ctx, user, f.Id, okta.ActivateFactorRequest{PassCode: now}, f); err != nil {
			return err
		}
		if err := walk.Same("status", "ACTIVE", f.Status); err != nil {
			return err
		}
		next, err := totp.GenerateCode(secret, time.Now().Add(moved+30*time.Second))
		if err != nil {
			return err
		}
		return w.verified(f.Id, okta.VerifyFactorRequest{PassCode: next})
	})
	w.Step("list and remove the factors of a user", func() error {
		list, _, err := factors.ListFactors(w.ctx, user)
		if err != nil {
			return err
		}
		if err := walk.Same("factors", 3, len(list)); err != nil {
			return err
		}
		first, _ := list[0].(*okta.UserFactor)
		if _, err := factors.DeleteFactor(w.ctx, user, first.Id); err != nil {
			return err
		}
		_, err = w.client.User.ResetFactors(w.ctx, user)
		if err != nil {
			return err
		}
		list, _, err = factors.ListFactors(w.ctx, user)
		return walk.All(err, walk.Same("factors", 0, len(list)))
	})
}
