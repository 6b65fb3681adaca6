package conformance

// BlockedIf registers a test of the simpler feature on which the check depends. If the check ends with findings, the run calls broken. If
// broken returns a reason, the check is blocked by this reason and has no findings, because another check reports the simpler feature.
// Findings that broken records are ignored.
func (t *T) BlockedIf(broken func() (reason string)) { t.controls = append(t.controls, broken) }

// control calls the functions that BlockedIf registered, if the check has findings, until one of them returns a reason.
func (t *T) control() {
	if len(t.findings) == 0 {
		return
	}
	for _, broken := range t.controls {
		outcome, reason, findings, last := t.outcome, t.reason, t.findings, t.last
		why := ""
		t.run(func() { why = broken() })
		shown := t.last
		t.outcome, t.reason, t.findings, t.last = outcome, reason, findings, last
		if why != "" {
			t.outcome, t.reason, t.findings, t.notApplicable = Skip, blockedPrefix+why, nil, false
			t.blockedBy = &Blocker{What: why, Exchange: shown}
			return
		}
	}
}
