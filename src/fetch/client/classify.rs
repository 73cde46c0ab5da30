//! What a failure of the HTTP client means: its class, and whether another address may be tried.

use std::error::Error as _;
use std::io;

use crate::fetch::guard::Refused;
use crate::fetch::resolver::{Finding, NotResolved};
use crate::fetch::{Failure, FailureClass};

/// Classifies a failure by the errors in its source chain.
pub(super) fn classify(error: reqwest::Error) -> Failure {
    let mut class = if error.is_timeout() {
        FailureClass::Timeout
    } else if error.is_connect() {
        FailureClass::Connect
    } else if error.is_builder() {
        FailureClass::Protocol
    } else {
        FailureClass::Disconnect
    };
    let mut is_unreached = error.is_timeout() && error.is_connect();
    let mut is_refused = false;
    let mut message = String::new();
    let mut source = error.source();
    while let Some(cause) = source.map(innermost) {
        message = cause.to_string();
        if cause.is::<Refused>() {
            return Failure::new(FailureClass::Guard, message);
        } else if let Some(error) = cause.downcast_ref::<NotResolved>() {
            return match error.finding {
                Finding::Unknown => Failure::new(FailureClass::Dns, message),
                Finding::Nothing => Failure::nameless(message),
                Finding::Late => Failure::unreached(FailureClass::Dns, message),
            };
        } else if let Some(error) = cause.downcast_ref::<rustls::Error>() {
            return match speaks_no_tls(error) {
                true => Failure::without_tls(format!("what answers speaks no TLS: {message}")),
                false => Failure::new(FailureClass::Tls, message),
            };
        } else if cause.downcast_ref().is_some_and(hyper::Error::is_parse) {
            class = FailureClass::Protocol;
        } else if let Some(error) = cause.downcast_ref::<io::Error>() {
            is_unreached |= class == FailureClass::Connect && rejects(error.kind());
            is_refused |= error.kind() == io::ErrorKind::ConnectionRefused;
        }
        source = cause.source();
    }
    if message.is_empty() {
        message = error.without_url().to_string();
    }
    match is_unreached {
        true if is_refused => Failure::refused(class, message),
        true => Failure::unreached(class, message),
        false => Failure::new(class, message),
    }
}

/// Tells whether an error of the handshake means that the server does not speak TLS: its answer is
/// no TLS at all, or it has no such name there. A bad certificate is TLS that is not to be trusted.
fn speaks_no_tls(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidMessage(_)
            | rustls::Error::AlertReceived(rustls::AlertDescription::UnrecognisedName)
    )
}

/// Tells whether an error means that an address accepted no connection, rather than that a
/// connection failed later.
fn rejects(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        kind,
        Kind::ConnectionRefused
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::AddrNotAvailable
            | Kind::TimedOut
    )
}

/// Returns the error inside an I/O error, which does not report it as its source.
fn innermost<'a>(
    mut cause: &'a (dyn std::error::Error + 'static),
) -> &'a (dyn std::error::Error + 'static) {
    while let Some(inner) = cause.downcast_ref().and_then(std::io::Error::get_ref) {
        cause = inner;
    }
    cause
}
