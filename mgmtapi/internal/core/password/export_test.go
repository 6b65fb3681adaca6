package password

// WeakBcrypt is for tests.
var WeakBcrypt = weakBcrypt
