package connect

// PolicyOf is policyOf.
var PolicyOf = policyOf
