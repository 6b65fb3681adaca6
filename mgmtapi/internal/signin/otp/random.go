package otp

import (
	"crypto/rand"
	"math/big"
	"strings"
)

// Random returns a passcode with the given number of random digits.
func Random(digits int) string {
	var code strings.Builder
	for range digits {
		n, err := rand.Int(rand.Reader, big.NewInt(10))
		if err != nil {
			panic(err) // crypto/rand never fails
		}
		code.WriteByte('0' + byte(n.Int64()))
	}
	return code.String()
}
