package calls

// Follow applies the commands in the response of a hook to tokens.
func Follow(answer []byte, tokens Tokens) (Tokens, error) {
	said, err := parse(answer)
	if err != nil {
		return tokens, err
	}
	changed, err := cloneTokens(tokens)
	if err != nil {
		return tokens, err
	}
	return changed, changed.apply(said.Commands)
}
