//! What is written to standard error, and in which form: messages of the command and log lines
//! alike, as text or as JSON.
//!
//! Messages are events like any other, so that a program that reads JSON never meets a line of
//! another kind.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal as _};

use clap::ValueEnum;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, format};
use tracing_subscriber::registry::LookupSpan;

use super::Failure;
use super::output::Screen;
use super::said::SAID;
use super::shown::shown;

/// The filter of a command that could not say which it wants.
const WARNINGS: &str = "warn";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Human-readable lines
    #[default]
    Text,
    /// One JSON object per line, messages and errors included
    Json,
}

impl LogFormat {
    /// Returns what arguments ask for that may be wrong elsewhere.
    pub(super) fn of(arguments: &[OsString]) -> Self {
        let text: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
        let is_one = text.iter().any(|it| it == "--log-format=json");
        let are_two = |pair: &[Cow<'_, str>]| pair.iter().eq(&["--log-format", "json"]);
        match is_one || text.windows(2).any(are_two) {
            true => Self::Json,
            false => Self::Text,
        }
    }
}

/// Begins to write log lines that pass a filter, and all messages.
///
/// # Errors
///
/// [`Failure::Usage`] if the filter is wrong; what follows is written as by default.
pub(super) fn start(filter: &str, format: LogFormat, screen: &Screen) -> Result<(), Failure> {
    let wanted = EnvFilter::try_new(filter).map_err(|error| Failure::Usage {
        message: format!("invalid value {filter:?} for --log: {error}"),
        hint: Some(
            "give a level (error, warn, info, debug), or comma-separated module=level pairs",
        ),
    });
    let (filter, result) = match wanted {
        Ok(filter) => (filter, Ok(())),
        Err(failure) => (EnvFilter::new(WARNINGS), Err(failure)),
    };
    let is_detailed = (filter.max_level_hint()).is_none_or(|it| it >= LevelFilter::DEBUG);
    let always = format!("{SAID}=trace").parse();
    let filter = always.map_or(EnvFilter::new(WARNINGS), |it| filter.add_directive(it));
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && io::stderr().is_terminal();
    let screen = screen.clone();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || screen.clone());
    match format {
        LogFormat::Text => builder
            .with_ansi(colour)
            // Which module speaks matters to who reads what modules do.
            .event_format(Lines(format::Format::default().with_target(is_detailed)))
            .init(),
        LogFormat::Json => {
            builder.json().flatten_event(true).with_ansi(false).init();
            std::panic::set_hook(Box::new(|panic| {
                let place = panic
                    .location()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let message = panic.payload_as_str().unwrap_or("a panic");
                tracing::error!(place, "panicked: {message}");
            }));
        }
    }
    result
}

/// Writes messages as they are, and log lines as another format does.
struct Lines<F>(F);

impl<S, N, F> FormatEvent<S, N> for Lines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if event.metadata().target() != SAID {
            return self.0.format_event(context, writer, event);
        }
        let mut message = Message::default();
        event.record(&mut message);
        writeln!(writer, "{}", shown(&message.0))
    }
}

/// The message of an event.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_asked_for_before_anything_else_is_read() {
        let of = |arguments: &str| {
            let arguments: Vec<_> = arguments.split(' ').map(OsString::from).collect();
            LogFormat::of(&arguments)
        };
        assert_eq!(
            of("gleaner crawl --no-such --log-format json"),
            LogFormat::Json
        );
        assert_eq!(of("gleaner --log-format=json nothing"), LogFormat::Json);
        assert_eq!(of("gleaner --log-format text json"), LogFormat::Text);
        assert_eq!(of("gleaner --log-format"), LogFormat::Text);
    }
}
