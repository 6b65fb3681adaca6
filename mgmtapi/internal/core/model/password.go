package model

// ImportedHash is a password hash from another system. It is verified at the first sign-in and then replaced by a hash of this service.
type ImportedHash struct {
	// Algorithm is one of BCRYPT, SHA-512, SHA-256, SHA-1, MD5, PBKDF2, HookAlgorithm. With HookAlgorithm, all other members are empty.
	Algorithm string `json:"algorithm"`
	// Value is the hash: radix64 for BCRYPT, base64 for the other algorithms.
	Value string `json:"value"`
	// Salt has the same encoding as the value. It is empty if there is no salt.
	Salt string `json:"salt,omitempty"`
	// SaltOrder is PREFIX or POSTFIX for SHA and MD5 with a salt.
	SaltOrder string `json:"saltOrder,omitempty"`
	// WorkFactor is the cost of BCRYPT.
	WorkFactor int `json:"workFactor,omitempty"`
	// Iterations, KeySize (in bytes) and Digest (SHA256_HMAC or SHA512_HMAC) belong to PBKDF2.
	Iterations int    `json:"iterations,omitempty"`
	KeySize    int    `json:"keySize,omitempty"`
	Digest     string `json:"digest,omitempty"`
}

// HookAlgorithm is the algorithm of a password without a hash: the inline hook for password imports verifies it.
const HookAlgorithm = "HOOK"

// AsksHook reports whether a hook has to verify the password of the user.
func (u *User) AsksHook() bool { return u.Imported != nil && u.Imported.Algorithm == HookAlgorithm }
