package sandbox

// Ready contains the addresses and credentials of a running sandbox. It is the content of the ready file; scripts depend on its member
// names.
type Ready struct {
	BaseURL   string `json:"baseUrl"`
	APIToken  string `json:"apiToken"`
	SCIMURL   string `json:"scimUrl"`
	SCIMToken string `json:"scimToken"`
	// ConsoleURL logs in the first browser that opens it within an hour.
	ConsoleURL string `json:"consoleUrl"`
	// MetricsURL is set if metrics have a separate listener.
	MetricsURL string `json:"metricsUrl,omitempty"`
	PID        int    `json:"pid"`
}
