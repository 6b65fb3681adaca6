package factors

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// customQuestion is the key of a question that the user has written.
const customQuestion = "custom"

// minAnswer is the minimum length of an answer in characters.
const minAnswer = 4

// SecurityQuestion is a question that a user can choose.
type SecurityQuestion struct {
	Question string `json:"question" readOnly:"true" doc:"Key of the question."`
	Text     string `json:"questionText" readOnly:"true" doc:"The question."`
}

// securityQuestions lists the predefined questions.
var securityQuestions = []SecurityQuestion{
	{"disliked_food", "Which food did you like least as a child?"},
	{"name_of_first_plush_toy", "What was your first stuffed animal called?"},
	{"first_award", "For what did you win your first award?"},
	{"favorite_security_question", "Which security question do you like best?"},
	{"favorite_toy", "Which toy did you like most as a child?"},
	{"first_computer_game", "Which computer game did you play first?"},
	{"favorite_movie_quote", "What is your favourite film quote?"},
	{"first_sports_team_mascot", "What was your first sports team's mascot?"},
	{"first_music_purchase", "Which music did you buy first?"},
	{"favorite_art_piece", "Which work of art do you like best?"},
	{"grandmother_favorite_desert", "What was your grandmother's favourite dessert?"},
	{"first_thing_cooked", "What did you first learn to cook?"},
	{"childhood_dream_job", "Which job did you dream of as a child?"},
	{"first_kiss_location", "Where was your first kiss?"},
	{"place_where_significant_other_was_met", "Where did you meet your partner?"},
	{"favorite_vacation_location", "Where do you like to go on holiday?"},
	{"new_years_two_thousand", "Where were you at New Year 2000?"},
	{"favorite_speaker_actor", "Who is your favourite speaker or actor?"},
	{"favorite_book_movie_character", "Who is your favourite book or film character?"},
	{"favorite_sports_player", "Who is your favourite sports player?"},
}

// answerState is the encrypted state of a question factor.
type answerState struct {
	Hash string `json:"hash"`
}

// preparedAnswer is the result of prepareAnswer.
type preparedAnswer struct {
	hash  string // hash of the new answer, or the stored hash with which the answer of the proof was compared
	right bool
}

// question returns the kind of factor for security questions. Answers are compared ignoring case and surrounding whitespace.
func question() *kind {
	return &kind{
		Type: model.FactorQuestion, Provider: model.FactorProviderService, Prefix: "ufs", Org: "svc_question",
		ActiveAtEnrollment: true, Guessable: true, RequiredMember: "answer",
		Prepare: prepareAnswer, Enroll: setQuestion, Update: setQuestion, Verify: compareAnswer,
	}
}

// prepareAnswer hashes a new answer, or compares the answer of a proof with the stored hash. Both are slow.
func prepareAnswer(_ context.Context, a *act) (err error) {
	var done preparedAnswer
	if a.profile.Answer != "" {
		done.hash, err = a.hasher.Hash(password.NormalizeAnswer(a.profile.Answer))
	} else if a.proof.Answer != "" {
		done, err = matchAnswer(a)
	}
	a.prepared = done
	return err
}

func matchAnswer(a *act) (preparedAnswer, error) {
	var state answerState
	err := a.open(&state)
	return preparedAnswer{hash: state.Hash, right: password.Matches(state.Hash, password.NormalizeAnswer(a.proof.Answer))}, err
}

// setQuestion sets the question and the answer.
func setQuestion(_ context.Context, a *act) error {
	p, causes := &a.profile, rest.Causes{}
	text := p.QuestionText
	i := slices.IndexFunc(securityQuestions, func(q SecurityQuestion) bool { return q.Question == p.Question })
	switch {
	case p.Question == "":
		causes.Blank("profile.question")
	case p.Question == customQuestion:
		if text = strings.TrimSpace(text); text == "" {
			causes.Blank("profile.questionText")
		}
	case i < 0:
		causes.Add("profile.question", "The value must be %s or one of the listed question keys", customQuestion)
	default:
		text = securityQuestions[i].Text
	}
	answer := password.NormalizeAnswer(p.Answer)
	switch n := utf8.RuneCountInString(strings.TrimSpace(p.Answer)); {
	case p.Answer == "":
		causes.Blank("profile.answer")
	case n < minAnswer:
		causes.Add("profile.answer", "The field must have at least %d characters", minAnswer)
	case strings.Contains(password.NormalizeAnswer(text), answer):
		causes.Add("profile.answer", "The answer must not be part of the question")
	}
	if err := causes.Err(); err != nil {
		return err
	}
	a.factor.Profile = map[string]string{"question": p.Question, "questionText": text}
	done, _ := a.prepared.(preparedAnswer)
	return a.seal(answerState{Hash: done.hash})
}

func compareAnswer(_ context.Context, a *act) error {
	if a.proof.Answer == "" {
		var causes rest.Causes
		causes.Blank("answer")
		return causes.Err()
	}
	var state answerState
	if err := a.open(&state); err != nil {
		return err
	}
	done, _ := a.prepared.(preparedAnswer)
	if done.hash != state.Hash { // the answer was changed concurrently
		var err error
		if done, err = matchAnswer(a); err != nil {
			return err
		}
	}
	if !done.right {
		return errWrong
	}
	return nil
}
