package password

// WeakBcrypt exports weakBcrypt for tests.
var WeakBcrypt = weakBcrypt
