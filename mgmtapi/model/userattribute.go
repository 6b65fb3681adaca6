package model

import "slices"

// userAttributes are the attributes of the default user profile.
var userAttributes = []string{
	"login", "email", "secondEmail", "firstName", "lastName", "middleName", "honorificPrefix", "honorificSuffix", "title",
	"displayName", "nickName", "profileUrl", "primaryPhone", "mobilePhone", "streetAddress", "city", "state", "zipCode",
	"countryCode", "postalAddress", "preferredLanguage", "locale", "timezone", "userType", "employeeNumber", "costCenter",
	"organization", "division", "department", "managerId", "manager",
}

// UserAttributes lists the attributes that users can have.
func UserAttributes() []string { return slices.Clone(userAttributes) }

// UserAttribute says whether users can have the attribute.
func UserAttribute(name string) bool { return slices.Contains(userAttributes, name) }
