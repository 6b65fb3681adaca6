package otp

import (
	"crypto/rand"
	"math/big"
	"strings"
)

// Random makes a passcode of so many random digits.
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
