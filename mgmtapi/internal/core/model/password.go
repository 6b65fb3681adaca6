package model

// ImportedHash is the hash of a password that another system has made. It is verified at the first sign-in and then replaced
// by one of our own.
type ImportedHash struct {
	// Algorithm is BCRYPT, SHA-512, SHA-256, SHA-1, MD5 or PBKDF2, or HookAlgorithm, which has nothing else.
	Algorithm string `json:"algorithm"`
	// Value is the hash: radix64 for BCRYPT, base64 for the others.
	Value string `json:"value"`
	// Salt is in the form of the value; empty for none.
	Salt string `json:"salt,omitempty"`
	// SaltOrder is PREFIX or POSTFIX, where SHA and MD5 have a salt.
	SaltOrder string `json:"saltOrder,omitempty"`
	// WorkFactor is the cost of BCRYPT.
	WorkFactor int `json:"workFactor,omitempty"`
	// Iterations, KeySize (in bytes) and Digest (SHA256_HMAC or SHA512_HMAC) belong to PBKDF2.
	Iterations int    `json:"iterations,omitempty"`
	KeySize    int    `json:"keySize,omitempty"`
	Digest     string `json:"digest,omitempty"`
}

// HookAlgorithm stands for a password of which nothing is known here: the inline hook for password imports is asked for it.
const HookAlgorithm = "HOOK"

// AsksHook says whether a hook has to be asked for the password of the user.
func (u *User) AsksHook() bool { return u.Imported != nil && u.Imported.Algorithm == HookAlgorithm }
