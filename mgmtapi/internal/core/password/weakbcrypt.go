package password

import (
	"encoding/base64"

	"golang.org/x/crypto/blowfish" //nolint:staticcheck // what bcrypt is made of
)

// radix64 is the base64 encoding of bcrypt.
var radix64 = base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)

// weakBcrypt returns the value of a bcrypt hash with any work factor. Libraries, including the one for all other hashes, reject work
// factors below 4, but other systems may have stored such hashes.
func weakBcrypt(workFactor int, salt, text string) (string, error) {
	rawSalt, err := radix64.DecodeString(salt)
	if err != nil {
		return "", err
	}
	key := append([]byte(text), 0) // with the terminating NUL of C strings
	cipher, err := blowfish.NewSaltedCipher(key, rawSalt)
	if err != nil {
		return "", err
	}
	for range 1 << workFactor {
		blowfish.ExpandKey(key, cipher)
		blowfish.ExpandKey(rawSalt, cipher)
	}
	sum := []byte("OrpheanBeholderScryDoubt")
	for at := 0; at < len(sum); at += blowfish.BlockSize {
		for range 64 {
			cipher.Encrypt(sum[at:], sum[at:])
		}
	}
	return radix64.EncodeToString(sum[:len(sum)-1]), nil
}
