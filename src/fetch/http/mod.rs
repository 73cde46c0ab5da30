//! HTTP over one connection: how it is made, what is sent and read on it, and how it is kept for
//! the next request to the same server.

mod connect;
mod connection;
mod pool;
mod tunnel;
mod wire;

pub(super) use connect::{Connector, Server};
pub(super) use connection::{Connection, Limits, Nothing};
pub(super) use pool::Pool;
