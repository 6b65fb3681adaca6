// Package yubikeytest generates the one-time passwords of hardware tokens, for tests.
package yubikeytest

import (
	"crypto/aes"
	"encoding/binary"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey"
)

// GenerateOTP returns a password of a token as the manual describes it. It computes the checksum in another way than the package under
// test: by polynomial division, the highest power first.
func GenerateOTP(t require.TestingT, publicID string, token yubikey.Token, session uint16, use uint8, noise [5]byte) string {
	block := make([]byte, aes.BlockSize)
	copy(block, token.PrivateID[:])
	binary.LittleEndian.PutUint16(block[6:], session)
	copy(block[8:], noise[:3])
	block[11] = use
	copy(block[12:], noise[3:])
	binary.LittleEndian.PutUint16(block[14:], checksum(block[:14]))
	cipher, err := aes.NewCipher(token.Key[:])
	require.NoError(t, err)
	cipher.Encrypt(block, block)
	return publicID + yubikey.EncodeModhex(block)
}

func checksum(data []byte) uint16 {
	var bits []byte // the bits of the message in transmission order, followed by sixteen zero bits
	for _, b := range append(append([]byte{}, data...), 0, 0) {
		for i := range 8 {
			bits = append(bits, b>>i&1)
		}
	}
	for i := range 16 {
		bits[i] ^= 1
	}
	const polynomial = 0x11021
	var rest uint32
	for _, bit := range bits {
		rest = rest<<1 | uint32(bit)
		if rest&0x10000 != 0 {
			rest ^= polynomial
		}
	}
	rest ^= 0xffff
	var reversed uint16
	for i := range 16 {
		reversed |= uint16(rest>>i&1) << (15 - i)
	}
	return reversed
}
