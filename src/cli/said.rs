//! Messages of the command, on standard error: events like log lines, so that both have one form.

/// Their target, which no filter leaves out.
pub(super) const SAID: &str = "gleaner::said";

/// Writes a message.
pub(super) fn say(line: &str) {
    tracing::info!(target: SAID, "{line}");
}

/// Writes an error.
pub(super) fn say_error(line: &str) {
    tracing::error!(target: SAID, "{line}");
}
